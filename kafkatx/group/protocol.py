"""What consumers of the classic protocol tell each other through the broker: subscriptions and assignments.

The bytes of JoinGroup's metadata and SyncGroup's assignment, for the protocol type ``consumer``. The form is
that of Apache Kafka's ``ConsumerProtocolSubscription.json`` and ``ConsumerProtocolAssignment.json``, behind
an int16 with the version. 1 adds the partitions that are owned (KIP-429), 2 the generation, 3 the rack.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kafkatx.errors import ProtocolViolation
from kafkatx.wire import codec
from kafkatx.wire.schema import (
    BYTES,
    INT32,
    NEVER_FLEXIBLE,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)

PROTOCOL_TYPE = "consumer"
NOT_AN_API = -1
NEWEST = 3
_VERSION_BYTES = 2

M = TypeVar("M", bound=Message)


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class ConsumerProtocolSubscription(Message, key=NOT_AN_API, versions=(0, NEWEST), flexible=NEVER_FLEXIBLE):
    """What a consumer wants, and what it has."""

    topics: list[str] = field(array(STRING))
    user_data: bytes | None = field(nullable(BYTES))
    owned_partitions: list[TopicPartitions] = field(array(TopicPartitions), since=1)
    generation_id: int = field(INT32, since=2, default=-1)
    rack_id: str | None = field(nullable(STRING), since=3)


class ConsumerProtocolAssignment(Message, key=NOT_AN_API, versions=(0, NEWEST), flexible=NEVER_FLEXIBLE):
    """What a consumer is given."""

    assigned_partitions: list[TopicPartitions] = field(array(TopicPartitions))
    user_data: bytes | None = field(nullable(BYTES))


def version_of(data: bytes) -> int:
    """The version that subscription or assignment bytes name, or the newest that is known.

    :raises ProtocolViolation: there is none.
    """
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    if len(data) < _VERSION_BYTES or version < 0:
        raise ProtocolViolation("not a message of the consumer protocol: it begins with no version")
    return min(version, NEWEST)


def parse_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Decode a subscription; what a version to come has behind it is not looked at.

    :raises ProtocolViolation: it is malformed.
    """
    return _parse(ConsumerProtocolSubscription, data)


def parse_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Decode an assignment, as :func:`parse_subscription`."""
    return _parse(ConsumerProtocolAssignment, data)


def _parse(cls: type[M], data: bytes) -> M:
    message, _end = codec.decoder(cls, version_of(data))(data, _VERSION_BYTES)
    return message


def encode_subscription(subscription: ConsumerProtocolSubscription, version: int) -> bytes:
    """The bytes of a subscription, its version before it."""
    return version.to_bytes(_VERSION_BYTES, "big") + codec.encode(subscription, version)


def encode_assignment(partitions: Iterable[tuple[str, Iterable[int]]], version: int) -> bytes:
    """The bytes of an assignment, its version before it.

    :param partitions: (topic, its partitions).
    """
    assigned = [TopicPartitions(topic, sorted(numbers)) for topic, numbers in sorted(partitions)]
    return version.to_bytes(_VERSION_BYTES, "big") + codec.encode(
        ConsumerProtocolAssignment(assigned_partitions=assigned), version
    )
