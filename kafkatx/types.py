"""Values that all layers use: partitions, the cluster's state, open files and slices of files."""

from __future__ import annotations

import enum
import os
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import attrs

from kafkatx.acls import NO_ACLS, Acls
from kafkatx.nodes import BrokerNode as BrokerNode

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_LEADER_EPOCH = -1
NO_LEADER = -1

QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]
"""The entity of a quota (KIP-546): pairs of a type (client-id, ip, user) and a name, ordered by type.

The name None is the default for all without their own quota: ``(("client-id", None), ("user", "ann"))`` is
each client id of ann without its own quota.
"""

ALL_BROKERS = ""
"""Used in place of a broker id: the defaults of all brokers."""

NOWAIT: int = getattr(os, "RWF_NOWAIT", 0) if hasattr(os, "preadv") else 0
"""The flag with which ``preadv`` fails (EAGAIN) instead of waiting for the disk; 0 if there is none."""

PAGE_BYTES = 4096
PROBED_BYTES = 128 * 1024
"""Distance of the samples that test if a part of a file is in the page cache."""

_SAMPLE = [bytearray(1)]  # its content is never read, so threads may share it


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@attrs.frozen
class PartitionState:
    """Leader and replicas of a partition. ``leader_epoch`` never decreases, and an epoch has one leader.

    :ivar leader: a broker id; ``NO_LEADER`` if there is none.
    :ivar leader_epoch: -1 while the partition has no state yet.
    :ivar isr: none while no broker knows which one has all records: an older copy of the state was put back.
    :ivar partition_epoch: increases with each change of the state; -1 while there is none.
    :ivar revision: the position of the last change in the order of all changes, as ``BrokerNode.epoch``.
    :ivar adding: replicas that a reassignment adds; they are among ``replicas`` (KIP-455).
    :ivar removing: replicas that a reassignment removes when the others are in sync.
    :ivar eligible: brokers that have left the in-sync replicas when these were fewer than
        ``min.insync.replicas``: they have all committed records, and may lead (KIP-966). While there are
        some, the high watermark stands still.
    :ivar recovering: the leader was elected although it was not in sync (KIP-704).
    :ivar others: keys of the state's node that kafkatx does not know; they stay when it is written again.
    """

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    partition_epoch: int = 0
    revision: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    eligible: tuple[int, ...] = ()
    recovering: bool = False
    others: Mapping[str, object] = attrs.field(default=MappingProxyType({}), hash=False, repr=False)


class LogEnd(NamedTuple):
    """The end of a replica's log, for the election of the longest log after a restored state."""

    asked: int
    """The leader epoch of the partition's state that the broker knew when it looked."""
    latest: int
    """The latest leader epoch that the log knows; -1 if it knows none."""
    epoch: int
    """The leader epoch of its last record; -1 if it is empty."""
    offset: int


@attrs.frozen
class IsrChange:
    """A change of the in-sync replicas, or of its leader epoch, that the leader of a partition asks for.

    :ivar state: the state that the leader knows; another one by now refuses the change.
    :ivar isr: the new in-sync replicas.
    :ivar epochs: the broker epochs of all members but the leader, in which it has counted their fetches; -1
        for one that stays and has not fetched yet. A member that has registered again, or joins though it is
        stopping, refuses the change.
    :ivar min_insync: ``min.insync.replicas`` of the partition, at most the number of its replicas.
    :ivar leader_epoch: the leader epoch in which the same broker leads from then on; one that is not above
        that of the state changes nothing. A mirror takes records of its source's leader epochs.
    """

    topic_id: uuid.UUID
    topic_partition: TopicPartition
    state: PartitionState
    isr: tuple[int, ...]
    epochs: Mapping[int, int]
    min_insync: int
    leader_epoch: int = -1

    @property
    def next_leader_epoch(self) -> int:
        """The leader epoch after the change."""
        return max(self.leader_epoch, self.state.leader_epoch)


class ElectionKind(enum.Enum):
    """The rule by which an election that a client asks for chooses a leader (KIP-460)."""

    PREFERRED = 0
    """The first replica of the assignment, if it is live and in sync."""
    UNCLEAN = 1
    """Any live replica, for a partition without a leader; records may be lost."""


