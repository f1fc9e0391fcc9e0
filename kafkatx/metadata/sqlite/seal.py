"""The seal of a database: a checksum of all rows, and a number that rises with each change.

SQLite notices damage to the structure of its file only, and drops a write-ahead log or journal with a wrong
checksum without an error. So each transaction writes, into the table ``seal``, the sum of a hash of every
row, and a generation that is 1 higher than the one before. A database whose rows have another sum is damaged;
one whose generation is lower than the one noted in the log dirs is older than the data beside it.

The sum is kept while rows change, by triggers that exist in this connection only.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable

from kafkatx.metadata.sqlite.schema import Schema

_MODULUS = 1 << 128

_NOT_DAMAGE = ("locked", "I/O error", "unable to open", "is full", "readonly")
"""Parts of SQLite's messages for failures that have nothing to do with the content."""


class Damaged(Exception):
    """The content of the database is not what was written; the message says what is wrong."""


class Seal:
    """The running sum of one connection's database.

    :param schema: names the tables that the seal covers.
    :ivar generation: the generation of the last change, or of the current one.
    """

    def __init__(self, db: sqlite3.Connection, schema: Schema) -> None:
        self._db = db
        self._tables = schema.sealed
        self.generation = 0
        self._sum = 0
        self._sealed = (0, -1)  # generation and sum on the disk

    @property
    def on_disk(self) -> int:
        """The generation of the last change that was committed."""
        return self._sealed[0]

    def check(self, version: int) -> None:
        """Check the whole database.

        :param version: the version of its schema; one without a seal gets SQLite's own check only.
        :raises Damaged: the content is not what was written.
        :raises sqlite3.Error: it cannot be read.
        """
        try:
            self._check(version)
        except sqlite3.OperationalError as error:
            if any(passing in str(error) for passing in _NOT_DAMAGE):
                raise
            raise Damaged(str(error)) from error
        except sqlite3.DatabaseError as error:
            raise Damaged(str(error)) from error

    def _check(self, version: int) -> None:
        problems = [problem for (problem,) in self._db.execute("PRAGMA integrity_check(1)")]
        if problems != ["ok"]:
            raise Damaged(" ".join(problems[0].split()))
        covered = [table for table, since in self._tables.items() if since <= version]
        if not covered:
            return
        self._sum = self._sum_of(covered)
        rows = self._db.execute("SELECT generation, checksum FROM seal").fetchall()
        if len(rows) != 1:
            raise Damaged("its seal is missing")
        self.generation, checksum = rows[0]
        if checksum != self._checksum():
            raise Damaged("the checksum of its rows is wrong")
        self._sealed = (self.generation, self._sum)

    def watch(self) -> None:
        """Follow every change of a row from now on."""
        self._sum = self._sum_of(self._tables)
        self._db.create_function("kafkatx_account", -1, self._account)
        for table in self._tables:
            columns = [row[1] for row in self._db.execute(f"PRAGMA table_info({table})")]
            new = f"SELECT kafkatx_account(1, '{table}', {_joined('NEW', columns)});"
            old = f"SELECT kafkatx_account(-1, '{table}', {_joined('OLD', columns)});"
            for event, statements in (("INSERT", new), ("DELETE", old), ("UPDATE", old + new)):
                self._db.execute(
                    f"CREATE TEMP TRIGGER seal_{table}_{event} AFTER {event} ON main.{table} "
                    f"BEGIN {statements} END"
                )

    def migrated(self) -> None:
        """Note that the schema has another version, so that :meth:`write` seals it without a changed row."""
        self._sealed = (self.generation, -1)

    def write(self) -> None:
        """Seal the changes of a transaction, within it."""
        if (self.generation, self._sum) == self._sealed:
            return
        self.generation += 1
        self._db.execute("DELETE FROM seal")
        self._db.execute("INSERT INTO seal VALUES (?, ?)", (self.generation, self._checksum()))

    def committed(self) -> None:
        """Note that the transaction is on the disk."""
        self._sealed = (self.generation, self._sum)

    def mark(self) -> tuple[int, int]:
        """Return the state that :meth:`return_to` goes back to."""
        return self.generation, self._sum

    def return_to(self, mark: tuple[int, int]) -> None:
        """Note that the changes since the mark were undone."""
        self.generation, self._sum = mark

    def raise_to(self, generation: int) -> None:
        """Skip generations, within a transaction, so that its own is higher than *generation*."""
        self.generation = max(self.generation, generation)

    def _account(self, sign: int, table: str, *columns: object) -> None:
        self._sum = (self._sum + sign * _row_hash(table, columns)) % _MODULUS

    def _sum_of(self, tables: Iterable[str]) -> int:
        return (
            sum(
                _row_hash(table, row)
                for table in tables
                for row in self._db.execute(f"SELECT * FROM {table}")
            )
            % _MODULUS
        )

    def _checksum(self) -> bytes:
        schema = self._db.execute(
            "SELECT type, name, sql FROM main.sqlite_master ORDER BY type, name"
        ).fetchall()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        return _hash((self.generation, self._sum, version, schema))


def _row_hash(table: str, columns: Iterable[object]) -> int:
    return int.from_bytes(_hash((table, *columns)), "big")


def _hash(value: object) -> bytes:
    return hashlib.blake2b(repr(value).encode(errors="backslashreplace"), digest_size=16).digest()


def _joined(row: str, columns: Iterable[str]) -> str:
    return ", ".join(f"{row}.{column}" for column in columns)
