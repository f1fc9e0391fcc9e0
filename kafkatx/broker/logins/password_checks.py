"""Checks of passwords against hashes, which cost milliseconds each: known ones at once, others in fair turns.

It touches a worker.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.cred.credentials import UsernamePassword
from twisted.cred.error import UnauthorizedLogin

from kafkatx.interfaces import Worker
from kafkatx.net.admission.limits import network_of
from kafkatx.net.fair_turns import FairTurns

MOST_KNOWN = 1000
"""Right passwords that are remembered, so that a client that connects again costs no hash."""


class Password(UsernamePassword):
    """A user name and a password, both in UTF-8, with the address that they come from."""

    def __init__(self, username: bytes, password: bytes, address: str) -> None:
        super().__init__(username, password)
        self.address = address


class PasswordChecks:
    """Checks user names and passwords.

    The addresses of clients have turns one after the other, those whose last password was wrong behind
    others. The check of a client that has gone is dropped. A password that was right before, for the same
    stored credentials, waits for nothing.

    :param turns: those of the broker.
    """

    def __init__(self, worker: Worker, turns: FairTurns) -> None:
        self._worker = worker
        self._turns = turns
        self._secret = secrets.token_bytes(32)
        self._known: dict[bytes, None] = {}

    def knows(self, credentials: Any, stored: object) -> bool:
        """Return True if a password was found right for what is stored."""
        return self._mark(credentials, stored) in self._known

    async def check(self, credentials: Any, stored: object, matches: Callable[[], bool]) -> None:
        """Check a password in a worker.

        :param stored: what is stored for the user; None: there is no such user, and the check takes as long.
        :param matches: compares the password with what is stored.
        :raises UnauthorizedLogin: it is wrong.
        :raises TooManyWaiting: it cannot be checked now.
        """
        address = network_of(getattr(credentials, "address", ""))
        matched = await self._turns.run(address, partial(self._worker, matches), credentials.username)
        is_right = stored is not None and matched
        self._turns.put_behind(address, not is_right)
        if not is_right:
            raise UnauthorizedLogin("wrong password, or unknown user")
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[self._mark(credentials, stored)] = None

    def _mark(self, credentials: Any, stored: object) -> bytes:
        text = repr((credentials.username, stored, credentials.password))
        return hmac.digest(self._secret, text.encode(), hashlib.sha256)