class Marker(NamedTuple):
    """A transaction's marker: the outcome, and the epoch of the coordinator that decided on it."""

    committed: bool
    coordinator_epoch: int


class ActiveProducer(NamedTuple):
    """The state of one idempotent producer in a partition (KIP-98, KIP-664)."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    """``NO_SEQUENCE`` if none of its batches is known any more."""
    last_timestamp_ms: int
    """Time of its last write, by the broker's clock."""
    coordinator_epoch: int
    txn_start_offset: int


@attrs.frozen
class Topic:
    """A topic in the cluster's state; ``topic_id`` changes when a topic is created again.

    :ivar version: increases with each change of the partitions' number or replicas; 0 in a cluster of one.
    """

    name: str
    topic_id: uuid.UUID
    partitions: tuple[PartitionState, ...]
    configs: Mapping[str, str] = MappingProxyType({})
    internal: bool = False
    version: int = 0


@attrs.frozen
class ClusterState:
    """The state of the cluster as one broker knows it; each change replaces it as a whole.

    :ivar controller_id: -1 if there is no controller.
    """

    cluster_id: str
    controller_id: int
    brokers: Mapping[int, BrokerNode] = MappingProxyType({})
    topics: Mapping[str, Topic] = MappingProxyType({})
    topic_names: Mapping[uuid.UUID, str] = MappingProxyType({})
    broker_configs: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """Dynamic settings by broker id; "" for the defaults of all brokers."""
    group_configs: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """The configs of groups (resource type GROUP) by group id, without groups that have none."""
    client_metrics_configs: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """The subscriptions to metrics of clients (resource type CLIENT_METRICS) by name."""
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = MappingProxyType({})
    """The quotas of each entity by name, without entities that have none."""
    scram_credentials: Mapping[str, Mapping[str, str]] = attrs.field(default=MappingProxyType({}), repr=False)
    """The SCRAM credentials of each user by mechanism, as Kafka's text, without users that have none."""
    acls: Acls = NO_ACLS
    fenced: bool = False
    """True if this broker may act on no partition: it is not registered, or its lease has ended."""
    offline: Mapping[int, frozenset[TopicPartition]] = MappingProxyType({})
    """The replicas whose log dirs have failed, by the id of their live broker."""
    lost_epochs: Mapping[int, int] = MappingProxyType({})
    """By broker id, live or not: the epoch of its last registration that was not clean.

    An older state that names the broker trusts a log that may have lost records.
    """
    stale_epochs: Mapping[int, int] = MappingProxyType({})
    """By broker id, live or not: the epoch of its last registration with logs that do not continue its last
    life, a copy of a data directory for example.

    They are among ``lost_epochs``. No broker is elected by an older state that names it.
    """
    restored_at: int = -1
    """The position, as ``PartitionState.revision``, at which an older copy of the state was put back.

    Until the controller has written a partition's state anew nobody leads or follows it; -1: all are written.
    """
    log_ends: Mapping[int, Mapping[TopicPartition, LogEnd]] = MappingProxyType({})
    """The ends of logs that live brokers have told, of partitions without in-sync replicas."""

    def has_live(self, broker_id: int, topic_partition: TopicPartition) -> bool:
        """Return True if a broker is live, and its replica of a partition is not offline."""
        return broker_id in self.brokers and topic_partition not in self.offline.get(broker_id, ())

    def leads(self, broker_id: int, partition: PartitionState) -> bool:
        """Return True if a broker, by this state, leads a partition now.

        A broker that has registered again leads only what was given to it since: its log may have lost its
        end in between.
        """
        node = self.brokers.get(broker_id)
        return (
            partition.leader == broker_id
            and node is not None
            and partition.revision > node.epoch
            and partition.revision > self.restored_at
            and not self.fenced
        )


@attrs.frozen
class ClusterDelta:
    """One change of the cluster's state.

    What is not about topics is compared by identity: ``before.broker_configs is not after.broker_configs``.

    :ivar topics: names of topics that were created, changed or deleted, or created again.
    :ivar deleted: ids of topics that clients have deleted: brokers remove their logs. A topic that is missing
        for another reason is not among them, as when an older copy of the state was put back: brokers cease
        to serve it, and keep its logs.
    """

    before: ClusterState
    after: ClusterState
    topics: frozenset[str] = frozenset()
    deleted: frozenset[uuid.UUID] = frozenset()


