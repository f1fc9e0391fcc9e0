"""A follower with a log in memory, and batches as a leader sends them."""

from __future__ import annotations

import struct
import uuid
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.fetcher.follower import Follower
from kafkatx.broker.replica.flushes import FlushScheduler
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import Following
from kafkatx.broker.replica.throttles import ReplicationThrottle, ReplicationThrottles
from kafkatx.clientcore.backoff import Backoff
from kafkatx.config import BrokerConfig
from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IPartitionLog
from kafkatx.net.limited_log import LimitedLog
from kafkatx.records.builder import build_values
from kafkatx.types import FileSlice, PartitionState, TopicPartition
from kafkatx.wire.messages.fetch import PartitionData
from tests.broker.cluster import FakeMetadataStore
from tests.broker.replica.fakes import FakeCluster
from tests.log.fakes import memory_store

NAME = TopicPartition("t", 0)
TOPIC_ID = uuid.UUID(int=7)
PAUSE_S = 0.05


def batch(base_offset: int, epoch: int, *payloads: bytes) -> bytes:
    """Return a batch as it is in the log of a leader."""
    data = bytearray(build_values(payloads or [b"%d" % base_offset], 1))
    struct.pack_into(">q", data, 0, base_offset)
    struct.pack_into(">i", data, 12, epoch)
    return bytes(data)


def epochs_of(log: Any) -> list[int]:
    """Return the epoch of each offset of a log."""
    return [log.epoch_at(offset) for offset in range(log.log_start_offset, log.log_end_offset)]


def stored(log: Any) -> bytes:
    """Return the bytes of a log, from its start."""
    data, at = b"", log.log_start_offset
    while found := log.read(at, 1 << 20, log.log_end_offset, True):
        piece = found.tobytes() if isinstance(found, FileSlice) else bytes(found)
        data += piece
        position = 0
        while position < len(piece):
            base = int.from_bytes(piece[position : position + 8], "big")
            at = base + int.from_bytes(piece[position + 23 : position + 27], "big") + 1
            position += 12 + int.from_bytes(piece[position + 8 : position + 12], "big")
    return data


class FollowerCase(SynchronousTestCase):
    """Broker 1 follows broker 2 in epoch 5.

    :ivar flushed: how often the follower has told that a flush has ended.
    """

    epoch = 5

    def setUp(self) -> None:
        """Make the follower."""
        self.clock = Clock()
        self.flushed = 0
        self.partition = self.make_partition(self.make_log())
        self.follower = self.make_follower()

    def make_log(self, **configs: Any) -> IPartitionLog:
        """Return an empty log."""
        store = memory_store(self.clock)
        self.successResultOf(store.open(lambda name: LogConfig(**configs)))
        log: IPartitionLog = self.successResultOf(store.create(NAME, TOPIC_ID, LogConfig(**configs)))
        return log

    def make_partition(self, log: IPartitionLog) -> Partition:
        """Return a partition that follows broker 2."""
        state = PartitionState(2, self.epoch, (2, 1), (2, 1), revision=100)
        return Partition(log, state, FakeCluster(), acts=True)

    def make_throttle(self, metadata: FakeMetadataStore, **settings: str) -> ReplicationThrottle:
        """Return the throttle of what this broker copies."""
        config = BrokerConfig.load(None, {"broker.id": "1", **settings})
        return ReplicationThrottles(config, metadata, self.clock.seconds).follower

    def make_follower(self, throttle: ReplicationThrottle | None = None) -> Follower:
        """Return the follower of the partition."""
        role = self.partition.role
        assert isinstance(role, Following)
        return Follower(
            self.partition,
            role,
            TOPIC_ID,
            self.clock,
            FlushScheduler(self.clock),
            Backoff(first_ms=50, longest_ms=1000),
            LimitedLog(Logger(), self.clock),
            throttle or self.make_throttle(FakeMetadataStore()),
            lambda: self.save_start(),
            self.told_flushed,
        )

    def save_start(self) -> Deferred[None]:
        """Bring the log start to the disk, at once."""
        return succeed(None)

    def told_flushed(self) -> None:
        """Count the call."""
        self.flushed += 1

    @property
    def log(self) -> Any:
        """The follower's log."""
        return self.partition.log

    def keep(self, *batches: bytes) -> None:
        """Put batches into the follower's log."""
        for data in batches:
            self.log.append_as_follower(data, 1 << 30)
        self.log.write()

    def take(self, *batches: bytes, at: int | None = None, code: int = 0, **fields: Any) -> int:
        """Give the follower an answer to a fetch at its log's end, or at another offset."""
        records = memoryview(b"".join(batches))
        values = {"high_watermark": 0, "log_start_offset": 0, "records": records, **fields}
        answer = PartitionData(0, code, **values)
        return self.follower.take(self.log.log_end_offset if at is None else at, answer)

    def is_paused(self) -> bool:
        """Return True if the follower waits for PAUSE_S."""
        if self.follower.is_ready():
            return False
        self.clock.advance(PAUSE_S)
        return self.follower.is_ready()


class HeldFlushes:
    """In place of a log's ``flush``: it fires when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Deferred[int]] = []

    def __call__(self) -> Deferred[int]:
        """Return a Deferred that waits."""
        self.waiting.append(Deferred())
        return self.waiting[-1]
