"""Nodes below ``/kafkatx`` that a broker keeps about itself: incarnation, log dirs, offline replicas. Pure.

- ``/kafkatx/incarnations/1``: ``{"version":1,"host":"h","clean":true,"stopping":false}``, set when the broker
  registers and when it begins to stop; the node's version tells one life of a broker from the next.
  ``"lost_epoch":17`` is there if the broker has registered without ``clean`` before.
- ``/kafkatx/log_dirs/1``: ``{"version":1,"log_dirs":{"<directory id>":"/data/kafka"}}``.
- ``/kafkatx/log_dirs/1/<topic id>``: ``{"version":1,"partitions":{"0":"<directory id>"},"deleted":false}``:
  the log dir of each partition that the broker has a log of, as ``types.LogDirRecord`` explains.
- ``/kafkatx/offline/1``, ephemeral: ``{"version":1,"partitions":{"T":[0,3]}}``: the replicas of a live broker
  whose log dirs have failed.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping

import attrs

from kafkatx.metadata.layout.fields import INT64_MAX, UnreadableNode, encode, natural, parse, quoted
from kafkatx.types import LogDirRecord, TopicPartition

VERSION = 1


@attrs.frozen
class Incarnation:
    """One life of a broker.

    :ivar host: where it runs, for messages.
    :ivar clean: False if its machine may have lost data that it had acknowledged.
    :ivar stopping: it is about to stop; its partitions should move.
    :ivar lost_epoch: broker epoch of the last registration with ``clean`` false before this one, or of this
        one if the broker is stopping; -1 if there is none.
    """

    host: str
    clean: bool = True
    stopping: bool = False
    lost_epoch: int = -1

    def stops(self, epoch: int) -> Incarnation:
        """Return the content for the rest of this life, in which the broker is stopping.

        :param epoch: broker epoch of this life.
        """
        lost_epoch = self.lost_epoch if self.clean else epoch
        return attrs.evolve(self, stopping=True, lost_epoch=lost_epoch)

    def following(self, host: str, clean: bool, mzxid: int) -> Incarnation:
        """Return the content for the next life of the broker.

        :param mzxid: that of this node: the broker epoch of this life, unless the broker was stopping.
        """
        lost_epoch = self.lost_epoch if self.clean or self.stopping else mzxid
        return Incarnation(host, clean, lost_epoch=lost_epoch)

    def encode(self) -> bytes:
        """Return the content of the node."""
        members = {"version": VERSION, "host": self.host, "clean": self.clean, "stopping": self.stopping}
        if self.lost_epoch >= 0:
            members["lost_epoch"] = self.lost_epoch
        return encode(members)


def decode_incarnation(path: str, data: bytes) -> Incarnation:
    """Read the content of an incarnation.

    :raises UnreadableNode: it is not one of version 1.
    """
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    lost_epoch = fields.integer("lost_epoch", highest=INT64_MAX, default=-1)
    return Incarnation(fields.text("host"), fields.flag("clean"), fields.flag("stopping"), lost_epoch)


def encode_log_dirs(log_dirs: Mapping[str, str]) -> bytes:
    """Return the content of the record of a broker's log dirs: their paths by ``directory.id``."""
    return encode({"version": VERSION, "log_dirs": dict(log_dirs)})


def decode_log_dirs(path: str, data: bytes) -> dict[str, str]:
    """Read the content of the record of a broker's log dirs.

    :raises UnreadableNode: it is not one of version 1.
    """
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    return fields.text_map("log_dirs")


@attrs.frozen
class PlacedTopic:
    """The log dirs of one topic's partitions on one broker.

    :ivar partitions: ``directory.id`` by number of partition.
    :ivar deleted: the topic is deleted, and directories of it may still exist.
    """

    partitions: Mapping[int, str]
    deleted: bool = False

    def encode(self) -> bytes:
        """Return the content of the node."""
        partitions = {str(number): directory for number, directory in self.partitions.items()}
        return encode({"version": VERSION, "partitions": partitions, "deleted": self.deleted})


def decode_placed_topic(path: str, data: bytes) -> PlacedTopic:
    """Read the content of the record of one topic's log dirs.

    :raises UnreadableNode: it is not one of version 1.
    """
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    partitions = {}
    for name, directory in fields.text_map("partitions").items():
        number = natural(name)
        if number is None:
            raise UnreadableNode(path, f'"partitions":{{{quoted(name)}:...}}', "numbers of partitions")
        partitions[number] = directory
    return PlacedTopic(partitions, fields.flag("deleted"))


def encode_offline(replicas: Collection[TopicPartition]) -> bytes:
    """Return the content of the list of a broker's offline replicas."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(replicas):
        topics.setdefault(topic, []).append(partition)
    return encode({"version": VERSION, "partitions": topics})


def decode_offline(path: str, data: bytes) -> frozenset[TopicPartition]:
    """Read the content of the list of a broker's offline replicas.

    :raises UnreadableNode: it is not one of version 1.
    """
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    found = fields.object("partitions")
    return frozenset(TopicPartition(topic, number) for topic in found for number in found.integers(topic))


def log_dir_record(log_dirs: Mapping[str, str], topics: Mapping[uuid.UUID, PlacedTopic]) -> LogDirRecord:
    """Return the record of a broker's log dirs from its nodes."""
    return LogDirRecord(
        log_dirs,
        {topic_id: placed.partitions for topic_id, placed in topics.items() if not placed.deleted},
        frozenset(topic_id for topic_id, placed in topics.items() if placed.deleted),
    )
