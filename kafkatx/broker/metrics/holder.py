"""The metrics of a broker, whose application is imported at its first request."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from kafkatx.net.poll_meter import measure_polls
from kafkatx.web.calls import Application

if TYPE_CHECKING:
    from kafkatx.broker.broker import Broker
    from kafkatx.net.server import KafkaServerFactory
    from kafkatx.net.tls.listener import TlsListeners
    from kafkatx.web.server import WebServerFactory


class MetricsHolder:
    """Makes what answers ``/metrics``; times the reactor from the start.

    :ivar meter: times the reactor; None if it is of a kind that cannot be timed.
    :ivar web: the listeners of HTTP.
    """

    def __init__(
        self, broker: Broker, server: KafkaServerFactory, tls: TlsListeners | None, reactor: object
    ) -> None:
        self._broker = broker
        self._server = server
        self._tls = tls
        self.meter = measure_polls(reactor)
        self.web: list[WebServerFactory] = []

    def application(self) -> Application:
        """Return what answers requests of HTTP."""
        from kafkatx.broker.metrics.application import make_application
        from kafkatx.broker.metrics.sources import Sources

        return make_application(Sources(self._broker, self._server, self._tls, self.meter, self.web))

    def load_rest(self) -> Iterator[None]:
        """Import what the first request needs."""
        import_module("kafkatx.broker.metrics.application")
        yield
