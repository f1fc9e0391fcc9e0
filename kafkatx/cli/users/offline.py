"""Users of a broker that does not run: in its state, or in a file with hashes. It reads and writes files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from kafkatx.clientcore.admin.security.credentials import UserCredential
from kafkatx.errors import SettingError
from kafkatx.log.inspect.paths import locked
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.location import find_file, refuse_shared
from kafkatx.security.passwords import HashError, format_users, hash_password, read_users
from kafkatx.security.sasl.credential import parse_credential
from kafkatx.security.sasl.errors import SaslError


class OfflineUsers:
    """The users in the state of a broker that is alone and does not run; made if there is none yet.

    :raises LogDirInUse: the broker is running.
    :raises SettingError: the log dirs belong to a cluster of several brokers, or the state cannot be used.
    """

    def __init__(self, log_dirs: Sequence[str]) -> None:
        self._log_dirs = list(dict.fromkeys(os.path.abspath(path) for path in log_dirs))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[ClusterDatabase]:
        refuse_shared(self._log_dirs)
        with contextlib.ExitStack() as opened:
            for path in self._log_dirs:
                if not os.path.isdir(path):
                    os.makedirs(path, mode=0o700)
                    give(path, os.stat(os.path.dirname(path)))
                opened.enter_context(locked(path))
            database = ClusterDatabase(find_file(self._log_dirs, anew=False))
            opened.callback(self._give_to_owners)
            opened.callback(database.close)
            yield database

    def _give_to_owners(self) -> None:
        """Give new files to the owner of their log dir: root may run the command for the broker's user."""
        for path in self._log_dirs:
            owner = os.stat(path)
            for entry in os.scandir(path):
                if entry.is_file(follow_symlinks=False):
                    give(entry.path, owner)

    def describe(self) -> list[UserCredential]:
        """Return the credentials of all users."""
        with self._opened() as database:
            stored = database.scram_credentials()
        return [
            UserCredential(user, mechanism, _iterations(text))
            for user in sorted(stored)
            for mechanism, text in sorted(stored[user].items())
        ]

    def alter(self, user: str, credentials: Mapping[str, str | None]) -> None:
        """Set and remove credentials of a user, by mechanism."""
        with self._opened() as database:
            database.alter_scram_credentials({user: credentials})


def give(path: str, owner: os.stat_result) -> None:
    """Give a file to the owner and group of another one, if it has others and this process is root's."""
    found = os.lstat(path)
    if os.geteuid() == 0 and (found.st_uid, found.st_gid) != (owner.st_uid, owner.st_gid):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _iterations(text: str) -> int:
    try:
        return parse_credential(text).iterations
    except SaslError:
        return 0


class UsersFile:
    """A file with users and scrypt hashes of their passwords (``kafkatx.users.file``)."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self) -> dict[str, str]:
        """Return the hashes by user; none if there is no file.

        :raises SettingError: the file is malformed.
        :raises OSError: it cannot be read.
        """
        try:
            with open(self._path, encoding="utf-8") as file:
                return read_users(file.read())
        except FileNotFoundError:
            return {}
        except HashError as error:
            raise SettingError(f"{self._path}: {error}") from None

    def set_password(self, user: str, password: str) -> None:
        """Add a user, or change the password.

        :raises SettingError: the name cannot be in the file; or as :meth:`read`.
        """
        if not user or ":" in user or user.startswith("#") or user.strip() != user or "\n" in user:
            raise SettingError(f"user {user!r}: names in a file have no colon, no # and no space at the ends")
        self._write({**self.read(), user: hash_password(password)})

    def delete(self, user: str) -> None:
        """Remove a user.

        :raises SettingError: there is no such user; or as :meth:`read`.
        """
        users = self.read()
        if user not in users:
            raise SettingError(f"{self._path}: there is no user {user!r}")
        del users[user]
        self._write(users)

    def _write(self, users: Mapping[str, str]) -> None:
        """Replace the file at once, so that no reader sees a part of it; only its owner can read it."""
        handle, path = tempfile.mkstemp(prefix=".kafkatx-", dir=os.path.dirname(os.path.abspath(self._path)))
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(format_users(users))
                file.flush()
                os.fsync(file.fileno())
            kept = self._path if os.path.exists(self._path) else os.path.dirname(path)
            give(path, os.stat(kept))
            os.replace(path, self._path)
        except BaseException:
            os.unlink(path)
            raise
