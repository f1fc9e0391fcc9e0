"""The nodes by which old tools for Apache Kafka ask the controller for something. Pure.

- ``/admin/reassign_partitions``:
  ``{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[2,3]}]}``
  (``kafka.zk.ReassignPartitionsZNode``; tools before 2.6).
- ``/admin/preferred_replica_election``: ``{"version":1,"partitions":[{"topic":"T","partition":0}]}``
  (``kafka.zk.PreferredReplicaElectionZNode``; tools before 2.4).

The tool creates the node; the controller does what it says and deletes it. While it exists the tool creates
no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkatx.metadata.layout.fields import INT32_MAX, Fields, encode, parse
from kafkatx.metadata.layout.paths import PREFERRED_REPLICA_ELECTION, REASSIGN_PARTITIONS
from kafkatx.types import TopicPartition

VERSION = 1


def encode_reassignments(replicas: Mapping[TopicPartition, tuple[int, ...]]) -> bytes:
    """Return the content of ``/admin/reassign_partitions``."""
    partitions = [
        {"topic": topic, "partition": partition, "replicas": ids}
        for (topic, partition), ids in replicas.items()
    ]
    return encode({"version": VERSION, "partitions": partitions})


def decode_reassignments(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    """Read the new replicas of each partition from ``/admin/reassign_partitions``.

    :raises UnreadableNode: it is not one of version 1.
    """
    return {_partition(each): each.integers("replicas") for each in _partitions(REASSIGN_PARTITIONS, data)}


def encode_elections(partitions: Iterable[TopicPartition]) -> bytes:
    """Return the content of ``/admin/preferred_replica_election``."""
    return encode({"version": VERSION, "partitions": [each._asdict() for each in partitions]})


def decode_elections(data: bytes) -> list[TopicPartition]:
    """Read the partitions from ``/admin/preferred_replica_election``, each once.

    :raises UnreadableNode: it is not one of version 1.
    """
    return list(dict.fromkeys(map(_partition, _partitions(PREFERRED_REPLICA_ELECTION, data))))


def _partitions(path: str, data: bytes) -> list[Fields]:
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    found = []
    for number, item in enumerate(fields.items("partitions")):
        if not isinstance(item, dict):
            raise fields.wrong("partitions", "a list of partitions")
        found.append(Fields(path, item, f"partitions.{number}"))
    return found


def _partition(fields: Fields) -> TopicPartition:
    return TopicPartition(fields.text("topic"), fields.integer("partition", lowest=0, highest=INT32_MAX))
