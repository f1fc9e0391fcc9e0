"""A store to test, batches to append, and policies: the common part of the contracts of stores and logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from twisted.internet.task import Clock
from zope.interface import implementer
from zope.interface.verify import verifyObject

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError
from kafkatx.interfaces import IAppended, IPartitionLog, IRetentionPolicy, ISegmentFacts
from kafkatx.log.retention import KeepAll, SizeRetention, TimeAndSizeRetention, TimeRetention
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches, iter_any
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

NOW_MS = 1_700_000_000_000
ALL = 1 << 30
TP = TopicPartition("events", 3)


def batch(
    values: list[bytes],
    timestamps: list[int] | None = None,
    codec: Codec = Codec.NONE,
    key: bytes | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
) -> bytes:
    """Build a batch of magic 2 as a producer sends it.

    :param producer: producer id, epoch, first sequence.
    :param transactional: it is part of a transaction.
    """
    builder = BatchBuilder(codec, *producer, transactional)
    for value, timestamp in zip(values, timestamps or [NOW_MS] * len(values), strict=True):
        builder.append(key, value, timestamp)
    return builder.build()


def find_retention(name: str) -> IRetentionPolicy:
    """Return a built-in policy, or the contract's own, by name.

    :raises SettingError: there is no such policy.
    """
    policies: dict[str, Callable[[], IRetentionPolicy]] = {
        "time": TimeRetention,
        "size": SizeRetention,
        "time+size": TimeAndSizeRetention,
        "keep": KeepAll,
        "all-but-one": AllButOne,
    }
    if name not in policies:
        raise SettingError(f"kafkatx.retention={name}: no plugin is called so")
    return policies[name]()


@implementer(IRetentionPolicy)
class AllButOne:
    """A retention policy as a third party may write one."""

    def expired(self, segments: Sequence[ISegmentFacts], config: LogConfig, now_ms: int) -> int:
        """Return the number of all segments but the active one."""
        for segment in segments:
            verifyObject(ISegmentFacts, segment)
        return len(segments) - 1


class StoreCase(_Case):
    """Mixin for a ``SynchronousTestCase``; the subclass says how a store is made.

    The store's Deferreds must fire at once (pass ``twisted.internet.defer.execute`` for a worker), or
    :meth:`result` be overridden to make them.
    """

    durable = True
    """True if a second store sees the logs that the first one closed."""

    def setUp(self) -> None:
        """Give the store a clock that stands still."""
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)

    def make_store(self) -> Any:
        """Return a store that is not open, made with :attr:`clock` and :func:`find_retention`.

        A second call gives one that sees what the first one left, if the store is durable.
        """
        raise NotImplementedError

    def result(self, deferred: Deferred[Any]) -> Any:
        """Return the result of a Deferred; raise its failure."""
        return self.successResultOf(deferred)

    def opened(self, config: LogConfig | None = None) -> Any:
        """Return an open store; each topic that it finds has *config*."""
        store = self.make_store()
        self.result(store.open(lambda topic: config or LogConfig()))
        self.addCleanup(lambda: self.result(store.close()))
        return store

    def put(
        self, log: IPartitionLog, *records: bytes, leader_epoch: int = 0, one_batch: bool = True
    ) -> list[IAppended]:
        """Append and write; every append must be accepted."""
        appended = [log.append(memoryview(one), leader_epoch, NOW_MS, one_batch) for one in records]
        self.assertEqual([one.error for one in appended], [0] * len(records))
        log.write()
        return appended

    def content(self, log: IPartitionLog, offset: int | None = None) -> list[tuple[int, bytes | None]]:
        """Offset and value of every record from *offset*, or the log's start, to its end."""
        at = start = log.log_start_offset if offset is None else offset
        found = []
        while at < log.log_end_offset:
            data = memoryview(bytes_of(log.read(at, ALL, log.log_end_offset, True)))
            if not len(data):
                break
            found += [(record.offset, record.value) for record in iter_any(data)]
            at = list(batches(data))[-1].last_offset + 1
        return [one for one in found if one[0] >= start]


def bytes_of(records: Any) -> bytes:
    """Return the bytes that a read returned."""
    return records.tobytes() if hasattr(records, "tobytes") else bytes(records)
