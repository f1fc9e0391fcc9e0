"""Logins of HTTP clients: user and password, a bearer token, or the certificate of a TLS client.

A client sends its password or token with each request, and checking one takes milliseconds, on purpose. So a
login that was right counts for :data:`KEPT_S` more, and a user who is removed can go on for that long; only a
keyed digest of it is kept. A client waits for the answer to a wrong one, and the check of a client that has
gone is dropped. There is no queue here: checkers take turns of what is scarce for them.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

import attrs
from twisted.cred.error import LoginFailed
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.net.fair_turns import TooManyWaiting
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

FOR_PRINCIPAL = "x-forward-principal"
"""The header in which a broker that forwards a request tells the principal of the client,
percent-encoded.
"""


@attrs.define(eq=False)
class _Check:
    """A login that is being checked.

    :ivar forgotten: how often all logins had been forgotten when it began.
    :ivar waiting: the requests that wait for it.
    """

    forgotten: int
    waiting: list[Deferred[Login]] = attrs.Factory(list)
    running: Deferred[Any] | None = None


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
        self._checks: dict[bytes, _Check] = {}
        self._forgotten = 0

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
        self._forgotten += 1

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
            self._clock.callLater(0, self._begin, key, attempt, client)
            self._checks[key] = _Check(self._forgotten)
        check = self._checks[key]
        waiting: Deferred[Login] = Deferred(partial(self._left, key, check))
        check.waiting.append(waiting)
        return await waiting

    def _refused(self, why: str) -> WebError:
        """Return the error of a request that is not logged in."""
        challenges = ", ".join(scheme.challenge for scheme in self._schemes)
        return WebError(401, why, headers={"WWW-Authenticate": challenges})

    def _begin(self, key: bytes, attempt: Attempt, client: str) -> None:
        check = self._checks[key]
        if not check.waiting:
            del self._checks[key]
            return
        check.running = Deferred.fromCoroutine(self._check(attempt, client))
        check.running.addBoth(self._ended, key, check)

    def _left(self, key: bytes, check: _Check, waiting: Deferred[Login]) -> None:
        """Drop a check when the last of those who wait for it has gone."""
        check.waiting.remove(waiting)
        if not check.waiting and check.running is not None:
            check.running.cancel()

    async def _check(self, attempt: Attempt, client: str) -> Login | WebError:
        try:
            return await attempt.check(client)
        except LoginFailed as failed:
            self._log.warn(
                "refused a login over HTTP from {client}: {who}{reason}",
                client=client,
                who=attempt.who,
                reason=f": {failed}" if str(failed) else "",
            )
            error = self._refused("the login is wrong, or has expired")
        except CancelledError:
            return _too_many()
        except TooManyWaiting:
            error = _too_many()  # not at once: it would try again at once
        except Exception:
            self._log.failure("a login over HTTP could not be checked")
            error = WebError(503, "the login cannot be checked now: try again", headers=_SOON)
        await deferLater(self._clock, self._delay_s)
        return error

    def _ended(self, found: object, key: bytes, check: _Check) -> None:
        if self._checks.get(key) is check:
            del self._checks[key]
        if isinstance(found, Login) and check.forgotten == self._forgotten:
            self._keep(key, found)
        for one in check.waiting:
            if isinstance(found, Login):
                one.callback(found)
            else:
                one.errback(found if isinstance(found, WebError) else _too_many())

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


def _too_many() -> WebError:
    return WebError(503, "too many logins are checked at the same time: try again", headers=_SOON)
