"""The records of a consumer group in ``__consumer_offsets``, as Apache Kafka 4.0 writes them. Pure.

A key is an int16 (the :class:`Kind` of the record) and its fields; a value is an int16 of 0 and its fields,
in the flexible encoding. A record without a value is a tombstone. The schemas are in
:mod:`kafkatx.group.consumer.messages`.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import attrs

from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.group.actions import Record
from kafkatx.group.consumer.assignment.partitions import from_list, to_list
from kafkatx.group.consumer.member import Classic, Current, MemberState, Metadata
from kafkatx.group.consumer.messages import (
    ClassicProtocol,
    ClassicValue,
    CurrentValue,
    EpochValue,
    GroupKey,
    MemberValue,
    NamedKey,
    RegexValue,
    TargetValue,
    TopicMetadata,
    TopicPartitions,
    TopicsValue,
)
from kafkatx.wire import codec
from kafkatx.wire.primitives import read_uvarint, tagged, uvarint
from kafkatx.wire.schema import Message

LONGEST_NAME_BYTES = 2**15 - 1
VALUE_VERSION = 0
CLASSIC_TAG = 0
NULL, PRESENT = b"\0", b"\1"
NO_TAGS = b"\0"
_VERSION_BYTES = 2


class Kind(enum.IntEnum):
    """The kind of a record: the version of its key."""

    GROUP_EPOCH = 3
    TOPICS = 4
    MEMBER = 5
    TARGET_EPOCH = 6
    TARGET = 7
    CURRENT = 8
    REGEX = 16


OF_THE_GROUP = frozenset({Kind.GROUP_EPOCH, Kind.TOPICS, Kind.TARGET_EPOCH})
"""Kinds with one record per group; other kinds have one per member or regular expression."""


class TopicFacts(NamedTuple):
    """The properties of a topic on which an assignment depends."""

    topic_id: uuid.UUID
    partitions: int


@attrs.frozen
class Resolved:
    """The topics that a regular expression matches, and the time when it was resolved (wall clock)."""

    topics: frozenset[str]
    version: int = 0
    timestamp_ms: int = 0


class Change(NamedTuple):
    """A change of a group's state: *name* is a member id, an expression, or empty; the value None removes."""

    kind: Kind
    name: str
    value: Any


def _topics_value(topics: dict[str, TopicFacts]) -> Message:
    listed = [TopicMetadata(facts.topic_id, name, facts.partitions) for name, facts in sorted(topics.items())]
    return TopicsValue(topics=listed)


def _member_value(member: Metadata) -> bytes:
    value = MemberValue(
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        sorted(member.topic_names),
        member.topic_regex,
        member.rebalance_timeout_ms,
        member.server_assignor,
    )
    return codec.encode(value, VALUE_VERSION)[: -len(NO_TAGS)] + _tagged(member.classic)


def _tagged(classic: Classic | None) -> bytes:
    """Return the tagged fields of a member: one field with tag 0, even if it is null.

    Its default in Apache Kafka is not null (``ConsumerGroupMemberMetadataValue``): a member without the field
    would be read as a classic one. In a tagged field a struct follows a 1, and null is a 0.
    """
    content = NULL
    if classic is not None:
        offered = [ClassicProtocol(name, metadata) for name, metadata in classic.protocols]
        content = PRESENT + codec.encode(ClassicValue(classic.session_timeout_ms, offered), VALUE_VERSION)
    return uvarint(1) + tagged(CLASSIC_TAG, [content])


def _current_value(current: Current) -> Message:
    return CurrentValue(
        current.epoch,
        current.previous_epoch,
        current.state,
        to_list(current.assigned, TopicPartitions),
        to_list(current.revoking, TopicPartitions),
    )


def _member_of(data: bytes) -> Metadata:
    value = codec.decode(MemberValue, VALUE_VERSION, data)
    return Metadata(
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        value.rebalance_timeout_ms,
        frozenset(value.subscribed_topic_names),
        value.subscribed_topic_regex,
        value.server_assignor,
        _classic_of(data, len(codec.encode(value, VALUE_VERSION)) - len(NO_TAGS)),
    )


