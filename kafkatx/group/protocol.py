"""The embedded consumer protocol: subscriptions and assignments of classic consumers. Pure.

These are the metadata in JoinGroup and the assignment in SyncGroup for the protocol type ``consumer``: an
int16 with the version, then the fields of Apache Kafka's ``ConsumerProtocolSubscription.json`` or
``ConsumerProtocolAssignment.json``. Version 1 adds owned partitions (KIP-429), 2 the generation, 3 the rack.
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
    """The topics that a consumer subscribes to, and its current partitions."""

    topics: list[str] = field(array(STRING))
    user_data: bytes | None = field(nullable(BYTES))
    owned_partitions: list[TopicPartitions] = field(array(TopicPartitions), since=1)
    generation_id: int = field(INT32, since=2, default=-1)
    rack_id: str | None = field(nullable(STRING), since=3)


class ConsumerProtocolAssignment(Message, key=NOT_AN_API, versions=(0, NEWEST), flexible=NEVER_FLEXIBLE):
    """The partitions assigned to a consumer."""

    assigned_partitions: list[TopicPartitions] = field(array(TopicPartitions))
    user_data: bytes | None = field(nullable(BYTES))


def version_of(data: bytes) -> int:
    """Return the version of a subscription or assignment, or the newest known version if it is newer.

    :raises ProtocolViolation: the bytes do not begin with a version.
    """
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    if len(data) < _VERSION_BYTES or version < 0:
        raise ProtocolViolation("not a message of the consumer protocol: it does not begin with a version")
    return min(version, NEWEST)


def parse_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Decode a subscription; additional bytes of newer versions are ignored.

    :raises ProtocolViolation: it is malformed.
    """
    return _parse(ConsumerProtocolSubscription, data)


def parse_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Decode an assignment; as :func:`parse_subscription`."""
    return _parse(ConsumerProtocolAssignment, data)


def _parse(cls: type[M], data: bytes) -> M:
    message, _end = codec.decoder(cls, version_of(data))(data, _VERSION_BYTES)
    return message


def encode_subscription(subscription: ConsumerProtocolSubscription, version: int) -> bytes:
    """Return the bytes of a subscription, beginning with its version."""
    return version.to_bytes(_VERSION_BYTES, "big") + codec.encode(subscription, version)


def encode_assignment(partitions: Iterable[tuple[str, Iterable[int]]], version: int) -> bytes:
    """Return the bytes of an assignment, beginning with its version.

    :param partitions: pairs of a topic and its partitions.
    """
    assigned = [TopicPartitions(topic, sorted(numbers)) for topic, numbers in sorted(partitions)]
    return version.to_bytes(_VERSION_BYTES, "big") + codec.encode(
        ConsumerProtocolAssignment(assigned_partitions=assigned), version
    )
