"""Sessions of people who have logged in to the console: random tokens, in memory. Pure.

A token is known to the browser alone: its digest is what is kept.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection

import attrs

from kafkatx.fair_shares import FairPlaces
from kafkatx.net.requests import Session

MOST = 1000
"""Sessions at the same time; beyond that the principal with most loses the one unused for longest."""

LONGEST_S = 12 * 3600.0
"""Seconds after which a session ends, also one that is used."""


@attrs.define
class _Login:
    user: str
    session: Session
    ends_s: float
    used_s: float


class Sessions:
    """The sessions.

    :param seconds: the time of a monotonic clock.
    :param idle_s: seconds without a request after which a session ends.
    """

    def __init__(self, seconds: Callable[[], float], idle_s: float, most: int = MOST) -> None:
        self._seconds = seconds
        self._idle_s = idle_s
        self._places: FairPlaces[bytes] = FairPlaces(most)
        self._logins: dict[bytes, _Login] = {}

    def __len__(self) -> int:
        """Return the number of sessions, ended ones among them."""
        return len(self._logins)

    def begin(self, user: str, session: Session, most_s: float = LONGEST_S) -> str:
        """Begin a session; return its token.

        :param user: the user with whose credentials it ends; empty if it was begun otherwise.
        :param most_s: seconds after which it ends, at most :data:`LONGEST_S`.
        """
        token, now_s = secrets.token_urlsafe(32), self._seconds()
        for key in self._places.crowded(session.principal)[:1]:
            self._remove(key)
        self._logins[_digest(token)] = _Login(user, session, now_s + min(most_s, LONGEST_S), now_s)
        self._places.add(session.principal, _digest(token))
        return token

    def _remove(self, key: bytes) -> None:
        self._places.remove(key)
        self._logins.pop(key, None)

    def find(self, token: str) -> Session | None:
        """Return the principal of a session, which is used by that; None if it has ended."""
        if not self.holds(token):
            self.end(token)
            return None
        key = _digest(token)
        login = self._logins[key]
        login.used_s = self._seconds()
        self._places.remove(key)
        self._places.add(login.session.principal, key)  # the last one
        return login.session

    def holds(self, token: str) -> bool:
        """Return True if there is a session that has not ended; it is not used by that."""
        login, now_s = self._logins.get(_digest(token)), self._seconds()
        return login is not None and now_s < login.ends_s and now_s - login.used_s < self._idle_s

    def end(self, token: str) -> None:
        """End a session, if there is one."""
        self._remove(_digest(token))

    def end_of(self, users: Collection[str]) -> None:
        """End the sessions of users."""
        for key, login in list(self._logins.items()):
            if login.user in users:
                self._remove(key)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def read_cookie(header: str, name: str) -> str:
    """Return the value of a cookie in a header ``Cookie``; nothing if it has none."""
    for pair in header.split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return ""
