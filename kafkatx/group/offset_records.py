"""Committed offsets as records of ``__consumer_offsets``, byte for byte Apache Kafka's.

Key, versions 0 and 1 (``OffsetCommitKey``): version i16, group string, topic string, partition i32.
Value, versions 0-4 (``OffsetCommitValue``)::

    version           i16
    offset            i64
    leader_epoch      i32     since 3
    metadata          string  compact since 4
    commit_timestamp  i64     ms
    expire_timestamp  i64     in 1 only: ms, when the offset is to go
    tagged fields             since 4; 4.1 has the topic's id there, which is passed over

Written are, as Apache Kafka 3.9 does, key 1 and value 3; and value 1, which cannot carry a leader epoch,
where the client asked for a retention time of its own.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple, TypeAlias, cast

from kafkatx.errors import KafkaTXError, ProtocolViolation
from kafkatx.group.actions import Record
from kafkatx.types import NO_LEADER_EPOCH, NO_TIMESTAMP
from kafkatx.wire import codec
from kafkatx.wire.schema import INT32, INT64, STRING, Message, field

KEY_VERSIONS = (0, 1)
"""The key versions of committed offsets; other numbers are other records."""

WRITTEN_KEY = 1
WITH_EXPIRY, WITHOUT_EXPIRY = 1, 3
"""Which version of the value is written, with an expire timestamp and without."""

OffsetKey: TypeAlias = tuple[str, str, int]
"""Group, topic, partition."""


class UnreadableOffset(KafkaTXError):
    """A record of ``__consumer_offsets`` is damaged, or of a version that is yet to come."""


class Committed(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    """Of the last record consumed; -1: the client does not know."""
    metadata: str = ""
    commit_timestamp_ms: int = NO_TIMESTAMP
    expire_timestamp_ms: int = NO_TIMESTAMP
    """When it is to go; -1: as ``offsets.retention.minutes`` says."""


class OffsetCommitKey(Message, key=0, versions=(0, 1), flexible=1 << 15):
    """Whose offset it is. The class's API key means nothing: the schema is used for its codec."""

    group: str = field(STRING)
    topic: str = field(STRING)
    partition: int = field(INT32)


class OffsetCommitValue(Message, key=0, versions=(0, 4), flexible=4):
    """The offset."""

    offset: int = field(INT64)
    leader_epoch: int = field(INT32, since=3, default=NO_LEADER_EPOCH)
    metadata: str = field(STRING)
    commit_timestamp: int = field(INT64)
    expire_timestamp: int = field(INT64, since=1, until=1, default=NO_TIMESTAMP)


_VERSION = struct.Struct(">h")
_KEY_START = struct.Struct(">hh")
_SIZE = struct.Struct(">h")
_PARTITION = struct.Struct(">i")
_VALUE_START = struct.Struct(">hqih")
_TIMESTAMP = struct.Struct(">q")


@lru_cache(2048)
def _key_start(group: str, topic: str) -> bytes:
    group_id, name = group.encode(), topic.encode()
    return b"".join(
        (_KEY_START.pack(WRITTEN_KEY, len(group_id)), group_id, _SIZE.pack(len(name)), name),
    )


def encode_key(group: str, topic: str, partition: int) -> bytes:
    """The key, by hand: commits are many, and a group commits the same partitions again and again."""
    return _key_start(group, topic) + _PARTITION.pack(partition)


def encode_value(committed: Committed) -> bytes:
    """The value; by hand as the key is, but for the rare one with an expire timestamp."""
    offset, leader_epoch, metadata, commit_ms, expire_ms = committed
    if expire_ms != NO_TIMESTAMP:
        value = OffsetCommitValue(offset, NO_LEADER_EPOCH, metadata, commit_ms, expire_ms)
        return _VERSION.pack(WITH_EXPIRY) + codec.encode(value, WITH_EXPIRY)
    text = metadata.encode()
    return (
        _VALUE_START.pack(WITHOUT_EXPIRY, offset, leader_epoch, len(text)) + text + _TIMESTAMP.pack(commit_ms)
    )


def tombstone(group: str, topic: str, partition: int) -> Record:
    """The record that takes an offset away."""
    return Record(encode_key(group, topic, partition), None)


def key_version(key: bytes) -> int:
    """Which kind of record a key of ``__consumer_offsets`` begins; -1 where it is too short to tell."""
    return cast(int, _VERSION.unpack_from(key)[0]) if len(key) >= _VERSION.size else -1


def decode_key(key: bytes) -> OffsetKey:
    """Read a key of one of ``KEY_VERSIONS``.

    :raises UnreadableOffset: it is damaged.
    """
    try:
        read = codec.decode(OffsetCommitKey, key_version(key), key[_VERSION.size :])
    except (ProtocolViolation, ValueError) as error:
        raise UnreadableOffset(f"the key of a committed offset cannot be read: {error}") from None
    return read.group, read.topic, read.partition


def decode_value(value: bytes) -> Committed:
    """Read a value.

    :raises UnreadableOffset: it is damaged, or of an unknown version.
    """
    try:
        read = codec.decode(OffsetCommitValue, key_version(value), value[_VERSION.size :])
    except (ProtocolViolation, ValueError) as error:
        raise UnreadableOffset(f"a committed offset cannot be read: {error}") from None
    return Committed(
        read.offset, read.leader_epoch, read.metadata, read.commit_timestamp, read.expire_timestamp
    )
