"""Logins of HTTP clients: user and password, a bearer token, or the certificate of a TLS client.

A client sends its password or token with each request, and checking one takes milliseconds, on purpose. So a
login that was right counts for :data:`KEPT_S` more, and a user who is removed can go on for that long; only a
keyed digest of it is kept. A client waits for the answer to a wrong one, and can have few checked at the same
time.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import TypeAlias
from urllib.parse import quote, unquote

from twisted.cred.error import LoginFailed
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import NOBODY, Session
from kafkatx.web.calls import Call, WebError
from kafkatx.web.schemes import Attempt, Login, Scheme

Brokers: TypeAlias = Callable[[], Collection[str]]
"""Returns the principals of brokers' certificates."""

KEPT_S = 10.0
"""Seconds for which a login that was right counts without another check, if it does not end before."""

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

    :param schemes: by which clients may log in.
    :param delay_s: seconds from a failed check to its answer.
    :param brokers: returns the principals of brokers' certificates, which may speak for others.
    """

    def __init__(
        self,
        schemes: Sequence[Scheme],
        clock: IReactorTime,
        log: LimitedLog,
        delay_s: float,
        brokers: Brokers,
    ) -> None:
        self._schemes = schemes
        self._clock = clock
        self._log = log
        self._delay_s = delay_s
        self._brokers = brokers
        self._key = secrets.token_bytes(32)
        self._kept: dict[bytes, tuple[float, str, float]] = {}
        self._checks: dict[bytes, list[Deferred[Login]]] = {}
        self._of_client: dict[str, int] = {}

    async def session(self, call: Call) -> Session:
        """Return the session of a request that is logged in.

        :raises WebError: 401: it is not; 403: it speaks for another client; 503: it cannot be checked now.
        """
        header = call.headers.get("authorization")
        if header is not None:
            return Session((await self.login(header, call.client)).principal, call.session.listener)
        if call.session.principal == NOBODY.principal:
            raise self._refused("log in")
        return spoken_for(call, self._brokers)

    def forget(self) -> None:
        """Check each login again at its next request: users have changed."""
        self._kept.clear()

    @property
    def names(self) -> Sequence[str]:
        """The names of the schemes."""
        return [scheme.name for scheme in self._schemes]

    async def login(self, header: str, client: str) -> Login:
        """Return the login of a header ``Authorization``.

        :param client: the address of the client.
        :raises WebError: 401: it is wrong; 503: it cannot be checked now.
        """
        attempt = next(filter(None, (scheme.read(header) for scheme in self._schemes)), None)
        if attempt is None:
            hints = " or ".join(scheme.hint for scheme in self._schemes)
            raise self._refused(f"Authorization must be {hints}")
        key = hmac.digest(self._key, header.encode("utf-8", "surrogatepass"), "sha256")
        now_s = self._clock.seconds()
        kept_until_s, principal, ends_s = self._kept.get(key, (0.0, "", inf))
        if now_s < kept_until_s:
            return Login(principal, None if ends_s == inf else ends_s - now_s)
        if key not in self._checks:
            self._begin(key, attempt, client)
        waiting: Deferred[Login] = Deferred()
        self._checks[key].append(waiting)
        return await waiting

    def _refused(self, why: str) -> WebError:
        """Return the error of a request that is not logged in."""
        challenges = ", ".join(scheme.challenge for scheme in self._schemes)
        return WebError(401, why, headers={"WWW-Authenticate": challenges})

    def _begin(self, key: bytes, attempt: Attempt, client: str) -> None:
        count = self._of_client.get(client, 0)
        if len(self._checks) >= MOST_CHECKS or count >= MOST_OF_CLIENT:
            raise WebError(503, "too many logins are checked at the same time: try again", headers=_SOON)
        self._checks[key] = []
        self._of_client[client] = count + 1
        self._clock.callLater(0, self._check, key, attempt, client)

    def _check(self, key: bytes, attempt: Attempt, client: str) -> None:
        checking = Deferred.fromCoroutine(self._checked(attempt, client))
        checking.addBoth(self._ended, key, client)

    async def _checked(self, attempt: Attempt, client: str) -> Login | WebError:
        try:
            return await attempt.check()
        except LoginFailed as failed:
            self._log.warn(
                "refused a login over HTTP from {client}: {who}{reason}",
                client=client,
                who=attempt.who,
                reason=f": {failed}" if str(failed) else "",
            )
            error = self._refused("the login is wrong, or has expired")
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
        if isinstance(found, Login):
            self._keep(key, found)
        for one in waiting:
            if isinstance(found, Login):
                one.callback(found)
            else:
                one.errback(found)  # type: ignore[arg-type]

    def _keep(self, key: bytes, login: Login) -> None:
        self._kept.pop(key, None)
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        now_s = self._clock.seconds()
        ends_s = inf if login.left_s is None else now_s + login.left_s
        self._kept[key] = min(now_s + KEPT_S, ends_s), login.principal, ends_s


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
