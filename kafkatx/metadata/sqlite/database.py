"""A database in one SQLite file that is whole or refused: the base of the states that kafkatx keeps.

Every function here blocks; all of a database's calls are made in one worker. Each change is one transaction,
synced before it returns (``journal_mode=TRUNCATE``, ``synchronous=FULL``): after a ``kill -9`` or a power
cut, a change that has returned is there, and no change is there in part. Between changes the journal is
empty: the file alone is the whole state, and a copy of it is complete. :mod:`kafkatx.metadata.sqlite.seal`
detects a damaged file.

While it is open, the file is locked (``locking_mode=EXCLUSIVE``): a second process fails to open it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.metadata.sqlite.files import make_file, sync_directory
from kafkatx.metadata.sqlite.schema import Schema
from kafkatx.metadata.sqlite.seal import Damaged, Seal

T = TypeVar("T")

IN_MEMORY = ":memory:"
"""The path of a database that is not on the disk."""


class DatabaseDamaged(SettingError):
    """The content of the file is not what was written to it."""


class SealedDatabase:
    """An open database; the base of those that read and write rows.

    :param path: the file, created with its directory if it is missing; or :data:`IN_MEMORY`.
    :param place: what names the file's directory to people: ``log.dirs=/data``.
    :param lock_wait_s: how long to wait for another process to close the file.
    :raises DatabaseDamaged: the file is not a database, or not what was written to it.
    :raises SettingError: the file cannot be made or opened, is of a newer kafkatx, or is open in another
        broker.
    """

    def __init__(self, path: str, schema: Schema, place: str, lock_wait_s: float = 1.0) -> None:
        self._path = path
        self._schema = schema
        self._place = place
        try:
            new = path != IN_MEMORY and make_file(path)
            # check_same_thread: a worker may use one thread after another, never two at once
            self._db = sqlite3.connect(path, lock_wait_s, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise SettingError(f"{place}: cannot keep the cluster's state there: {error}") from None
        self._seal = Seal(self._db, schema)
        try:
            self._prepare()
            if new:
                sync_directory(os.path.dirname(path))
        except Damaged as error:
            self._db.close()
            raise self._damaged(error) from None
        except (OSError, sqlite3.Error) as error:
            self._db.close()
            if "locked" in str(error):
                raise SettingError(
                    f"{place}: in use by another broker; stop it or choose another directory"
                ) from None
            if not isinstance(error, (OSError, sqlite3.OperationalError)):
                raise self._damaged(error) from None
            raise SettingError(f"{place}: {path} cannot be used: {error}") from None
        except SettingError:
            self._db.close()
            raise

    def _damaged(self, error: Exception) -> DatabaseDamaged:
        return DatabaseDamaged(f"{self._place}: the cluster's state, {self._path}, is damaged ({error})")

    @property
    def generation(self) -> int:
        """A number that rises with each committed change; any thread may read it."""
        return self._seal.on_disk

    def _prepare(self) -> None:
        db, migrations = self._db, self._schema.migrations
        # before the first access, so that the lock is taken with it
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("PRAGMA journal_mode=TRUNCATE")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA foreign_keys=ON")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > len(migrations):
            raise SettingError(
                f"{self._place}: {self._path} was written by a newer kafkatx "
                f"(version {version}, this one knows {len(migrations)}); use that one"
            )
        self._seal.check(version)
        # takes the lock of a file that needs no migration; a migration is whole, and sealed, or not done
        db.execute("BEGIN IMMEDIATE")
        for script in migrations[version:]:
            for statement in script:
                db.execute(statement)
        if version < len(migrations):
            db.execute(f"PRAGMA user_version={len(migrations):d}")
            self._seal.migrated()
        self._seal.watch()
        self._seal.write()
        db.execute("COMMIT")
        self._seal.committed()

    def together(self, changes: Sequence[Callable[[], T]]) -> list[tuple[T | None, Exception | None]]:
        """Make several changes in one transaction, synced once; return what each returned or raised.

        :param changes: call methods of this database; one that raises is undone alone.
        :raises RequestError: KAFKA_STORAGE_ERROR: none of the changes is made.
        """
        outcomes: list[tuple[T | None, Exception | None]] = []
        with self._transaction():
            for change in changes:
                try:
                    outcomes.append((change(), None))
                except Exception as error:
                    if not self._db.in_transaction:
                        raise
                    outcomes.append((None, error))
        return outcomes

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Make the changes of a block, and sync them, or none of them; :meth:`together` syncs later.

        :raises RequestError: KAFKA_STORAGE_ERROR: the disk is full or fails.
        """
        db, before = self._db, self._seal.mark()
        nested = db.in_transaction
        try:
            db.execute("SAVEPOINT one" if nested else "BEGIN IMMEDIATE")
            yield db
            if not nested:
                self._seal.write()
            db.execute("RELEASE one" if nested else "COMMIT")
            if not nested:
                self._seal.committed()
        except BaseException as error:
            if db.in_transaction and nested:
                db.execute("ROLLBACK TO one")
                db.execute("RELEASE one")
            elif db.in_transaction:
                db.execute("ROLLBACK")
            self._seal.return_to(before)
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.ProgrammingError):
                raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._path}: {error}") from error
            raise

    def close(self) -> None:
        """Close the file."""
        self._db.close()