class Placement(NamedTuple):
    """The log dir that holds a partition's log."""

    topic_id: uuid.UUID
    partition: int
    directory_id: str | None
    """``directory.id`` of the log dir; ``""`` if it is unknown; None if the log is not known to exist."""


@attrs.frozen
class LogDirRecord:
    """The metadata store's record of the log dirs of this broker.

    :ivar log_dirs: the last known path of each log dir, by its ``directory.id``.
    :ivar placed: for each topic id the ``directory.id`` of each partition whose directory is known to
        exist; as in :class:`Placement`.
    :ivar deleted: ids of deleted topics whose directories may still exist.
    """

    log_dirs: Mapping[str, str] = MappingProxyType({})
    placed: Mapping[uuid.UUID, Mapping[int, str]] = MappingProxyType({})
    deleted: frozenset[uuid.UUID] = frozenset()


class SharedFile:
    """An open file that is closed when its last reference is dropped.

    A segment may be deleted while a response is being sent from it: the response's :class:`FileSlice` keeps
    the descriptor open until then.
    """

    __slots__ = ("_fd", "path")

    def __init__(self, path: str, flags: int, mode: int = 0o600) -> None:
        self._fd = -1
        self.path = path
        self._fd = os.open(path, flags | os.O_CLOEXEC, mode)

    def fileno(self) -> int:
        """Return the file descriptor, which is valid while this object exists."""
        return self._fd

    def is_cached(self, position: int, size: int) -> bool:
        """Return True if reading these bytes does not wait for the disk, or if that cannot be known.

        It reads samples: the first and the last byte, and one in every ``PROBED_BYTES``; 0.3 us each. For
        less than a page it reads the first byte only.
        """
        if not NOWAIT:
            return True
        try:
            os.preadv(self._fd, _SAMPLE, position, NOWAIT)
            if size > PAGE_BYTES:
                last = position + size - 1
                for at in range(position + PROBED_BYTES, last, PROBED_BYTES):
                    os.preadv(self._fd, _SAMPLE, at, NOWAIT)
                os.preadv(self._fd, _SAMPLE, last, NOWAIT)
        except BlockingIOError:
            return False
        except OSError:
            # Not supported for this file (tmpfs): it is in memory. The read reports other errors.
            pass
        return True

    def load(self, position: int, size: int, ahead: int = 0) -> None:
        """Read a part of the file into the page cache. It blocks, so it is called in workers.

        :param ahead: number of bytes after it to read in the background.
        :raises OSError: the disk fails.
        """
        if hasattr(os, "posix_fadvise") and size + ahead > 0:  # 0 would mean the rest of the file
            os.posix_fadvise(self._fd, position, size + ahead, os.POSIX_FADV_WILLNEED)
        while size > 0:
            read = len(os.pread(self._fd, min(size, PROBED_BYTES), position))
            if not read:
                break
            position += read
            size -= read

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class FileSlice:
    """``size`` bytes of a file from ``position``, which a fetch response sends with ``sendfile``.

    It is a value of a records field: ``len()`` is its size, :meth:`tobytes` reads it.

    :ivar warm: number of bytes from its beginning that were in the page cache when it was made.
    """

    __slots__ = ("file", "position", "size", "warm")

    def __init__(self, file: SharedFile, position: int, size: int, warm: int = 0) -> None:
        self.file = file
        self.position = position
        self.size = size
        self.warm = warm

    def __len__(self) -> int:
        return self.size

    def tobytes(self) -> bytes:
        """Read the slice.

        :raises OSError: the file cannot be read, or is shorter than the slice says.
        """
        parts = []
        position, left = self.position, self.size
        while left:
            data = os.pread(self.file.fileno(), left, position)
            if not data:
                raise OSError(f"{self.file.path} ends {left} bytes before {self.position + self.size}")
            parts.append(data)
            position += len(data)
            left -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)


Records: TypeAlias = bytes | bytearray | memoryview | FileSlice
"""The bytes of record batches or message sets, in memory or in a file. All have ``len()``."""
