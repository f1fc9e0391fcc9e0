"""The schema of a database, as a value: its migrations, and the tables that its seal covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen


@frozen
class Schema:
    """A schema.

    A seal needs a table ``seal``; a script makes it: see :data:`SEAL_TABLE`.

    :ivar migrations: scripts of SQL statements. Each leads from the version that is its index to the next;
        ``PRAGMA user_version`` tells a file's. Scripts that were ever released are never changed, only
        followed by others.
    :ivar sealed: the tables that the seal covers, with the version since which it does.
    """

    migrations: Sequence[Sequence[str]]
    sealed: Mapping[str, int]


SEAL_TABLE = """CREATE TABLE seal (
            generation INTEGER NOT NULL,
            checksum BLOB NOT NULL
        )"""
"""The statement that makes the seal's table. It is part of the seals of files: its text never changes."""
