"""The registry of a broker, which is imported and made when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, succeed

from kafkatx.broker.broker import Broker
from kafkatx.broker.replica.partition import Partition
from kafkatx.web.calls import Application

if TYPE_CHECKING:
    from kafkatx.broker.registry.factory import RegistryParts
    from kafkatx.networkclient.connection import MakeEndpoint


class RegistryHolder:
    """Makes the registry of a broker, once.

    :ivar made: the registry; None as long as nothing has needed it.
    :param https: makes the endpoints of other brokers' HTTPS listeners; None: this broker has none itself.
    """

    def __init__(self, broker: Broker, https: MakeEndpoint | None = None) -> None:
        self._broker = broker
        self._https = https
        self.made: RegistryParts | None = None

    @property
    def parts(self) -> RegistryParts:
        """The registry."""
        if self.made is None:
            from kafkatx.broker.registry.factory import make_registry

            self.made = make_registry(self._broker, self._https)
        return self.made

    def application(self) -> Application:
        """Return what answers requests of HTTP."""
        return self.parts.application

    def check_schemas(self, partition: Partition, records: memoryview | bytes) -> Deferred[None]:
        """Check the ids of schemas in records; see :class:`SchemaChecks`."""
        return Deferred.fromCoroutine(self.parts.checks.check(partition, records))

    def load_rest(self) -> Iterator[None]:
        """Import what the first use needs."""
        import_module("kafkatx.broker.registry.factory")
        yield

    def stop(self) -> Deferred[None]:
        """End processes and connections."""
        return succeed(None) if self.made is None else self.made.stop()
