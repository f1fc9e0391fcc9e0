"""Committed offsets as records of ``__consumer_offsets``, in Apache Kafka's format. Pure.

Key, versions 0 and 1 (``OffsetCommitKey``): version i16, group string, topic string, partition i32.
Value, versions 0-4 (``OffsetCommitValue``)::

    version           i16
    offset            i64
    leader_epoch      i32     since 3
    metadata          string  compact since 4
    commit_timestamp  i64     ms
    expire_timestamp  i64     in 1 only: ms
    tagged fields             since 4; 4.1 has the topic's id there, which is skipped

As in Apache Kafka 3.9, keys are written in version 1 and values in version 3; or in version 1, which has no
leader epoch, if the client sent its own retention time.
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
"""The key versions of committed offsets; other versions are keys of other records."""

WRITTEN_KEY = 1
WITH_EXPIRY, WITHOUT_EXPIRY = 1, 3
"""Versions of written values, with an expire timestamp and without."""

OffsetKey: TypeAlias = tuple[str, str, int]
"""(group, topic, partition)."""


class UnreadableOffset(KafkaTXError):
    """A record of ``__consumer_offsets`` is damaged, or its version is unknown."""


class Committed(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    """Leader epoch of the last consumed record; -1 if the client did not send it."""
    metadata: str = ""
    commit_timestamp_ms: int = NO_TIMESTAMP
    expire_timestamp_ms: int = NO_TIMESTAMP
    """Time of expiry; -1: ``offsets.retention.minutes`` applies."""


class OffsetCommitKey(Message, key=0, versions=(0, 1), flexible=1 << 15):
    """The key of an offset. The class's API key is not used; only its codec is."""

    group: str = field(STRING)
    topic: str = field(STRING)
    partition: int = field(INT32)


class OffsetCommitValue(Message, key=0, versions=(0, 4), flexible=4):
    """The value of an offset."""

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
    """Return the key. Hand-written for speed: commits are frequent, and repeat the same groups and topics."""
    return _key_start(group, topic) + _PARTITION.pack(partition)


def encode_value(committed: Committed) -> bytes:
    """Return the value. Hand-written for speed, except for the rare one with an expire timestamp."""
    offset, leader_epoch, metadata, commit_ms, expire_ms = committed
    if expire_ms != NO_TIMESTAMP:
        value = OffsetCommitValue(offset, NO_LEADER_EPOCH, metadata, commit_ms, expire_ms)
        return _VERSION.pack(WITH_EXPIRY) + codec.encode(value, WITH_EXPIRY)
    text = metadata.encode()
    return (
        _VALUE_START.pack(WITHOUT_EXPIRY, offset, leader_epoch, len(text)) + text + _TIMESTAMP.pack(commit_ms)
    )


def tombstone(group: str, topic: str, partition: int) -> Record:
    """Return the record that removes an offset."""
    return Record(encode_key(group, topic, partition), None)


def key_version(key: bytes) -> int:
    """Return the version of a key, which is the kind of its record; -1 if the key is too short."""
    return cast(int, _VERSION.unpack_from(key)[0]) if len(key) >= _VERSION.size else -1


def decode_key(key: bytes) -> OffsetKey:
    """Decode a key of one of ``KEY_VERSIONS``.

    :raises UnreadableOffset: the key is damaged.
    """
    try:
        read = codec.decode(OffsetCommitKey, key_version(key), key[_VERSION.size :])
    except (ProtocolViolation, ValueError) as error:
        raise UnreadableOffset(f"the key of a committed offset cannot be read: {error}") from None
    return read.group, read.topic, read.partition


def decode_value(value: bytes) -> Committed:
    """Decode a value.

    :raises UnreadableOffset: the value is damaged, or its version is unknown.
    """
    try:
        read = codec.decode(OffsetCommitValue, key_version(value), value[_VERSION.size :])
    except (ProtocolViolation, ValueError) as error:
        raise UnreadableOffset(f"a committed offset cannot be read: {error}") from None
    return Committed(
        read.offset, read.leader_epoch, read.metadata, read.commit_timestamp, read.expire_timestamp
    )
