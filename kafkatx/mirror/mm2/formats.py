"""The records of MirrorMaker 2's internal topics. Pure.

All numbers are big-endian; a text is ``length i16, UTF-8``. As in ``OffsetSync``, ``Checkpoint`` and
``Heartbeat`` of Apache Kafka's ``connect/mirror`` and ``connect/mirror-client``:

*   ``mm2-offset-syncs.X.internal``: key ``topic, partition i32`` (of the source), value ``upstream offset
    i64, downstream offset i64``;
*   ``X.checkpoints.internal``: key ``group, topic, partition i32`` (of the target), value ``version i16 = 0,
    upstream offset i64, downstream offset i64, metadata``;
*   ``X.heartbeats``: key ``source alias, target alias``, value ``version i16 = 0, time i64`` (ms).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kafkatx.errors import CorruptRecords

VERSION = 0
_TEXT = struct.Struct(">h")
_PARTITION = struct.Struct(">i")
_SYNC = struct.Struct(">qq")
_CHECKPOINT = struct.Struct(">hqq")
_HEARTBEAT = struct.Struct(">hq")


def offset_syncs_topic(alias: str) -> str:
    """Return the topic of offset syncs in the target (``offset-syncs.topic.location=target``)."""
    return f"mm2-offset-syncs.{alias}.internal"


def checkpoints_topic(alias: str) -> str:
    """Return the topic of checkpoints, in the target."""
    return f"{alias}.checkpoints.internal"


def heartbeats_topic(alias: str) -> str:
    """Return the topic of the source's heartbeats, in the target."""
    return f"{alias}.heartbeats"


class OffsetSync(NamedTuple):
    """A record's offset in the source (upstream) and that of its copy (downstream)."""

    topic: str
    partition: int
    upstream: int
    downstream: int

    def encode(self) -> tuple[bytes, bytes]:
        """Return key and value."""
        return _text(self.topic) + _PARTITION.pack(self.partition), _SYNC.pack(self.upstream, self.downstream)

    @classmethod
    def decode(cls, key: bytes, value: bytes) -> OffsetSync:
        """Read a record.

        :raises CorruptRecords: it is none.
        """
        topic, at = _read_text(key, 0)
        (partition,) = _unpack(_PARTITION, key, at)
        return cls(topic, partition, *_unpack(_SYNC, value, 0))


class Checkpoint(NamedTuple):
    """The offset that a group has committed in the source, and where it goes on in the target.

    ``topic`` is the target's name.
    """

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int
    metadata: str = ""

    def encode(self) -> tuple[bytes, bytes]:
        """Return key and value."""
        key = _text(self.group) + _text(self.topic) + _PARTITION.pack(self.partition)
        return key, _CHECKPOINT.pack(VERSION, self.upstream, self.downstream) + _text(self.metadata)

    @classmethod
    def decode(cls, key: bytes, value: bytes) -> Checkpoint:
        """Read a record.

        :raises CorruptRecords: it is none.
        """
        group, at = _read_text(key, 0)
        topic, at = _read_text(key, at)
        (partition,) = _unpack(_PARTITION, key, at)
        version, upstream, downstream = _unpack(_CHECKPOINT, value, 0)
        if version != VERSION:
            raise CorruptRecords(f"a checkpoint of version {version}")
        metadata, _ = _read_text(value, _CHECKPOINT.size)
        return cls(group, topic, partition, upstream, downstream, metadata)


class Heartbeat(NamedTuple):
    """A sign that the mirror from one alias to the other is alive."""

    source: str
    target: str
    time_ms: int

    def encode(self) -> tuple[bytes, bytes]:
        """Return key and value."""
        return _text(self.source) + _text(self.target), _HEARTBEAT.pack(VERSION, self.time_ms)

    @classmethod
    def decode(cls, key: bytes, value: bytes) -> Heartbeat:
        """Read a record.

        :raises CorruptRecords: it is none.
        """
        source, at = _read_text(key, 0)
        target, _ = _read_text(key, at)
        version, time_ms = _unpack(_HEARTBEAT, value, 0)
        if version != VERSION:
            raise CorruptRecords(f"a heartbeat of version {version}")
        return cls(source, target, time_ms)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _TEXT.pack(len(encoded)) + encoded


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    (size,) = _unpack(_TEXT, data, at)
    end = at + _TEXT.size + size
    if size < 0 or end > len(data):
        raise CorruptRecords(f"a text of {size} bytes in {len(data)}")
    try:
        return data[at + _TEXT.size : end].decode(), end
    except UnicodeDecodeError as error:
        raise CorruptRecords(f"a text that is not UTF-8: {error}") from None


def _unpack(form: struct.Struct, data: bytes, at: int) -> tuple[int, ...]:
    try:
        return form.unpack_from(data, at)
    except struct.error as error:
        raise CorruptRecords(str(error)) from None
