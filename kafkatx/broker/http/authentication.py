"""The logins of an HTTP listener: passwords are checked as those of PLAIN, tokens as those of OAUTHBEARER."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twisted.cred.portal import Portal
from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.logins.checkers import Checkers, FindChecker
from kafkatx.broker.logins.portal import BearerToken, log_in, log_in_with_password, make_portal
from kafkatx.config.listeners import Listener
from kafkatx.config.table import network as n
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import SettingError
from kafkatx.net.limited_log import LimitedLog
from kafkatx.security.identity import Identity
from kafkatx.security.sasl import oauthbearer, plain
from kafkatx.types import ClusterDelta
from kafkatx.web.logins import Logins
from kafkatx.web.schemes import Basic, Bearer, CheckPassword, CheckToken, Login, Scheme

if TYPE_CHECKING:
    from kafkatx.net.tls.listener import TlsListeners


def make_logins(
    broker: Broker,
    listener: Listener,
    find: FindChecker | None,
    tls: TlsListeners | None,
    log: LimitedLog,
) -> Logins:
    """Return the logins of a listener.

    :param find: finds installed checkers; None: there are none.
    :raises SettingError: a setting of PLAIN or OAUTHBEARER is missing or wrong.
    """

    def brokers() -> list[str]:
        own = tls.principal(listener.name) if tls is not None and listener.has_tls else None
        return [] if own is None else [own]

    delay_s = broker.config[s.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS] / 1000
    logins = Logins(_schemes(broker, listener, find), broker.clock, log, delay_s, brokers)

    def changed(delta: ClusterDelta) -> None:
        before: Any = delta.before.scram_credentials
        if before is not delta.after.scram_credentials:
            logins.forget()

    broker.metadata.subscribe(changed)
    return logins


def _schemes(broker: Broker, listener: Listener, find: FindChecker | None) -> list[Scheme]:
    """Return the schemes that the settings name, Basic first."""
    wanted = broker.config[n.HTTP_AUTHENTICATION]
    schemes: list[Scheme] = []
    if "basic" in wanted:
        schemes.append(Basic(_passwords(_portal(broker, listener, find, plain.NAME))))
    if "bearer" in wanted:
        schemes.append(Bearer(_tokens(_portal(broker, listener, find, oauthbearer.NAME), broker.now_ms)))
    return schemes


def _portal(broker: Broker, listener: Listener, find: FindChecker | None, mechanism: str) -> Portal:
    checkers = Checkers(
        broker.config,
        broker.workers,
        find,
        lambda: broker.metadata.state.scram_credentials,
        broker.clock,
        broker.now_ms,
        broker.password_turns,
    )
    try:
        return make_portal(
            checkers.of_mechanism(broker.config.of_listener(listener.name), listener.name, mechanism)
        )
    except SettingError as error:
        raise SettingError(f"http.listeners={listener}: {error}") from None


def _passwords(portal: Portal) -> CheckPassword:
    async def check(user: str, password: str, address: str) -> Login:
        return Login((await log_in_with_password(portal, user, password, address)).principal)

    return lambda user, password, address: Deferred.fromCoroutine(check(user, password, address))


def _tokens(portal: Portal, now_ms: Callable[[], int]) -> CheckToken:
    async def check(token: str) -> Login:
        identity: Identity = await log_in(portal, BearerToken(token))
        ends_ms = identity.expires_at_ms
        return Login(identity.principal, None if ends_ms is None else (ends_ms - now_ms()) / 1000)

    return lambda token: Deferred.fromCoroutine(check(token))
