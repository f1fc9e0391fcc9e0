"""Small values that every floor shares: partitions, the cluster's state, open files and slices of them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import attrs

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_LEADER_EPOCH = -1

QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Whose quota (KIP-546): pairs of a type (client-id, ip, user) and a name, in the order of the types.

No name, None, stands for all that have no quota of their own: ``(("client-id", None), ("user", "ann"))`` is
each client of ann that is not named elsewhere.
"""

ALL_BROKERS = ""
"""Where an id of a broker may stand: the defaults of all brokers."""

NOWAIT: int = getattr(os, "RWF_NOWAIT", 0) if hasattr(os, "preadv") else 0
"""The flag of ``preadv`` that makes it fail (EAGAIN) rather than wait for the disk; 0 where there is none."""

PAGE_BYTES = 4096
PROBED_BYTES = 128 * 1024
"""How far apart the samples are that tell whether a part of a file is in the page cache."""

_SAMPLE = [bytearray(1)]  # nobody looks at what is read into it, so that threads may share it


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@attrs.frozen
class BrokerNode:
    """Where a live broker is reached: the address that it advertises."""

    id: int
    host: str
    port: int
    rack: str | None = None


@attrs.frozen
class PartitionState:
    """Who holds a partition. ``leader_epoch`` never decreases, and one epoch has one leader."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class ActiveProducer(NamedTuple):
    """What a partition knows of one idempotent producer (KIP-98, KIP-664)."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    """``NO_SEQUENCE``: none of its batches is known any more."""
    last_timestamp_ms: int
    """When it last wrote, by the broker's clock."""
    coordinator_epoch: int
    txn_start_offset: int


@attrs.frozen
class Topic:
    """A topic as the coordinator knows it; ``topic_id`` is new when a topic is created again."""

    name: str
    topic_id: uuid.UUID
    partitions: tuple[PartitionState, ...]
    configs: Mapping[str, str] = MappingProxyType({})
    internal: bool = False


@attrs.frozen
class ClusterState:
    """All that a broker knows of its cluster at one moment; replaced as a whole by each change."""

    cluster_id: str
    controller_id: int
    brokers: Mapping[int, BrokerNode] = MappingProxyType({})
    topics: Mapping[str, Topic] = MappingProxyType({})
    topic_names: Mapping[uuid.UUID, str] = MappingProxyType({})
    broker_configs: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """Settings of brokers that were changed while they ran, by id; under "" the defaults of all brokers."""
    group_configs: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """The configs of groups by group id (resource type GROUP); no group without any."""
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = MappingProxyType({})
    """The quotas of each entity by their names; no entity without any."""


class Placement(NamedTuple):
    """The log dir that holds a partition's log."""

    topic_id: uuid.UUID
    partition: int
    directory_id: str | None
    """``directory.id`` of the log dir; ``""``: an unknown one; None: the log is not known to exist."""


@attrs.frozen
class LogDirRecord:
    """What a coordinator has on record about the log dirs of this broker.

    :ivar log_dirs: the last known path of each log dir, by its ``directory.id``.
    :ivar placed: for each topic id the ``directory.id`` of each partition whose directory is known to have
        been made; as :class:`Placement`.
    :ivar deleted: ids of deleted topics some of whose directories may still be there.
    """

    log_dirs: Mapping[str, str] = MappingProxyType({})
    placed: Mapping[uuid.UUID, Mapping[int, str]] = MappingProxyType({})
    deleted: frozenset[uuid.UUID] = frozenset()


@attrs.frozen
class Expected:
    """What a log store should find in its log dirs, as the coordinator has it.

    :ivar empty: the state has no topics.
    :ivar generation: the coordinator's current ``ICoordinator.generation``.
    :ivar topic_id: the id of a partition's topic; None if there is no such partition.
    :ivar anew: put aside what does not belong to this state, also where the store would refuse to open.
    """

    cluster_id: str
    empty: bool
    generation: Callable[[], int]
    topic_id: Callable[[TopicPartition], uuid.UUID | None]
    recorded: LogDirRecord
    anew: bool = False


@attrs.frozen
class DirectoryChanges:
    """What a log store has brought to the disk since it was asked last.

    :ivar placed: logs whose directories are on the disk now.
    :ivar gone: ids of deleted topics of which no directory is left.
    """

    placed: Sequence[Placement] = ()
    gone: Sequence[uuid.UUID] = ()

    def __bool__(self) -> bool:
        return bool(self.placed or self.gone)


class SharedFile:
    """An open file that closes itself when its last user lets go.

    A segment may be deleted while a reply is still being sent from it: the reply's
    :class:`FileSlice` keeps the descriptor open until then.
    """

    __slots__ = ("_fd", "path")

    def __init__(self, path: str, flags: int, mode: int = 0o600) -> None:
        self._fd = -1
        self.path = path
        self._fd = os.open(path, flags | os.O_CLOEXEC, mode)

    def fileno(self) -> int:
        """The file descriptor; valid as long as this object lives."""
        return self._fd

    def is_cached(self, position: int, size: int) -> bool:
        """Whether reading these bytes need not wait for the disk; true where there is no telling.

        It is judged by samples: the first and the last byte, and one in every ``PROBED_BYTES``; 0.3 us each.
        For less than a page it is the first byte.
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
            # Not this kind of file (tmpfs): it is in memory. What is wrong otherwise, the read will tell.
            pass
        return True

    def load(self, position: int, size: int, ahead: int = 0) -> None:
        """Read a part of the file into the page cache. Blocks: for workers.

        :param ahead: of so many bytes after it the reading is begun and not waited for.
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
    """``size`` bytes of a file from ``position``: what a fetch reply sends by ``sendfile``.

    It stands where a records field expects bytes: ``len()`` is its size, :meth:`tobytes` reads it.

    :ivar warm: so many bytes from its beginning were seen to be in the page cache a moment ago.
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
