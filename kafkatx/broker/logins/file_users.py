"""Users in a file with hashes of their passwords, checked in a worker; the file is read when it changes."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from functools import partial
from typing import Any

from twisted.cred.credentials import IUsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from kafkatx.interfaces import Worker
from kafkatx.interfaces.security.logins import ICredentialsChecker
from kafkatx.security.passwords import HashError, check_password, hash_password, read_users

MOST_KNOWN = 1000
"""Logins whose outcome is remembered, so that a client that connects again costs no hash."""


@implementer(ICredentialsChecker)
class FileUsers:
    """Checks users and passwords with the hashes of a file.

    Without a file that can be read there are no users.
    """

    credentialInterfaces = (IUsernamePassword,)
    _log = Logger()

    def __init__(self, path: str, worker: Worker) -> None:
        self._path = path
        self._worker = worker
        self._seen: tuple[int, int] | None = None
        self._users: dict[str, str] = {}
        self._unknown = ""
        self._secret = secrets.token_bytes(32)
        self._known: dict[bytes, None] = {}

    def requestAvatarId(self, credentials: Any) -> Deferred[str]:
        """Fire with the user's name; fail with UnauthorizedLogin."""
        return self._worker(partial(self._check, credentials.username, credentials.password))

    def _check(self, username: bytes, password: bytes) -> str:
        self._load()
        user = username.decode()
        hashed = self._users.get(user)
        mark = hmac.digest(self._secret, repr((user, hashed, password)).encode(), hashlib.sha256)
        if mark in self._known:
            return user
        self._unknown = self._unknown or hash_password("")
        matches = check_password(password.decode(), hashed or self._unknown)  # as long for unknown users
        if hashed is None or not matches:
            raise UnauthorizedLogin("wrong password, or unknown user")
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[mark] = None
        return user

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
