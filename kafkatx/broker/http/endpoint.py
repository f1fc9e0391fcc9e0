"""The HTTP listener of a broker: its ports, and its applications, which are imported at their first request.

It touches sockets, through the reactor. :mod:`kafkatx.broker.service` makes it if ``http.listeners`` is set.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IProtocolFactory
from twisted.logger import Logger

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.holder import ConsoleHolder
from kafkatx.broker.http.health import Health
from kafkatx.broker.metrics.holder import MetricsHolder
from kafkatx.broker.registry.holder import RegistryHolder
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import Listener, bracketed, is_loopback, parse_listeners
from kafkatx.config.table import limits
from kafkatx.config.table import network as n
from kafkatx.errors import SettingError
from kafkatx.web.calls import Answer, Application, Call
from kafkatx.web.limits import WebLimits
from kafkatx.web.logins import Certificates
from kafkatx.web.server import WebServerFactory
from kafkatx.web.site import Site

if TYPE_CHECKING:
    from kafkatx.broker.logins.checkers import FindChecker
    from kafkatx.net.tls.listener import TlsListeners
    from kafkatx.web.logins import Logins

REGISTRY_PATHS = ("subjects", "schemas", "compatibility", "config", "mode", "contexts", "v1")
"""The first segments of the paths of the schema registry, which also has the path ``/``."""


class HttpEndpoint:
    """The listener.

    :ivar health: answers ``/health/live`` and ``/health/ready``.
    :ivar bound: host and port of each bound port, in the order of ``http.listeners``.
    :param tls: the certificates of listeners with TLS; None: there are none.
    :param find_checker: finds installed checkers of user names and passwords; None: there are none.
    """

    _log = Logger()

    def __init__(
        self,
        broker: Broker,
        registry: RegistryHolder,
        metrics: MetricsHolder,
        console: ConsoleHolder,
        reactor: Any,
        tls: TlsListeners | None = None,
        find_checker: FindChecker | None = None,
    ) -> None:
        self._broker = broker
        self._registry = registry
        self._metrics = metrics
        self._console = console
        self._reactor = reactor
        self._tls = tls
        self._find_checker = find_checker
        self._listeners: tuple[Listener, ...] = ()
        self._ports: list[IListeningPort] = []
        self._factories: list[WebServerFactory] = []
        self.bound: list[tuple[str, int]] = []
        self.health = Health(broker)

    def listen(self) -> None:
        """Bind the ports; connections wait in the kernel until :meth:`accept`.

        :raises SettingError: a port is in use, or not permitted; or certificates cannot be used.
        """
        config = self._broker.config
        self._listeners = config.http_listeners()
        for listener in self._listeners:
            host = "127.0.0.1" if listener.host == "localhost" else listener.host
            site = self._site(listener)
            factory = WebServerFactory(site, _limits(config), self._reactor, listener.name)
            site.logins = self._logins(listener, factory)
            port = self._bind(listener, host, self._with_tls(listener, factory))
            port.stopReading()  # type: ignore[attr-defined]
            self._factories.append(factory)
            self._metrics.web.append(factory)
            self._ports.append(port)
            local = "127.0.0.1" if host in ("", "0.0.0.0", "::") else host
            self.bound.append((local, port.getHost().port))  # type: ignore[attr-defined]

    def _logins(self, listener: Listener, factory: WebServerFactory) -> Logins | Certificates | None:
        if "none" in self._broker.config[n.HTTP_AUTHENTICATION]:
            tls = self._tls
            if tls is None or not listener.has_tls:
                return None
            return Certificates(lambda: [one for one in (tls.principal(listener.name),) if one is not None])
        from kafkatx.broker.http.authentication import make_logins  # most brokers have no logins over HTTP

        return make_logins(self._broker, listener, self._find_checker, self._tls, factory.log)

    def _with_tls(self, listener: Listener, factory: WebServerFactory) -> IProtocolFactory:
        return factory if self._tls is None or not listener.has_tls else self._tls.wrap(factory)

    def _bind(self, listener: Listener, host: str, factory: IProtocolFactory) -> IListeningPort:
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
        return [
            f"{listener.name.lower()}://{bracketed(host)}:{port}"
            for listener, (host, port) in zip(self._listeners, self.bound, strict=True)
        ]

    def _site(self, listener: Listener) -> Site:
        site = Site(allowed_hosts(self._broker.config, listener))
        site.mount(("health",), lambda: self.health.application, public=True)
        site.mount(("metrics",), self._metrics.application)
        site.mount(REGISTRY_PATHS, self._registry.application)
        site.mount(("",), self._root, public=self._console.is_enabled)
        if self._console.is_enabled:  # it has logins of its own
            has_tls = self._tls is not None and listener.has_tls
            site.mount(("console",), self._console.mount(lambda: site.logins, has_tls), has_logins=True)
            self._warn_of_open_console(listener)
        return site

    def _root(self) -> Application:
        """Return what answers ``/``: browsers are sent to the console, other clients ask the registry."""
        if not self._console.is_enabled:
            return self._registry.application()

        def answer(call: Call) -> Answer | Awaitable[Answer]:
            if "text/html" in call.headers.get("accept", ""):
                return Answer(302, b"", headers={"Location": "/console/"})
            return self._registry.application()(call)

        return answer

    def _warn_of_open_console(self, listener: Listener) -> None:
        """Tell if anyone who reaches a listener may change everything through the console."""
        broker = self._broker
        config = broker.config
        checked = broker.authorization is not None or "none" not in config[n.HTTP_AUTHENTICATION]
        if not (checked or config[n.CONSOLE_READ_ONLY] or is_loopback(listener.host)):
            self._log.warn(
                "the console at {listener} lets everyone who reaches it change topics and settings: set"
                " kafkatx.http.authentication, authorizer.class.name or kafkatx.console.read.only",
                listener=listener,
            )

    def accept(self) -> None:
        """Accept connections."""
        self._console.start()
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
        yield from self._metrics.load_rest()
        yield from self._registry.load_rest()

    async def stop(self) -> None:
        """Close the ports and all connections."""
        await self._console.stop()
        ports, self._ports = self._ports, []
        for port in ports:
            stopping = port.stopListening()
            if stopping is not None:
                await stopping
        for factory in self._factories:
            factory.close_all()


def allowed_hosts(config: BrokerConfig, listener: Listener) -> frozenset[str] | None:
    """Return the names in ``Host`` that a listener answers, besides addresses and localhost; None: all."""
    given, has_logins = config[n.HTTP_ALLOWED_HOSTS], "none" not in config[n.HTTP_AUTHENTICATION]
    if "*" in given or not (given or is_loopback(listener.host) or not (listener.has_tls or has_logins)):
        return None
    own = set() if is_loopback(listener.host) else {socket.gethostname(), listener.host, *_advertised(config)}
    return frozenset(name.lower() for name in (*given, *own) if name)


def _advertised(config: BrokerConfig) -> Iterator[str]:
    """Yield the hosts by which others are told to reach this broker."""
    for setting in (n.ADVERTISED_LISTENERS, n.HTTP_ADVERTISED_LISTENER):
        value = config[setting] or ()
        items = (value,) if isinstance(value, str) else value
        yield from (each.host for item in items for each in parse_listeners(setting.name, [item]))
    yield config[n.ADVERTISED_HOST_NAME] or ""


def _limits(config: BrokerConfig) -> WebLimits:
    return WebLimits(
        max_body_bytes=config[n.HTTP_REQUEST_MAX_BYTES],
        max_connections=config[n.HTTP_MAX_CONNECTIONS],
        request_timeout_s=config[n.HTTP_REQUEST_TIMEOUT_MS] / 1000,
        idle_timeout_s=config[n.HTTP_IDLE_TIMEOUT_MS] / 1000,
        max_unauthenticated_per_ip=config[limits.UNAUTHENTICATED_CONNECTIONS_MAX_PER_IP],
    )
