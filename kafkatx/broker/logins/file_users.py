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
        self._seen: tuple[int, int] | None = None
        self._users: dict[str, str] = {}
        self._unknown = ""

    def requestAvatarId(self, credentials: Any) -> Deferred[str]:
        """Fire with the user's name; fail with UnauthorizedLogin."""
        return Deferred.fromCoroutine(self._check(credentials))

    async def _check(self, credentials: Any) -> str:
        user, password = credentials.username.decode(), credentials.password.decode()
        await self._files(self._load)
        hashed = self._users.get(user)
        if hashed is None or not self._checks.knows(credentials, hashed):
            await self._checks.check(credentials, hashed, partial(self._matches, password, hashed))
            await self._files(self._load)
            if self._users.get(user) != hashed:
                raise UnauthorizedLogin("the user's password was changed meanwhile")
        return str(user)

    def _matches(self, password: str, hashed: str | None) -> bool:
        self._unknown = self._unknown or hash_password("")
        return check_password(password, hashed or self._unknown)  # as long for unknown users

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
