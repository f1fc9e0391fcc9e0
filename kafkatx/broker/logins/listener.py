"""Listeners with SASL: their mechanisms and portals, and the connections whose clients have to log in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twisted.cred.portal import Portal
from twisted.internet.interfaces import IAddress
from twisted.logger import Logger

from kafkatx.broker.broker import Broker
from kafkatx.broker.logins.checkers import Checkers, FindChecker
from kafkatx.broker.logins.gate import Gate
from kafkatx.broker.logins.login import ConnectionLogin, LoginLimits
from kafkatx.broker.logins.portal import make_portal
from kafkatx.broker.logins.scram_users import Stored
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import Listener, is_loopback
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import SettingError
from kafkatx.net.admission.held_off import HeldOff
from kafkatx.net.admission.unauthenticated import Unauthenticated
from kafkatx.net.connection import KafkaConnection
from kafkatx.net.requests import Requests
from kafkatx.net.server import KafkaServerFactory, ListenerFactory
from kafkatx.security.sasl import plain
from kafkatx.types import ClusterDelta


class SaslListener:
    """The rules of logins at one listener, and those that are logged in there.

    :ivar mechanisms: the portal of each mechanism.
    """

    _log = Logger()

    def __init__(
        self,
        listener: Listener,
        config: BrokerConfig,
        checkers: Checkers,
        server: KafkaServerFactory,
        now_ms: Callable[[], int],
    ) -> None:
        """Make the portals.

        :raises SettingError: a mechanism lacks a setting, or has a wrong one.
        """
        self.name = listener.name
        self.protocol = listener.protocol
        self.has_tls = listener.has_tls
        self.clock = server.clock
        self.log = server.log
        self.unauthenticated: Unauthenticated = server.unauthenticated
        self.now_ms = now_ms
        values = config.of_listener(listener.name)
        self.limits = LoginLimits(
            config[s.KAFKATX_SASL_TIMEOUT_MS] / 1000,
            config[s.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS] / 1000,
            config[s.SASL_SERVER_MAX_RECEIVE_SIZE],
        )
        enabled = values[s.SASL_ENABLED_MECHANISMS]
        self.mechanisms: Mapping[str, Portal] = {
            mechanism: make_portal(checkers.of_mechanism(values, listener.name, mechanism))
            for mechanism in enabled
        }
        self._sessions_ms = {
            mechanism: values.of_mechanism(mechanism)[s.CONNECTIONS_MAX_REAUTH_MS] for mechanism in enabled
        }
        checkers_of_plain = values.of_mechanism(plain.NAME)[s.KAFKATX_PLAIN_CHECKERS]
        self._plain_is_scram = plain.NAME in enabled and "scram" in checkers_of_plain
        self._logins: dict[tuple[str, str], set[ConnectionLogin]] = {}
        if plain.NAME in enabled and not listener.has_tls and not is_loopback(listener.host):
            self._log.warn(
                "listeners={listener}: passwords of PLAIN cross the network in clear text; use SASL_SSL",
                listener=listener,
            )

    def max_session_ms(self, mechanism: str) -> int:
        """Return connections.max.reauth.ms of a mechanism; 0: a session does not end."""
        return self._sessions_ms.get(mechanism, 0)

    def logged_in(self, login: ConnectionLogin) -> None:
        """Take notice of a client that has logged in."""
        if login.identity is not None:
            self._logins.setdefault((login.mechanism, login.identity.name), set()).add(login)

    def lost(self, login: ConnectionLogin) -> None:
        """Forget a connection that has ended."""
        if login.identity is None:
            return
        key = (login.mechanism, login.identity.name)
        logins = self._logins.get(key, set())
        logins.discard(login)
        if not logins:
            self._logins.pop(key, None)

    def revoke(self, mechanism: str, user: str) -> None:
        """Close the connections of a user whose credentials are deleted."""
        for login in tuple(self._logins.get((mechanism, user), ())):
            login.drop(f"the {mechanism} credentials of {user!r} were deleted")

    def remove(self, user: str) -> None:
        """Close the connections by PLAIN of a user who has no SCRAM credentials any more, if these count."""
        if self._plain_is_scram:
            for login in tuple(self._logins.get((plain.NAME, user), ())):
                login.drop(f"the credentials of {user!r} were deleted")


class SaslFactory(ListenerFactory):
    """Accepts the connections of a listener with SASL."""

    def __init__(
        self, server: KafkaServerFactory, requests: Requests, listener: str, rules: SaslListener
    ) -> None:
        super().__init__(server, requests, listener)
        self.rules = rules

    def buildProtocol(self, addr: IAddress | None) -> KafkaConnection | HeldOff | None:
        """Return a connection whose client has to log in, one that is held off, or None."""
        connection = super().buildProtocol(addr)
        if isinstance(connection, KafkaConnection):
            rules, requests = self.rules, self._requests
            login = ConnectionLogin(rules, connection, requests, self.server.max_request_bytes)
            gate = Gate(login, requests, rules.protocol)
            connection.on_made = lambda: login.begin(gate)
        return connection


class SaslListeners:
    """All listeners with SASL of a broker.

    :param find: finds installed checkers; None: there are none.
    """

    def __init__(self, config: BrokerConfig, broker: Broker, find: FindChecker | None) -> None:
        self._config = config
        self._metadata = broker.metadata
        self._now_ms = broker.now_ms
        self._checkers = Checkers(
            config, broker.workers, find, self.users, broker.clock, broker.now_ms, broker.password_turns
        )
        self.listeners: dict[str, SaslListener] = {}
        broker.metadata.subscribe(self._follow)

    def users(self) -> Stored:
        """Return the users with SCRAM credentials."""
        return self._metadata.state.scram_credentials

    def _follow(self, delta: ClusterDelta) -> None:
        """Close the connections of users whose credentials are gone."""
        before, after = delta.before.scram_credentials, delta.after.scram_credentials
        if before is after:
            return
        for user, mechanisms in before.items():
            for rules in self.listeners.values():
                for mechanism in mechanisms.keys() - after.get(user, {}).keys():
                    rules.revoke(mechanism, user)
                if user not in after:
                    rules.remove(user)

    def factory(self, listener: Listener, requests: Requests, server: KafkaServerFactory) -> SaslFactory:
        """Return the factory of a listener.

        :raises SettingError: a mechanism lacks a setting, or has a wrong one.
        """
        try:
            rules = SaslListener(listener, self._config, self._checkers, server, self._now_ms)
        except SettingError as error:
            raise SettingError(f"listeners: {listener.name}: {error}") from None
        self.listeners[listener.name] = rules
        return SaslFactory(server, requests, listener.name, rules)
