"""The file of the tree of one machine: nodes and sessions in SQLite. Its server alone writes it.

Every function here blocks; all calls are made in one worker. See :mod:`kafkatx.metadata.sqlite.database` for
its durability, its lock and its seal.
"""

from __future__ import annotations

import os

from attrs import define, field, frozen

from kafkatx.interfaces.nodes import parent_path
from kafkatx.metadata.sqlite.database import DatabaseDamaged, SealedDatabase
from kafkatx.metadata.sqlite.schema import SEAL_TABLE, Schema
from kafkatx.metadata.tree.nodes import Node

MIGRATIONS = (
    (
        """CREATE TABLE meta (
            name TEXT NOT NULL PRIMARY KEY,  -- zxid, last_session: the last of each
            value INTEGER NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE nodes (
            path TEXT NOT NULL PRIMARY KEY,
            data BLOB NOT NULL,
            czxid INTEGER NOT NULL,
            mzxid INTEGER NOT NULL,
            version INTEGER NOT NULL,
            owner INTEGER NOT NULL,  -- session of an ephemeral node, or 0
            sequence INTEGER NOT NULL  -- number of children ever created
        )""",
        """CREATE TABLE sessions (
            id INTEGER NOT NULL PRIMARY KEY,
            token TEXT NOT NULL,
            timeout_ms INTEGER NOT NULL
        )""",
        SEAL_TABLE,
    ),
)
"""Scripts that lead from version to version; released ones are never changed."""

SCHEMA = Schema(MIGRATIONS, {"meta": 1, "nodes": 1, "sessions": 1})


@frozen
class StoredSession:
    """A session, as it outlives the server's process."""

    token: str
    timeout_s: float


@define
class Stored:
    """The content of the file, or changes of it.

    :ivar nodes: by path; in changes, None for one that is deleted. The values are not changed later.
    :ivar sessions: by id; in changes, None for one that has ended.
    :ivar zxid: the last transaction.
    :ivar last_session: the highest id that a session ever had.
    """

    nodes: dict[str, Node | None] = field(factory=dict)
    sessions: dict[int, StoredSession | None] = field(factory=dict)
    zxid: int = 0
    last_session: int = 0


class TreeDatabase(SealedDatabase):
    """An open file.

    :param path: the file, created with its directory if it is missing.
    :raises DatabaseDamaged: the file is not a database, or not what was written to it.
    :raises SettingError: it cannot be made or opened, is of a newer kafkatx, or is open in another process.
    """

    def __init__(self, path: str, lock_wait_s: float = 1.0) -> None:
        super().__init__(path, SCHEMA, f"the cluster in {os.path.dirname(path)}", lock_wait_s)

    def load(self) -> Stored:
        """Read everything.

        :raises DatabaseDamaged: a node has no parent.
        """
        meta = dict(self._db.execute("SELECT name, value FROM meta"))
        stored = Stored(zxid=meta.get("zxid", 0), last_session=meta.get("last_session", 0))
        nodes: dict[str, Node] = {"/": Node(b"", 0, 0)}
        for path, data, czxid, mzxid, version, owner, sequence in self._db.execute(
            "SELECT path, data, czxid, mzxid, version, owner, sequence FROM nodes"
        ):
            nodes[path] = Node(data, czxid, mzxid, version, owner, sequence)
        for path in nodes:
            if path != "/":
                parent = nodes.get(parent_path(path))
                if parent is None:
                    raise DatabaseDamaged(f"{self._path}: the node {path} has no parent")
                parent.children.add(path.rpartition("/")[2])
        stored.nodes.update(nodes)
        for session_id, token, timeout_ms in self._db.execute("SELECT id, token, timeout_ms FROM sessions"):
            stored.sessions[session_id] = StoredSession(token, timeout_ms / 1000)
        return stored

    def write(self, changes: Stored) -> None:
        """Write changes in one transaction, and sync them.

        :raises RequestError: KAFKA_STORAGE_ERROR; nothing is changed.
        """
        with self._transaction() as db:
            db.executemany("DELETE FROM nodes WHERE path = ?", _deleted(changes.nodes))
            # no REPLACE: it would not call the triggers of the seal for the old row
            db.executemany(
                "INSERT INTO nodes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (path) DO UPDATE SET"
                " data = ?2, czxid = ?3, mzxid = ?4, version = ?5, owner = ?6, sequence = ?7",
                (
                    (path, node.data, node.czxid, node.mzxid, node.version, node.owner, node.sequence)
                    for path, node in changes.nodes.items()
                    if node is not None
                ),
            )
            db.executemany("DELETE FROM sessions WHERE id = ?", _deleted(changes.sessions))
            db.executemany(
                "INSERT INTO sessions VALUES (?, ?, ?)",
                (
                    (session_id, session.token, round(session.timeout_s * 1000))
                    for session_id, session in changes.sessions.items()
                    if session is not None
                ),
            )
            db.executemany(
                "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
                (("zxid", changes.zxid), ("last_session", changes.last_session)),
            )


def _deleted(rows: dict[str, Node | None] | dict[int, StoredSession | None]) -> list[tuple[object]]:
    return [(key,) for key, value in rows.items() if value is None]
