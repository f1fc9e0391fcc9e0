"""The records of ``__transaction_state``, in Apache Kafka's format. Pure.

Key, version 0 (``TransactionLogKey``): version i16, transactional id string.
Value, versions 0 and 1 (``TransactionLogValue``)::

    version                    i16
    producer_id                i64
    producer_epoch             i16
    transaction_timeout        i32    ms
    transaction_status         i8     see NUMBERS of kafkatx.transactions.states
    transaction_partitions     array of (topic string, partitions array of i32); null without a transaction
    last_update_timestamp      i64    ms
    start_timestamp            i64    ms; -1 if there was no transaction
    tagged fields              since 1
        0  previous_producer_id     i64
        1  next_producer_id         i64
        2  client_transaction_version  i16
        3  next_producer_epoch      i16, of two-phase commits, which are not offered: never written

Version 1 has compact strings and arrays. It is the one that is written; a value of None is the tombstone of a
transactional id that has expired.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from kafkatx.errors import KafkaTXError, ProtocolViolation
from kafkatx.transactions.metadata import TV1, TransactionMetadata
from kafkatx.transactions.states import NUMBERS, State
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from kafkatx.wire import codec
from kafkatx.wire.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)

KEY_VERSION = 0
"""The version of keys; keys of other versions are other records, and are skipped."""

WRITTEN_VALUE = 1

_VERSION = struct.Struct(">h")
_STATES = {number: state for state, number in NUMBERS.items()}
_NEVER_STORED = (State.DEAD, State.PREPARE_EPOCH_FENCE)


class UnreadableTransaction(KafkaTXError):
    """A record of ``__transaction_state`` is damaged, or its version is unknown."""


class Record(NamedTuple):
    """A record: ``value`` None is a tombstone."""

    key: bytes
    value: bytes | None


class TransactionLogKey(Message, key=0, versions=(0, 0), flexible=1 << 15):
    """The key. The class's API key is not used; only its codec is."""

    transactional_id: str = field(STRING)


class PartitionsSchema(Struct):
    """The partitions of one topic."""

    topic: str = field(STRING)
    partition_ids: list[int] = field(array(INT32))


class TransactionLogValue(Message, key=0, versions=(0, 1), flexible=1):
    """The value."""

    producer_id: int = field(INT64)
    previous_producer_id: int = field(INT64, since=1, tag=0, default=NO_PRODUCER_ID)
    next_producer_id: int = field(INT64, since=1, tag=1, default=NO_PRODUCER_ID)
    producer_epoch: int = field(INT16)
    next_producer_epoch: int = field(INT16, since=1, tag=3, default=NO_PRODUCER_EPOCH)
    transaction_timeout_ms: int = field(INT32)
    transaction_status: int = field(INT8)
    transaction_partitions: list[PartitionsSchema] | None = field(nullable(array(PartitionsSchema)))
    transaction_last_update_timestamp_ms: int = field(INT64)
    transaction_start_timestamp_ms: int = field(INT64)
    client_transaction_version: int = field(INT16, since=1, tag=2, default=TV1)


def encode_key(transactional_id: str) -> bytes:
    """Return the key of a transactional id."""
    return _VERSION.pack(KEY_VERSION) + codec.encode(TransactionLogKey(transactional_id), KEY_VERSION)


def encode_value(metadata: TransactionMetadata, version: int = WRITTEN_VALUE) -> bytes:
    """Return the value for a state."""
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        previous_producer_id=metadata.previous_producer_id,
        next_producer_id=metadata.next_producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=NUMBERS[metadata.state],
        transaction_partitions=None
        if metadata.state is State.EMPTY
        else [PartitionsSchema(topic, numbers) for topic, numbers in by_topic(metadata.partitions)],
        transaction_last_update_timestamp_ms=metadata.update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
        client_transaction_version=metadata.client_version,
    )
    return _VERSION.pack(version) + codec.encode(value, version)


def by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    """Return topics in order with their partitions in order."""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return list(topics.items())


def key_version(key: bytes) -> int:
    """Return the version of a key; -1 if the key is too short."""
    return int.from_bytes(key[: _VERSION.size], "big", signed=True) if len(key) >= _VERSION.size else -1


def decode_key(key: bytes) -> str:
    """Return the transactional id of a key of ``KEY_VERSION``.

    :raises UnreadableTransaction: the key is damaged.
    """
    try:
        return codec.decode(TransactionLogKey, key_version(key), key[_VERSION.size :]).transactional_id
    except (ProtocolViolation, ValueError) as error:
        raise UnreadableTransaction(f"the key of a transactional id cannot be read: {error}") from None


def decode_value(value: bytes) -> TransactionMetadata:
    """Return the state of a value.

    :raises UnreadableTransaction: the value is damaged, or its version or state is unknown.
    """
    try:
        read = codec.decode(TransactionLogValue, key_version(value), value[_VERSION.size :])
    except (ProtocolViolation, ValueError) as error:
        raise UnreadableTransaction(f"the state of a transaction cannot be read: {error}") from None
    state = _STATES.get(read.transaction_status)
    if state is None or state in _NEVER_STORED:
        raise UnreadableTransaction(f"{read.transaction_status} is no state of a stored transaction")
    return TransactionMetadata(
        producer_id=read.producer_id,
        timeout_ms=read.transaction_timeout_ms,
        producer_epoch=read.producer_epoch,
        state=state,
        partitions=frozenset(
            TopicPartition(part.topic, number)
            for part in read.transaction_partitions or ()
            for number in part.partition_ids
        ),
        update_ms=read.transaction_last_update_timestamp_ms,
        start_ms=read.transaction_start_timestamp_ms,
        previous_producer_id=read.previous_producer_id,
        next_producer_id=read.next_producer_id,
        client_version=read.client_transaction_version,
    )