def _classic_of(data: bytes, at: int) -> Classic | None:
    """Decode the tagged fields at *at*."""
    count, at = read_uvarint(data, at)
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        if tag == CLASSIC_TAG and data[at : at + 1] == PRESENT:
            value = codec.decode(ClassicValue, VALUE_VERSION, data[at + 1 : at + size])
            offered = tuple((one.name, bytes(one.metadata)) for one in value.supported_protocols)
            return Classic(value.session_timeout_ms, offered)
        at += size
    return None


def _current_of(value: CurrentValue) -> Current:
    return Current(
        value.member_epoch,
        value.previous_member_epoch,
        MemberState.of(value.state),
        from_list(value.assigned_partitions),
        from_list(value.partitions_pending_revocation),
    )


class _Form(NamedTuple):
    """The codec of a kind: from a value to the bytes after the version, and back."""

    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]


def _form(message: type[Message], write: Callable[[Any], Message], read: Callable[[Any], Any]) -> _Form:
    return _Form(
        lambda value: codec.encode(write(value), VALUE_VERSION),
        lambda data: read(codec.decode(message, VALUE_VERSION, data)),
    )


_FORMS: dict[Kind, _Form] = {
    Kind.GROUP_EPOCH: _form(EpochValue, EpochValue, lambda value: value.epoch),
    Kind.TOPICS: _form(
        TopicsValue,
        _topics_value,
        lambda value: {t.topic_name: TopicFacts(t.topic_id, t.num_partitions) for t in value.topics},
    ),
    Kind.MEMBER: _Form(_member_value, _member_of),
    Kind.TARGET_EPOCH: _form(EpochValue, EpochValue, lambda value: value.epoch),
    Kind.TARGET: _form(
        TargetValue,
        lambda target: TargetValue(topic_partitions=to_list(target, TopicPartitions)),
        lambda value: from_list(value.topic_partitions),
    ),
    Kind.CURRENT: _form(CurrentValue, _current_value, _current_of),
    Kind.REGEX: _form(
        RegexValue,
        lambda found: RegexValue(sorted(found.topics), found.version, found.timestamp_ms),
        lambda value: Resolved(frozenset(value.topics), value.version, value.timestamp),
    ),
}


def check_lengths(*names: str | None) -> None:
    """Check that names fit into the keys of records: compact strings in requests may be longer.

    :raises RequestError: INVALID_REQUEST.
    """
    if any(name is not None and len(name.encode()) > LONGEST_NAME_BYTES for name in names):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"No id may be longer than {LONGEST_NAME_BYTES} bytes.")


def encode(group_id: str, change: Change) -> Record:
    """Return the record of a change.

    :raises ValueError: a name does not fit into a record.
    """
    kind = change.kind
    key: Message = GroupKey(group_id) if kind in OF_THE_GROUP else NamedKey(group_id, change.name)
    value = None if change.value is None else _versioned(_FORMS[kind].write(change.value), VALUE_VERSION)
    return Record(_versioned(codec.encode(key, kind), kind), value)


def _versioned(data: bytes, version: int) -> bytes:
    return version.to_bytes(_VERSION_BYTES, "big") + data


def decode(key_version: int, key: bytes, value: bytes | None) -> tuple[str, Change]:
    """Decode a record; return the group id and the change.

    :raises ProtocolViolation: the record is malformed, or its kind or version is unknown.
    """
    try:
        kind = Kind(key_version)
    except ValueError:
        raise ProtocolViolation(
            f"a group's record with a key of version {key_version} is not known"
        ) from None
    if kind in OF_THE_GROUP:
        return codec.decode(GroupKey, kind, key[_VERSION_BYTES:]).group_id, _change(kind, "", value)
    named = codec.decode(NamedKey, kind, key[_VERSION_BYTES:])
    return named.group_id, _change(kind, named.name, value)


def _change(kind: Kind, name: str, value: bytes | None) -> Change:
    if value is None:
        return Change(kind, name, None)
    version = int.from_bytes(value[:_VERSION_BYTES], "big", signed=True)
    if version != VALUE_VERSION:
        raise ProtocolViolation(f"a group's record of kind {kind.name} and version {version} is not known")
    return Change(kind, name, _FORMS[kind].read(value[_VERSION_BYTES:]))
