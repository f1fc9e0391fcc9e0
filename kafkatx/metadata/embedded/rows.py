"""Rows of the embedded metadata store's database: reads and writes that several of its changes share."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kafkatx.acls import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    Acls,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import PartitionState


def check_topic(db: sqlite3.Connection, name: str) -> None:
    """Check that a topic exists.

    :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION.
    """
    if not db.execute("SELECT 1 FROM topics WHERE name = ?", (name,)).fetchone():
        raise unknown(name)


def unknown(name: str) -> RequestError:
    """Return the error for an unknown topic."""
    return RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name!r}.")


def insert_partitions(
    db: sqlite3.Connection, topic: str, partitions: Iterable[PartitionState], first: int
) -> None:
    """Add partitions to a topic.

    :param first: the number of the first of them.
    """
    db.executemany(
        "INSERT INTO partitions VALUES (?, ?, ?, ?, ?, ?, NULL)",
        (
            (topic, number, state.leader, state.leader_epoch, text(state.replicas), text(state.isr))
            for number, state in enumerate(partitions, first)
        ),
    )


def replace_log_dirs(db: sqlite3.Connection, log_dirs: Mapping[str, str]) -> None:
    """Replace the log dirs by these, and keep those that hold partitions."""
    used = {row[0] for row in db.execute("SELECT DISTINCT directory_id FROM partitions")}
    known = dict(db.execute("SELECT directory_id, path FROM log_dirs"))
    wanted = {one: path for one, path in known.items() if one in used} | dict(log_dirs)
    for directory_id in known.keys() - wanted.keys():
        db.execute("DELETE FROM log_dirs WHERE directory_id = ?", (directory_id,))
    for directory_id, path in wanted.items() - known.items():
        db.execute("DELETE FROM log_dirs WHERE directory_id = ?", (directory_id,))
        db.execute("INSERT INTO log_dirs VALUES (?, ?)", (directory_id, path))


def read_acls(db: sqlite3.Connection) -> Acls:
    """Return all ACLs.

    :raises ValueError: one has a number that this version does not know.
    """
    found: dict[ResourcePattern, set[AccessControlEntry]] = {}
    for resource_type, pattern_type, name, principal, host, operation, permission in db.execute(
        "SELECT resource_type, pattern_type, name, principal, host, operation, permission FROM acls"
    ):
        pattern = ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type))
        entry = AccessControlEntry(principal, host, AclOperation(operation), AclPermission(permission))
        found.setdefault(pattern, set()).add(entry)
    return MappingProxyType({pattern: frozenset(entries) for pattern, entries in found.items()})


def write_acls(db: sqlite3.Connection, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
    """Insert ACLs, which may be there, and delete others, which need not be there."""
    db.executemany("INSERT OR IGNORE INTO acls VALUES (?, ?, ?, ?, ?, ?, ?)", map(_acl_row, added))
    db.executemany(
        "DELETE FROM acls WHERE (resource_type, pattern_type, name, principal, host, operation, permission)"
        " = (?, ?, ?, ?, ?, ?, ?)",
        map(_acl_row, removed),
    )


def _acl_row(binding: AclBinding) -> tuple[int, int, str, str, str, int, int]:
    pattern, entry = binding
    return (
        *(int(pattern.resource_type), int(pattern.pattern_type), pattern.name),
        *(entry.principal, entry.host, int(entry.operation), int(entry.permission)),
    )


def ids(text: str) -> tuple[int, ...]:
    """Parse comma-separated numbers."""
    return tuple(map(int, text.split(","))) if text else ()


def text(ids: Iterable[int]) -> str:
    """Format numbers, separated by commas."""
    return ",".join(map(str, ids))
