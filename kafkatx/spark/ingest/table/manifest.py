"""The manifest of a commit: one JSON object that lists its files and the offsets that they hold. Pure.

::

    {"version": 2, "previous": "9f86...", "commit": 7, "written_ms": 1431975600000, "format": "parquet",
     "partition_by": ["date"], "decode": null, "schema": [{"name": "value", "type": "binary"}],
     "offsets": {"t": {"0": {"from": 400, "to": 500}}},    what this commit holds; "to" is exclusive
     "next": {"t": {"0": 500, "1": 80}},                   where the next one goes on
     "topic_ids": {"t": "5cdab6e2-..."},                   so that a topic that was made anew is noticed
     "files": [{"path": "date=2015-05-19/part-000000000007-00000.parquet",
                "staged": "_kafkatx/staging/7-.../date=2015-05-19/...", "kind": "data", "rows": 100,
                "bytes": 2048, "values": {"date": "2015-05-19"}}],
     "rows": 100, "dead": 0,
     "audit": {"window_ms": 60000, "announced": 6, "ranges": [["t", 0, 400, 500, [[1431975600000, 100]]]]},
     "checksum": "60303ae2..."}

``previous`` is the SHA-256 of the file with the commit before this one, empty in the first. ``checksum`` is
the SHA-256 of all bytes before ``, "checksum"``. Version 1 had neither.

``audit`` is there only where the ingestion is audited: the counts of its records by window, and the number of
the last commit whose counts were announced when this one was made.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs

from kafkatx.spark.ingest.errors import RESTORE, TableDamaged
from kafkatx.spark.ingest.table.columns import Column
from kafkatx.types import TopicPartition

VERSION, UNSEALED_VERSION = 2, 1
"""The version that is written, and the one before it, whose manifests have no checksum."""
DATA, DEAD = "data", "dead"

_SEAL = re.compile(rb', "checksum": "([0-9a-f]{64})"\}\n')
_SEAL_BYTES = len(', "checksum": ""}\n') + 64


@attrs.frozen
class StagedFile:
    """A file that a task completed: where it is staged, below the directory, and what it holds.

    :ivar values: of the columns that the table is partitioned by; null where a column is.
    """

    staged: str
    kind: str
    rows: int
    bytes: int
    values: Mapping[str, str | None] = MappingProxyType({})


@attrs.frozen
class TableFile(StagedFile):
    """A file of the table; ``path`` is where it comes to be."""

    path: str = attrs.field(default="", kw_only=True)


@attrs.frozen
class CommitCounts:
    """The counts of a commit for the audit.

    :ivar announced: the last commit that was announced when this one was made; 0: none.
    :ivar ranges: topic, partition, start and end (exclusive) of offsets, and pairs of window and count.
    """

    window_ms: int
    announced: int
    ranges: tuple[tuple[str, int, int, int, tuple[tuple[int, int], ...]], ...]


@attrs.frozen
class Manifest:
    """One commit; ``offsets`` are (from, to), ``to`` and ``next`` exclusive.

    :ivar previous: the digest of the commit before this one; empty where there is none, None in version 1.
    :ivar digest: of the file that it was read from.
    :ivar counts: for the audit; None if it is not audited.
    """

    commit: int
    written_ms: int
    format: str
    partition_by: tuple[str, ...]
    decode: str | None
    schema: tuple[Column, ...]
    offsets: Mapping[TopicPartition, tuple[int, int]]
    next: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str]
    files: tuple[TableFile, ...]
    previous: str | None = None
    digest: str = attrs.field(default="", eq=False)
    counts: CommitCounts | None = None

    @property
    def rows(self) -> int:
        """Rows in the table's own files."""
        return sum(file.rows for file in self.files if file.kind == DATA)

    @property
    def dead(self) -> int:
        """Rows among the dead letters."""
        return sum(file.rows for file in self.files if file.kind == DEAD)

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)

    def to_json(self) -> bytes:
        """Return the stored form, with its checksum."""
        document = {
            "version": VERSION,
            "previous": self.previous or "",
            "commit": self.commit,
            "written_ms": self.written_ms,
            "format": self.format,
            "partition_by": self.partition_by,
            "decode": self.decode,
            "schema": [column._asdict() for column in self.schema],
            "offsets": _nested({at: {"from": start, "to": end} for at, (start, end) in self.offsets.items()}),
            "next": _nested(self.next),
            "topic_ids": dict(self.topic_ids),
            "files": [{**attrs.asdict(file), "values": dict(file.values)} for file in self.files],
            "rows": self.rows,
            "dead": self.dead,
        }
        if self.counts is not None:
            document["audit"] = attrs.asdict(self.counts)
        body = json.dumps(document).encode()[:-1]
        return body + b', "checksum": "%s"}\n' % digest_of(body).encode()


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _nested(by_partition: Mapping[TopicPartition, Any]) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for at in sorted(by_partition):
        nested.setdefault(at.topic, {})[str(at.partition)] = by_partition[at]
    return nested


