"""Nodes below ``/kafkatx`` that a broker keeps about itself: its life, log dirs, offline replicas. Pure.

- ``/kafkatx/incarnations/1``: ``{"version":1,"host":"h","clean":true,"stopping":false}``, set when the broker
  registers and when it begins to stop; the node's version tells one life of a broker from the next.
  ``"lost_epoch":17`` is there if the broker has registered without ``clean`` before; ``"stale":true`` if its
  logs did not continue its last life, and ``"stale_epoch":17`` if it has registered so before.
- ``/kafkatx/lives/1``: ``{"version":1,"lives":{"<directory id>":"<life>"},"closed":["<directory id>"]}``, the
  last registered life of each log dir, a random text. A broker writes one into its log dirs, synced, and then
  into this node with its registration; and another one when it has closed its logs. So the two tell if the
  logs are those of the last registration: a directory id can be copied with its directory, but a copy knows
  no life from after the copying. While a life is not closed its logs grow, and a copy has its name: then only
  the very file counts in which the broker wrote it.
- ``/kafkatx/log_dirs/1``: ``{"version":1,"log_dirs":{"<directory id>":"/data/kafka"}}``.
- ``/kafkatx/log_dirs/1/<topic id>``: ``{"version":1,"partitions":{"0":"<directory id>"},"deleted":false}``:
  the log dir of each partition that the broker has a log of, as ``types.LogDirRecord`` explains.
- ``/kafkatx/offline/1``, ephemeral: ``{"version":1,"partitions":{"T":[0,3]}}``: the replicas of a live broker
  whose log dirs have failed.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence

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
    :ivar stale: its logs do not continue those of its last registration; then it is not clean either.
    :ivar stale_epoch: the same as ``lost_epoch`` for registrations with ``stale``.
    """

    host: str
    clean: bool = True
    stopping: bool = False
    lost_epoch: int = -1
    stale: bool = False
    stale_epoch: int = -1

    def stops(self, epoch: int) -> Incarnation:
        """Return the content for the rest of this life, in which the broker is stopping.

        :param epoch: broker epoch of this life.
        """
        lost_epoch = self.lost_epoch if self.clean else epoch
        stale_epoch = epoch if self.stale else self.stale_epoch
        return attrs.evolve(self, stopping=True, lost_epoch=lost_epoch, stale_epoch=stale_epoch)

    def following(self, host: str, clean: bool, mzxid: int, stale: bool = False) -> Incarnation:
        """Return the content for the next life of the broker.

        :param mzxid: that of this node: the broker epoch of this life, unless the broker was stopping.
        """
        lost_epoch = self.lost_epoch if self.clean or self.stopping else mzxid
        stale_epoch = mzxid if self.stale and not self.stopping else self.stale_epoch
        return Incarnation(host, clean, lost_epoch=lost_epoch, stale=stale, stale_epoch=stale_epoch)

    def encode(self) -> bytes:
        """Return the content of the node."""
        members = {"version": VERSION, "host": self.host, "clean": self.clean, "stopping": self.stopping}
        if self.lost_epoch >= 0:
            members["lost_epoch"] = self.lost_epoch
        if self.stale:
            members["stale"] = True
        if self.stale_epoch >= 0:
            members["stale_epoch"] = self.stale_epoch
        return encode(members)


def decode_incarnation(path: str, data: bytes) -> Incarnation:
    """Read the content of an incarnation.

    :raises UnreadableNode: it is not one of version 1.
    """
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    return Incarnation(
        fields.text("host"),
        fields.flag("clean"),
        fields.flag("stopping"),
        fields.integer("lost_epoch", highest=INT64_MAX, default=-1),
        "stale" in fields and fields.flag("stale"),
        fields.integer("stale_epoch", highest=INT64_MAX, default=-1),
    )


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


@attrs.frozen
class PastLives:
    """The last life of each log dir that a broker has registered.

    :ivar lives: the life by ``directory.id``; that of a dir that was offline since is an earlier one.
    :ivar closed: the dirs whose logs were closed at the end of that life.
    """

    lives: Mapping[str, str] = attrs.Factory(dict)
    closed: frozenset[str] = frozenset()

    def following(self, lives: Mapping[str, str], closed: bool) -> PastLives:
        """Return the content with later lives of some dirs."""
        rest = self.closed - lives.keys()
        return PastLives({**self.lives, **lives}, rest.union(lives) if closed else rest)

    def encode(self) -> bytes:
        """Return the content of the node."""
        return encode({"version": VERSION, "lives": dict(self.lives), "closed": sorted(self.closed)})


@attrs.frozen
class LifeRecord:
    """The lives that a log dir has recorded.

    :ivar lives: the last ones, the latest at the end.
    :ivar original: True if this broker wrote the record here; False if it was copied.
    """

    lives: Sequence[str]
    original: bool


def decode_lives(path: str, data: bytes) -> PastLives:
    """Read the content of the node.

    :raises UnreadableNode: it is not one of version 1.
    """
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    return PastLives(fields.text_map("lives"), frozenset(fields.texts("closed")))


def stale_dirs(
    past: PastLives, records: Mapping[str, LifeRecord | None], emptied: Collection[str]
) -> list[str]:
    """Return the ids of the log dirs whose logs do not continue their last registered life.

    A dir without a record counts if it was registered with one and has logs. One that is empty now counts if
    no dir with logs is left: else its replicas are lost one by one, and the others are as good as before.

    :param records: what the dirs have recorded by ``directory.id``; None for a dir without a record.
    :param emptied: the dirs that had logs and have lost all of them.
    """
    known = [each for each in records if each in past.lives]  # others are new, or of an older version
    if past.lives and all(each in emptied for each in known):
        return list(records)  # nothing is left of the last life
    found = []
    for directory_id in known:
        last, record = past.lives[directory_id], records[directory_id]
        if record is None:
            if directory_id not in emptied:
                found.append(directory_id)
        elif last not in record.lives or not (record.original or directory_id in past.closed):
            found.append(directory_id)
    return found
