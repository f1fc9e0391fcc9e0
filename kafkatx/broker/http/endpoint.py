"""The HTTP listener of a broker: its ports, and its applications, which are imported at their first request.

It touches sockets, through the reactor. :mod:`kafkatx.broker.service` makes it if ``http.listeners`` is set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from typing import Any

from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort

from kafkatx.broker.broker import Broker
from kafkatx.broker.http.health import Health
from kafkatx.broker.registry.holder import RegistryHolder
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import Listener, bracketed, is_loopback
from kafkatx.config.table import network as n
from kafkatx.errors import SettingError
from kafkatx.web.limits import WebLimits
from kafkatx.web.server import WebServerFactory
from kafkatx.web.site import Site

REGISTRY_PATHS = ("", "subjects", "schemas", "compatibility", "config", "mode", "contexts", "v1")
"""The first segments of the paths of the schema registry; "" is the path ``/``."""


class HttpEndpoint:
    """The listener.

    :ivar health: answers ``/health/live`` and ``/health/ready``.
    :ivar bound: host and port of each bound port, in the order of ``http.listeners``.
    """

    def __init__(self, broker: Broker, registry: RegistryHolder, reactor: Any) -> None:
        self._broker = broker
        self._registry = registry
        self._reactor = reactor
        self._ports: list[IListeningPort] = []
        self._factories: list[WebServerFactory] = []
        self.bound: list[tuple[str, int]] = []
        self.health = Health(broker)

    def listen(self) -> None:
        """Bind the ports; connections wait in the kernel until :meth:`accept`.

        :raises SettingError: a port is in use, or not permitted.
        """
        config = self._broker.config
        for listener in config.http_listeners():
            host = "127.0.0.1" if listener.host == "localhost" else listener.host
            factory = WebServerFactory(self._site(listener), _limits(config), self._reactor)
            port = self._bind(listener, host, factory)
            port.stopReading()  # type: ignore[attr-defined]
            self._factories.append(factory)
            self._ports.append(port)
            local = "127.0.0.1" if host in ("", "0.0.0.0", "::") else host
            self.bound.append((local, port.getHost().port))  # type: ignore[attr-defined]

    def _bind(self, listener: Listener, host: str, factory: WebServerFactory) -> IListeningPort:
        """Bind a port, or any free one if it is in use and the settings allow that."""
        ports = (listener.port, 0) if self._broker.config[n.HTTP_PORT_FALLBACK] else (listener.port,)
        for number in ports:
            try:
                port: IListeningPort = self._reactor.listenTCP(number, factory, 128, host)
            except CannotListenError as error:
                reason = error.socketError
            else:
                return port
        raise SettingError(
            f"{n.HTTP_LISTENERS.name}={listener}: cannot listen there: {reason};"
            " stop what uses the port, or choose another"
        )

    @property
    def urls(self) -> list[str]:
        """The URLs of the ports, for programs on this machine."""
        return [f"http://{bracketed(host)}:{port}" for host, port in self.bound]

    def _site(self, listener: Listener) -> Site:
        allowed: Collection[str] | None = self._broker.config[n.HTTP_ALLOWED_HOSTS]
        if not allowed and not is_loopback(listener.host):
            allowed = None
        site = Site(None if allowed is None else frozenset(map(str.lower, allowed)))
        site.mount(("health",), lambda: self.health.application)
        site.mount(REGISTRY_PATHS, self._registry.application)
        return site

    def accept(self) -> None:
        """Accept connections."""
        for port in self._ports:
            port.startReading()  # type: ignore[attr-defined]

    def isolate(self) -> None:
        """Close all connections, and leave new ones in the kernel until :meth:`accept`."""
        for port in self._ports:
            port.stopReading()  # type: ignore[attr-defined]
        for factory in self._factories:
            factory.close_all()

    def load_rest(self) -> Iterator[None]:
        """Import what the first request needs, a part with each step."""
        import_module("kafkatx.web.channel")
        yield
        yield from self._registry.load_rest()

    async def stop(self) -> None:
        """Close the ports and all connections."""
        ports, self._ports = self._ports, []
        for port in ports:
            stopping = port.stopListening()
            if stopping is not None:
                await stopping
        for factory in self._factories:
            factory.close_all()


def _limits(config: BrokerConfig) -> WebLimits:
    return WebLimits(
        max_body_bytes=config[n.HTTP_REQUEST_MAX_BYTES],
        max_connections=config[n.HTTP_MAX_CONNECTIONS],
        request_timeout_s=config[n.HTTP_REQUEST_TIMEOUT_MS] / 1000,
        idle_timeout_s=config[n.HTTP_IDLE_TIMEOUT_MS] / 1000,
    )
