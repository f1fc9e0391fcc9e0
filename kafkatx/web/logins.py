"""Logins of HTTP clients: user and password (Basic, RFC 7617), or the certificate of a TLS client.

A client sends its password with each request, and checking one takes milliseconds, on purpose. So a login
that was right counts for :data:`KEPT_S` more, and a user who is removed can go on for that long; only a keyed
digest of it is kept. A client waits for the answer to a wrong one, and can have few checked at the same time.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Callable, Collection
from typing import TypeAlias
from urllib.parse import quote, unquote

from twisted.cred.error import LoginFailed
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import NOBODY, Session
from kafkatx.web.calls import Call, WebError

Authenticate: TypeAlias = Callable[[str, str], "Deferred[str]"]
"""Checks a user name and a password; fires with the principal, fails with LoginFailed."""

Brokers: TypeAlias = Callable[[], Collection[str]]
"""Returns the principals of brokers' certificates."""

KEPT_S = 10.0
"""Seconds for which a login that was right counts without another check."""

MOST_KEPT = 1000
"""Logins that are kept; above it the oldest is checked again."""

MOST_CHECKS, MOST_OF_CLIENT = 64, 8
"""Different logins that are checked at the same time, of all clients and of one address."""

FOR_PRINCIPAL = "x-forward-principal"
"""The header in which a broker that forwards a request tells the principal of the client,
percent-encoded.
"""


class Logins:
    """The logins of a listener.

    :param delay_s: seconds from a failed check to its answer.
    :param brokers: returns the principals of brokers' certificates, which may speak for others.
    """

    def __init__(
        self,
        authenticate: Authenticate,
        clock: IReactorTime,
        log: LimitedLog,
        delay_s: float,
        brokers: Brokers,
    ) -> None:
        self._authenticate = authenticate
        self._clock = clock
        self._log = log
        self._delay_s = delay_s
        self._brokers = brokers
        self._key = secrets.token_bytes(32)
        self._kept: dict[bytes, tuple[float, str]] = {}
        self._checks: dict[bytes, list[Deferred[str]]] = {}
        self._of_client: dict[str, int] = {}

    async def session(self, call: Call) -> Session:
        """Return the session of a request that is logged in.

        :raises WebError: 401: it is not; 403: it speaks for another client; 503: it cannot be checked now.
        """
        header = call.headers.get("authorization")
        if header is not None:
            return Session(await self._principal(header, call.client), call.session.listener)
        if call.session.principal == NOBODY.principal:
            raise refused("log in with user and password")
        return spoken_for(call, self._brokers)

    def forget(self) -> None:
        """Check each login again at its next request: users have changed."""
        self._kept.clear()

    async def _principal(self, header: str, client: str) -> str:
        user, password = read_basic(header)
        key = hmac.digest(self._key, header.encode("utf-8", "surrogatepass"), "sha256")
        ends_s, principal = self._kept.get(key, (0.0, ""))
        if self._clock.seconds() < ends_s:
            return principal
        if key not in self._checks:
            self._begin(key, user, password, client)
        waiting: Deferred[str] = Deferred()
        self._checks[key].append(waiting)
        return await waiting

    def _begin(self, key: bytes, user: str, password: str, client: str) -> None:
        count = self._of_client.get(client, 0)
        if len(self._checks) >= MOST_CHECKS or count >= MOST_OF_CLIENT:
            raise WebError(503, "too many logins are checked at the same time: try again", headers=_SOON)
        self._checks[key] = []
        self._of_client[client] = count + 1
        self._clock.callLater(0, self._check, key, user, password, client)

    def _check(self, key: bytes, user: str, password: str, client: str) -> None:
        checking = Deferred.fromCoroutine(self._checked(user, password, client))
        checking.addBoth(self._ended, key, client)

    async def _checked(self, user: str, password: str, client: str) -> str | WebError:
        try:
            return await self._authenticate(user, password)
        except LoginFailed:
            self._log.warn(
                "refused a login over HTTP from {client}: user {user!r}", client=client, user=user[:100]
            )
            error = refused("wrong user or password")
        except Exception:
            self._log.failure("a login over HTTP could not be checked")
            error = WebError(503, "the login cannot be checked now: try again", headers=_SOON)
        await deferLater(self._clock, self._delay_s)
        return error

    def _ended(self, found: object, key: bytes, client: str) -> None:
        waiting = self._checks.pop(key)
        self._of_client[client] -= 1
        if not self._of_client[client]:
            del self._of_client[client]
        if isinstance(found, str):
            self._keep(key, found)
        for one in waiting:
            if isinstance(found, str):
                one.callback(found)
            else:
                one.errback(found)  # type: ignore[arg-type]

    def _keep(self, key: bytes, principal: str) -> None:
        self._kept.pop(key, None)
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = self._clock.seconds() + KEPT_S, principal


class Certificates:
    """The principals of a listener with TLS whose clients need not log in: of their certificates, if any.

    :param brokers: as of :class:`Logins`.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def session(self, call: Call) -> Session:
        """Return the session of a request.

        :raises WebError: 403: it speaks for another client.
        """
        return spoken_for(call, self._brokers)


def spoken_for(call: Call, brokers: Brokers) -> Session:
    """Return the session of a request: of the client itself, or of the one that a broker speaks for.

    :raises WebError: 403: it speaks for another client, and is no broker's.
    """
    own = call.session
    principal = unquote(call.headers.get(FOR_PRINCIPAL, quote(own.principal)))
    if principal == own.principal:
        return own
    if own.principal not in brokers():
        raise WebError(
            403,
            f"{own.principal} is not the principal of this broker's certificate, and cannot speak for"
            " another client: let ssl.principal.mapping.rules give all brokers one principal",
        )
    return Session(principal, own.listener)


_SOON = {"Retry-After": "1"}


def refused(why: str) -> WebError:
    """Return the error of a request that is not logged in."""
    return WebError(401, why, headers={"WWW-Authenticate": 'Basic realm="kafkatx", charset="UTF-8"'})


def read_basic(header: str) -> tuple[str, str]:
    """Return user and password of a value of ``Authorization``.

    :raises WebError: it has none.
    """
    scheme, _, encoded = header.strip().partition(" ")
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode() if scheme.lower() == "basic" else ""
    except ValueError:  # not ASCII, not base64, or not UTF-8
        text = ""
    user, colon, password = text.partition(":")
    if not colon or not user:
        raise refused("Authorization must be Basic, with user and password in base64")
    return user, password
