"""The logins of an HTTP listener, whose passwords are checked as those of the SASL mechanism PLAIN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.logins.checkers import Checkers, FindChecker
from kafkatx.broker.logins.portal import log_in_with_password, make_portal
from kafkatx.config.listeners import Listener
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import SettingError
from kafkatx.net.limited_log import LimitedLog
from kafkatx.security.sasl import plain
from kafkatx.types import ClusterDelta
from kafkatx.web.logins import Logins

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
    :raises SettingError: a setting of PLAIN is missing or wrong.
    """
    config = broker.config
    checkers = Checkers(
        config,
        broker.workers,
        find,
        lambda: broker.metadata.state.scram_credentials,
        broker.clock,
        broker.now_ms,
    )
    try:
        portal = make_portal(
            checkers.of_mechanism(config.of_listener(listener.name), listener.name, plain.NAME)
        )
    except SettingError as error:
        raise SettingError(f"http.listeners={listener}: {error}") from None

    async def check(user: str, password: str) -> str:
        return (await log_in_with_password(portal, user, password)).principal

    def authenticate(user: str, password: str) -> Deferred[str]:
        return Deferred.fromCoroutine(check(user, password))

    def brokers() -> list[str]:
        own = tls.principal(listener.name) if tls is not None and listener.has_tls else None
        return [] if own is None else [own]

    delay_s = config[s.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS] / 1000
    logins = Logins(authenticate, broker.clock, log, delay_s, brokers)

    def changed(delta: ClusterDelta) -> None:
        before: Any = delta.before.scram_credentials
        if before is not delta.after.scram_credentials:
            logins.forget()

    broker.metadata.subscribe(changed)
    return logins
