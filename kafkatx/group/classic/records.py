"""The record of a classic group in ``__consumer_offsets``: ``GroupMetadataKey`` and ``GroupMetadataValue``.

A key and a value each begin with their version as an int16. The fields follow, as in the messages
``GroupMetadataKey.json`` and ``GroupMetadataValue.json`` of Apache Kafka. Version 2 of the key is the only
one. The value is written in version 3, as Apache Kafka 3.9 does; versions 0 to 4 are read::

    key    version=2 i16 | group string
    value  version=3 i16 | protocol_type string | generation i32 | protocol nullable string
           | leader nullable string | current_state_timestamp i64 (since 2) | members array of
               member_id string | group_instance_id nullable string (since 3) | client_id string
               | client_host string | rebalance_timeout i32 (since 1) | session_timeout i32
               | subscription bytes | assignment bytes
"""

from __future__ import annotations

import struct

from kafkatx.errors import ProtocolViolation
from kafkatx.group.protocol import NOT_AN_API
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.schema import BYTES, INT32, INT64, STRING, Message, Struct, array, field, nullable

KEY_VERSION = 2
VALUE_VERSION = 3

_VERSION = struct.Struct(">h")


class GroupMetadataKey(Message, key=NOT_AN_API, versions=(2, 2), flexible=3):
    """The key of a group's record."""

    group: str = field(STRING)


class MemberMetadata(Struct):
    """A member; times in ms. ``subscription`` is its metadata for the selected protocol."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(nullable(STRING), since=3)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout: int = field(INT32, since=1, default=-1)
    session_timeout: int = field(INT32)
    subscription: bytes = field(BYTES)
    assignment: bytes = field(BYTES)


class GroupMetadataValue(Message, key=NOT_AN_API, versions=(0, 4), flexible=4):
    """The group when it was stored; for a group without members only the generation matters."""

    protocol_type: str = field(STRING)
    generation: int = field(INT32)
    protocol: str | None = field(nullable(STRING))
    leader: str | None = field(nullable(STRING))
    current_state_timestamp: int = field(INT64, since=2, default=-1)
    members: list[MemberMetadata] = field(array(MemberMetadata))


def encode_key(group_id: str) -> bytes:
    """Return the key of a group's record."""
    return _VERSION.pack(KEY_VERSION) + encode(GroupMetadataKey(group_id), KEY_VERSION)


def decode_key(key: bytes) -> str:
    """Return the group id of a key.

    :raises ProtocolViolation: the key is not that of a group.
    """
    return decode(GroupMetadataKey, _version_of(key, GroupMetadataKey), key[_VERSION.size :]).group


def encode_value(value: GroupMetadataValue, version: int = VALUE_VERSION) -> bytes:
    """Return the bytes of a value."""
    return _VERSION.pack(version) + encode(value, version)


def decode_value(value: bytes) -> GroupMetadataValue:
    """Decode a value of any version.

    :raises ProtocolViolation: the value is malformed, or its version is unknown.
    """
    return decode(GroupMetadataValue, _version_of(value, GroupMetadataValue), value[_VERSION.size :])


def _version_of(data: bytes, cls: type[Message]) -> int:
    version: int = _VERSION.unpack_from(data)[0] if len(data) >= _VERSION.size else -1
    if version not in cls.VERSIONS:
        raise ProtocolViolation(f"{cls.__name__} of unknown version {version}")
    return version
