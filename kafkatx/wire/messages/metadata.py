"""Metadata (key 3), versions 0-13: the brokers, and the topics with their partitions and leaders.

*   0: an empty list of topics requests all topics; from 1 on null does, and an empty list requests none.
*   1 adds racks, the controller and internal topics; 2 the cluster id; 3 the throttle time.
*   4 lets the client forbid the creation of topics; 5 adds offline replicas; 7 the leader epoch.
*   8 adds authorized operations; 11 removes the cluster's.
*   9 is flexible; 10 adds topic ids, 12 allows requests by topic id alone (name null).
*   13 has an error of the whole response (KIP-1102).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from kafkatx.wire.schema import (
    BOOLEAN,
    INT16,
    INT32,
    NULL_UUID,
    STRING,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)

NO_OPERATIONS = -(2**31)
"""The value of authorized operations that were not requested."""


class MetadataRequestTopic(Struct):
    """A requested topic, by its id if it has one, else by name."""

    topic_id: uuid.UUID = field(UUID, since=10, default=NULL_UUID)
    name: str | None = field(nullable(STRING), nullable_since=10)

    @property
    def is_by_id(self) -> bool:
        """True if it is requested by its id. The Java client sends an empty name then, others send null."""
        return self.topic_id != NULL_UUID or self.name is None

    def name_by(self, names: Mapping[uuid.UUID, str]) -> str | None:
        """Return the name of the topic, given those of all ids; None if no topic has the id."""
        return names.get(self.topic_id) if self.is_by_id else self.name


class MetadataRequest(Message, key=3, versions=(0, 13), flexible=9):
    """Ask for brokers and topics."""

    topics: list[MetadataRequestTopic] | None = field(nullable(array(MetadataRequestTopic)), nullable_since=1)
    allow_auto_topic_creation: bool = field(BOOLEAN, since=4, default=True)
    include_cluster_authorized_operations: bool = field(BOOLEAN, since=8, until=10)
    include_topic_authorized_operations: bool = field(BOOLEAN, since=8)


class MetadataResponseBroker(Struct):
    """A live broker and the address that it advertises."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(nullable(STRING), since=1)


class MetadataResponsePartition(Struct):
    """A partition, its leader (-1: none) and its replicas."""

    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, since=7, default=-1)
    replica_nodes: list[int] = field(array(INT32))
    isr_nodes: list[int] = field(array(INT32))
    offline_replicas: list[int] = field(array(INT32), since=5)


class MetadataResponseTopic(Struct):
    """A topic, or its error."""

    error_code: int = field(INT16)
    name: str | None = field(nullable(STRING), nullable_since=12)
    topic_id: uuid.UUID = field(UUID, since=10, default=NULL_UUID)
    is_internal: bool = field(BOOLEAN, since=1)
    partitions: list[MetadataResponsePartition] = field(array(MetadataResponsePartition))
    topic_authorized_operations: int = field(INT32, since=8, default=NO_OPERATIONS)


class MetadataResponse(Message, key=3, versions=(0, 13), flexible=9):
    """The brokers and topics."""

    throttle_time_ms: int = field(INT32, since=3)
    brokers: list[MetadataResponseBroker] = field(array(MetadataResponseBroker))
    cluster_id: str | None = field(nullable(STRING), since=2)
    controller_id: int = field(INT32, since=1, default=-1)
    topics: list[MetadataResponseTopic] = field(array(MetadataResponseTopic))
    cluster_authorized_operations: int = field(INT32, since=8, until=10, default=NO_OPERATIONS)
    error_code: int = field(INT16, since=13)
