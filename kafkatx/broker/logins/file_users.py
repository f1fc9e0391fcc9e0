"""Users in a file with hashes of their passwords, checked in a worker; the file is read when it changes."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from twisted.cred.credentials import IUsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from kafkatx.broker.logins.password_checks import PasswordChecks
from kafkatx.interfaces import Worker
from kafkatx.interfaces.security.logins import ICredentialsChecker
from kafkatx.security.passwords import HashError, check_password, hash_password, read_users


@implementer(ICredentialsChecker)
class FileUsers:
    """Checks users and passwords with the hashes of a file.

    Without a file that can be read there are no users.
    """

    credentialInterfaces = (IUsernamePassword,)
    _log = Logger()

    def __init__(self, path: str, files: Worker, checks: PasswordChecks) -> None:
        """Make the checker.

        :param files: reads the file; it does not wait for checks of passwords.
        """
        self._path = path
        self._files = files
        self._checks = checks
        self._looking = False
        self._waiting: list[Deferred[None]] = []  # for the next look at the file
        self._seen: tuple[int, int] | None = None
        self._users: dict[str, str] = {}
        self._unknown = ""

    def requestAvatarId(self, credentials: Any) -> Deferred[str]:
        """Fire with the user's name; fail with UnauthorizedLogin."""
        return Deferred.fromCoroutine(self._check(credentials))

    async def _check(self, credentials: Any) -> str:
        user, password = credentials.username.decode(), credentials.password.decode()
        await self._look()
        hashed = self._users.get(user)
        if hashed is None or not self._checks.knows(credentials, hashed):
            await self._checks.check(credentials, hashed, partial(self._matches, password, hashed))
            await self._look()
            if self._users.get(user) != hashed:
                raise UnauthorizedLogin("the user's password was changed meanwhile")
        return str(user)

    def _matches(self, password: str, hashed: str | None) -> bool:
        self._unknown = self._unknown or hash_password("")
        return check_password(password, hashed or self._unknown)  # as long for unknown users

    def _look(self) -> Deferred[None]:
        """Load the file if it has changed; one look, begun after the call, serves all who wait for it.

        A look for each login would be a queue before that of the checks, and not a fair one.
        """
        looked: Deferred[None] = Deferred()
        self._waiting.append(looked)
        if not self._looking:
            self._begin_look()
        return looked

    def _begin_look(self) -> None:
        self._looking = True
        waiting, self._waiting = self._waiting, []
        self._files(self._load).addBoth(self._end_look, waiting)

    def _end_look(self, result: Any, waiting: list[Deferred[None]]) -> None:
        self._looking = False
        if self._waiting:
            self._begin_look()
        for looked in waiting:
            looked.callback(result)

    def _load(self) -> None:
        try:
            status = os.stat(self._path)
            seen = (status.st_mtime_ns, status.st_size)
            if seen == self._seen:
                return
            with open(self._path, encoding="utf-8") as file:
                self._users = read_users(file.read())
            self._seen = seen
        except (OSError, UnicodeDecodeError, HashError) as error:
            self._seen, self._users = None, {}
            self._log.error("kafkatx.users.file={path}: {error}", path=self._path, error=error)
