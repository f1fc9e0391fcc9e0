"""The ports of a broker's listeners: they are bound, opened, shut and closed together. Touches sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IProtocolFactory

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Dispatch, Served
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import Listener
from kafkatx.errors import SettingError
from kafkatx.interfaces import Workers
from kafkatx.net.admission.gate import Gate
from kafkatx.net.requests import NOBODY
from kafkatx.net.server import KafkaServerFactory, ListenerFactory
from kafkatx.net.shared_port import listen_shared

if TYPE_CHECKING:
    from kafkatx.broker.logins.checkers import FindChecker
    from kafkatx.broker.logins.listener import SaslListeners
    from kafkatx.clientcore.login import ClientLogin
    from kafkatx.net.tls.listener import TlsListeners
    from kafkatx.networkclient.connection import MakeEndpoint

BACKLOG = 1024

HTTP_CONNECT_S = 2.0
"""Seconds for connecting to the HTTP listener of another broker."""


class Listeners:
    """All listeners of one broker for Kafka's protocol. Each has a dispatch of its own, with its addresses.

    :param find_checker: finds installed checkers of user names and passwords; None: there are none.
    :ivar tls: the certificates of listeners with TLS, also for HTTP; None, and nothing is imported for them,
        if there are none.
    :ivar sasl: the listeners with SASL; None likewise, and until they are bound.
    """

    def __init__(
        self,
        config: BrokerConfig,
        workers: Workers,
        reactor: Any,
        find_checker: FindChecker | None = None,
    ) -> None:
        self._config = config
        self._reactor = reactor
        self._find_checker = find_checker
        self.sasl: SaslListeners | None = None
        self._gates: list[Gate] = []
        self._factories: list[IProtocolFactory] = []
        self._plain: list[ListenerFactory] = []
        self.tls = None if not _has_tls(config) else self._make_tls(workers)

    def _make_tls(self, workers: Workers) -> TlsListeners:
        from kafkatx.tls.extra import check_installed

        check_installed()
        from kafkatx.net.tls.listener import TlsListeners

        return TlsListeners(lambda name: self._config.of_listener(name), workers("tls"))

    def make_endpoint(self, below: MakeEndpoint | None) -> MakeEndpoint | None:
        """Return what makes the endpoints of other brokers, as the protocol of their listener asks for.

        :param below: makes their endpoints below TLS; None: TCP.
        """
        tls, listener, made = self.tls, self._config.inter_broker, below
        if tls is not None and listener.has_tls:
            from kafkatx.net.tls.endpoints import TlsEndpoints

            made = TlsEndpoints(lambda: tls.settings(listener.name), below)
        if not listener.has_sasl:
            return made
        from kafkatx.networkclient.connection import SaslEndpoints

        return SaslEndpoints(self._own_login(listener), made)

    def _own_login(self, listener: Listener) -> ClientLogin:
        """Return the login of this broker at other brokers.

        :raises SettingError: the settings have none.
        """
        from kafkatx.broker.logins.own_login import own_login

        return own_login(self._config, listener)

    def http_endpoints(self) -> MakeEndpoint | None:
        """Return what makes the endpoints of other brokers' HTTPS listeners; None without one of its own."""
        tls = self.tls
        name = next((one.name for one in self._config.http_listeners() if one.has_tls), None)
        if tls is None or name is None:
            return None
        from kafkatx.net.tls.endpoints import TlsEndpoints

        return TlsEndpoints(lambda: tls.settings(name), connect_timeout_s=HTTP_CONNECT_S)

    def own_principal(self) -> str | None:
        """Return the principal by which other brokers know this one; None if it is not known here.

        They are expected to have the same settings.
        """
        listener = self._config.inter_broker
        if listener.has_sasl:
            from kafkatx.broker.logins.own_login import own_user

            return f"User:{own_user(self._config, listener)}"
        if listener.protocol == "PLAINTEXT":
            return NOBODY.principal
        return None if self.tls is None else self.tls.own_principal(listener.name)

    def bind(self, broker: Broker, served: tuple[Served, ...], server: KafkaServerFactory) -> list[int]:
        """Bind the ports; connections wait in the kernel until :meth:`accept`.

        :return: the bound ports, in the order of the listeners.
        :raises SettingError: a port is in use, or not permitted; or certificates cannot be used.
        """
        for listener in self._config.listeners():
            plain = self._below_tls(listener, broker, Dispatch(broker, served, listener.name), server)
            self._plain.append(plain)
            factory = self.tls.wrap(plain) if self.tls is not None and listener.has_tls else plain
            self._factories.append(factory)
            gate = Gate(self._bind(listener, factory), self._reactor)
            gate.shut()
            plain.pauses.append(gate.pause)
            self._gates.append(gate)
        return [gate.port.getHost().port for gate in self._gates]

    def _below_tls(
        self, listener: Listener, broker: Broker, dispatch: Dispatch, server: KafkaServerFactory
    ) -> ListenerFactory:
        if listener.has_sasl:
            return self._sasl_listeners(broker).factory(listener, dispatch, server)
        return ListenerFactory(server, dispatch, listener.name)

    def _sasl_listeners(self, broker: Broker) -> SaslListeners:
        if self.sasl is None:
            from kafkatx.broker.logins.listener import SaslListeners

            self.sasl = SaslListeners(self._config, broker, self._find_checker)
        return self.sasl

    def _bind(self, listener: Listener, factory: IProtocolFactory) -> Any:
        host = "127.0.0.1" if listener.host == "localhost" else listener.host
        try:
            return self._reactor.listenTCP(listener.port, factory, BACKLOG, host)
        except CannotListenError as error:
            raise SettingError(
                f"listeners={listener}: cannot listen there: {error.socketError};"
                " stop what uses the port, or choose another"
            ) from None

    def share(self, port: int) -> None:
        """Listen at the port of all brokers of this machine, too, as the first listener does.

        :raises SettingError: another program uses the port.
        """
        host = self._config.listeners()[0].host
        shared = Gate(listen_shared(self._reactor, host, port, self._factories[0]), self._reactor)
        self._plain[0].pauses.append(shared.pause)
        self._gates.insert(0, shared)  # closed first

    def shut(self) -> None:
        """Leave new connections in the kernel until :meth:`accept`."""
        for gate in self._gates:
            gate.shut()

    def accept(self) -> None:
        """Accept connections."""
        for gate in self._gates:
            gate.open()

    def use(self, config: BrokerConfig) -> None:
        """Use settings that have changed while the broker runs."""
        self._config = config
        self.reload()

    async def check(self, config: BrokerConfig) -> None:
        """Check that the certificates of other settings can be used.

        :raises SettingError: they cannot.
        """
        if self.tls is not None:
            await self.tls.check(config.of_listener)

    def reload(self) -> None:
        """Read the certificates again."""
        if self.tls is not None:
            self.tls.reload()

    async def close(self) -> None:
        """Close the ports."""
        if self.tls is not None:
            self.tls.stop()
        gates, self._gates = self._gates, []
        await DeferredList([Deferred.fromCoroutine(_closed(gate)) for gate in gates])


def _has_tls(config: BrokerConfig) -> bool:
    return any(listener.has_tls for listener in (*config.listeners(), *config.http_listeners()))


async def _closed(gate: Gate) -> None:
    closing = gate.close()
    if closing is not None:
        await closing