def parse_manifest(data: bytes, name: str) -> Manifest:
    """Read a manifest and check its checksum.

    :param name: what the error calls it.
    :raises TableDamaged: it is not as it was written, or of a later version.
    """
    sealed = _check_seal(data, name)
    try:
        document = json.loads(data)
        version = document["version"]
        if version not in (VERSION, UNSEALED_VERSION):
            raise TableDamaged(f"{name} is of version {version}; this kafkatx reads up to version {VERSION}")
        if sealed is not (version == VERSION):
            raise _damaged(name, f"version {version} {'with' if sealed else 'without'} a checksum")
        return attrs.evolve(_manifest(document), digest=digest_of(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TableDamaged(f"{name} is no manifest of an ingestion: {error!r}. {RESTORE}") from error


def _check_seal(data: bytes, name: str) -> bool:
    """Check the manifest's checksum; return True if it has one.

    :raises TableDamaged: the checksum is wrong.
    """
    seal = _SEAL.fullmatch(data[-_SEAL_BYTES:])
    if seal is None:
        return False
    if seal[1].decode() != digest_of(data[:-_SEAL_BYTES]):
        raise _damaged(name, "its checksum does not match its content")
    return True


def _damaged(name: str, why: str) -> TableDamaged:
    return TableDamaged(f"{name} is damaged: {why}. {RESTORE}")


def _manifest(document: Mapping[str, Any]) -> Manifest:
    return Manifest(
        commit=int(document["commit"]),
        written_ms=int(document["written_ms"]),
        format=str(document["format"]),
        partition_by=tuple(document["partition_by"]),
        decode=document["decode"],
        schema=tuple(Column(column["name"], column["type"]) for column in document["schema"]),
        offsets={at: (int(ends["from"]), int(ends["to"])) for at, ends in _flat(document["offsets"]).items()},
        next={at: int(offset) for at, offset in _flat(document["next"]).items()},
        topic_ids=dict(document.get("topic_ids", {})),
        files=tuple(TableFile(**file) for file in document["files"]),
        previous=document.get("previous"),
        counts=_counts(document.get("audit")),
    )


def _counts(fields: Mapping[str, Any] | None) -> CommitCounts | None:
    if fields is None:
        return None
    ranges = tuple(
        (str(topic), int(partition), int(start), int(end), tuple((int(at), int(n)) for at, n in windows))
        for topic, partition, start, end, windows in fields["ranges"]
    )
    return CommitCounts(int(fields["window_ms"]), int(fields["announced"]), ranges)


def _flat(nested: Mapping[str, Mapping[str, Any]]) -> dict[TopicPartition, Any]:
    return {
        TopicPartition(topic, int(partition)): value
        for topic, partitions in nested.items()
        for partition, value in partitions.items()
    }
