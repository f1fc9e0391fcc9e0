"""The contract of implementations of :class:`~kafkatx.interfaces.IPartitionLog`.

Appends are in :mod:`kafkatx.testing.contracts.log_appends`, copies in
:mod:`kafkatx.testing.contracts.log_replication`, transactions in
:mod:`kafkatx.testing.contracts.log.transactions`, stores in :mod:`kafkatx.testing.contracts.log_store`;
their names can be imported from here, too.
"""

from __future__ import annotations

from typing import Any

import attrs
from zope.interface.verify import verifyObject

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IAppended, IPartitionLog, ISegmentFacts
from kafkatx.records.batch import parse_header
from kafkatx.records.conversion import batches, iter_any
from kafkatx.testing.contracts.log.transactions import TransactionContract
from kafkatx.testing.contracts.log_store import LogStoreContract
from kafkatx.testing.contracts.store_case import ALL, NOW_MS, TP, StoreCase, batch, bytes_of, find_retention

__all__ = [
    "ALL",
    "NOW_MS",
    "TP",
    "LogStoreContract",
    "PartitionLogContract",
    "StoreCase",
    "batch",
    "bytes_of",
    "find_retention",
]


class PartitionLogContract(TransactionContract):
    """The contract of a log; :meth:`make_log` makes one through the store."""

    def test_interface(self) -> None:
        """Check that the log provides IPartitionLog, the result of append IAppended, its segments
        ISegmentFacts.
        """
        log = self.make_log()
        self.assertTrue(verifyObject(IPartitionLog, log))
        self.assertTrue(verifyObject(IAppended, log.append(batch([b"a"]), 0, NOW_MS, True)))
        self.assertTrue(verifyObject(ISegmentFacts, log.segments[-1]))
        self.assertEqual(log.topic_partition, TP)

    # --- reading

    def test_read_from_inside(self) -> None:
        """Check that a read at an offset inside a batch returns that batch whole."""
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b", b"c", b"d"]))
        self.assertEqual(parse_header(bytes_of(log.read(2, ALL, 4, True))).base_offset, 1)

    def test_read_range(self) -> None:
        """Check that a read at the log's end is empty, and outside of the log OFFSET_OUT_OF_RANGE."""
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b"]), batch([b"c"]))
        self.assertEqual(len(log.read(3, ALL, 3, True)), 0)
        log.advance_log_start(1)
        for offset in (-1, 0, 4):
            error = self.assertRaises(RequestError, log.read, offset, ALL, 3, True)
            self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_read_end_offset(self) -> None:
        """Check that a read returns no batch that reaches the end offset or lies beyond it."""
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b", b"c"]), batch([b"d"]))
        for end_offset, expected in ((0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (100, 3)):
            found = list(batches(bytes_of(log.read(0, ALL, end_offset, True))))
            self.assertEqual(len(found), expected, end_offset)

    def test_read_max_bytes(self) -> None:
        """Check that a read is not larger than asked, except for a first batch that must come whole."""
        log = self.make_log()
        sent = [batch([b"x" * 100]), batch([b"y" * 100]), batch([b"z" * 100])]
        self.put(log, *sent)
        one = len(sent[0])
        for max_bytes, at_least_one, whole in (
            (0, False, 0),
            (one - 1, False, 0),
            (one - 1, True, 1),
            (0, True, 1),
            (one, False, 1),
            (2 * one + 1, False, 2),
            (3 * one, False, 3),
        ):
            found = bytes_of(log.read(0, max_bytes, 3, at_least_one))
            self.assertEqual(len(list(batches(found))), whole)
            self.assertLessEqual(len(found), max(max_bytes, one if at_least_one else 0))

    def test_read_across_segments(self) -> None:
        """Reading on from where the last read ended, one sees every record of many segments once."""
        log = self.make_log(segment_bytes=300, index_interval_bytes=100)
        values = [b"%d" % number * 20 for number in range(40)]
        for value in values:
            self.put(log, batch([value]))
        self.assertGreater(len(log.segments), 5)
        for offset in (0, 1, 17, 39):
            self.assertEqual(self.content(log, offset), list(enumerate(values))[offset:])

    def test_tail_reader(self) -> None:
        """Check that a reader that asks for what follows its last read gets each batch once, also after a
        cut.
        """
        log = self.make_log(segment_bytes=1000)
        at, found = 0, []
        for number in range(30):
            self.put(log, batch([b"%d" % number * (number % 7)]))
            records = list(iter_any(bytes_of(log.read(at, ALL, log.log_end_offset, True))))
            found += [record.value for record in records]
            at = records[-1].offset + 1
            if number == 20:
                log.truncate_to(at - 1)
                # The next read begins where the last one ended, which is another place in the file now.
                self.put(log, batch([b"other" * 5]))
        self.assertEqual(found, [b"%d" % number * (number % 7) for number in range(30)])

    def test_warm(self) -> None:
        """Check that a reader may ask to warm any offset, in the log or not, and learns when to read."""
        log = self.make_log(segment_bytes=300)
        for number in range(10):
            self.put(log, batch([b"%d" % number * 20]))
        for offset in (-1, 0, 4, 9, 10, 11):
            waiting = log.warm(offset, ALL)
            if waiting is not None:
                self.assertIsNone(self.result(waiting))
        self.assertEqual(self.content(log, 4)[0], (4, b"4" * 20))

    def test_readable_bytes(self) -> None:
        """Check that the bytes between two offsets are about right: 0 if there are none, and otherwise never
        0.
        """
        log = self.make_log(segment_bytes=2000, index_interval_bytes=200)
        sent = batch([b"x" * 100])
        for _ in range(30):
            self.put(log, sent)
        self.assertEqual(log.readable_bytes(0, 30), 30 * len(sent))
        self.assertEqual(
            (log.readable_bytes(30, 30), log.readable_bytes(7, 7), log.readable_bytes(9, 3)), (0, 0, 0)
        )
        for offset in range(30):
            self.assertGreater(log.readable_bytes(offset, offset + 1), 0)
            self.assertApproximates(log.readable_bytes(offset, 30), (30 - offset) * len(sent), 600)

    # --- times and epochs

    def test_offset_for_timestamp(self) -> None:
        """Check that the first record at or after a time, by offset, is found with its own time and epoch."""
        log = self.make_log(segment_bytes=250, index_interval_bytes=50, message_timestamp_after_max_ms=10**9)
        self.assertIsNone(self.result(log.offset_for_timestamp(0)))
        times = [[10, 30], [20], [50, 40], [45], [60]]
        for epoch, part in enumerate(times):
            self.put(log, batch([b"x" * 20] * len(part), part), leader_epoch=epoch)
        for asked, expected in (
            (0, (0, 10, 0)),
            (10, (0, 10, 0)),
            (11, (1, 30, 0)),
            (31, (3, 50, 2)),
            (45, (3, 50, 2)),
            (51, (6, 60, 4)),
            (60, (6, 60, 4)),
            (61, None),
        ):
            self.assertEqual(self.result(log.offset_for_timestamp(asked)), expected, asked)
        log.advance_log_start(4)
        self.assertEqual(self.result(log.offset_for_timestamp(0)), (4, 40, 2))

    def test_max_timestamp(self) -> None:
        """Check that the record with the largest time is found, the first of several, among those that can be
        read.
        """
        log = self.make_log(segment_bytes=250, index_interval_bytes=50)
        self.assertIsNone(self.result(log.max_timestamp()))
        for part in ([10, 30], [20], [50, 50, 40], [45], [7]):
            self.put(log, batch([b"x" * 20] * len(part), part))
        self.assertEqual(self.result(log.max_timestamp()), (3, 50, 0))
        log.advance_log_start(5)
        self.assertEqual(self.result(log.max_timestamp()), (6, 45, 0))

    def test_epochs(self) -> None:
        """Check that the epochs that wrote the log are known by offset, with the end of each."""
        log = self.make_log()
        self.assertEqual((log.epoch_at(0), log.end_offset_for_epoch(3)), (-1, (-1, -1)))
        for epoch in (2, 2, 5):
            self.put(log, batch([b"a", b"b"]), leader_epoch=epoch)
        self.assertEqual([log.epoch_at(offset) for offset in range(7)], [2, 2, 2, 2, 5, 5, 5])
        for asked, expected in (
            (-1, (-1, -1)),
            (1, (1, 0)),
            (2, (2, 4)),
            (4, (2, 4)),
            (5, (5, 6)),
            (9, (5, 6)),
        ):
            self.assertEqual(log.end_offset_for_epoch(asked), expected)

    # --- cutting

    def test_truncate(self) -> None:
        """Check that a cut removes records, epochs and producers' sequences, and that appends continue at the
        cut.
        """
        log = self.make_log(segment_bytes=300)
        for number in range(10):
            self.put(log, batch([b"%d" % number], producer=(1, 0, number)), leader_epoch=number // 4)
        log.truncate_to(6)
        self.assertEqual((log.log_end_offset, log.epoch_at(6)), (6, 1))
        self.assertEqual(log.end_offset_for_epoch(9), (1, 6))
        self.assertEqual(self.content(log), [(number, b"%d" % number) for number in range(6)])
        (again,) = self.put(log, batch([b"new"], producer=(1, 0, 6)), leader_epoch=7)
        self.assertEqual(again.base_offset, 6)
        self.assertEqual(self.content(log, 5), [(5, b"5"), (6, b"new")])
        log.truncate_to(100)
        self.assertEqual(log.log_end_offset, 7)
        log.truncate_to(0)
        self.assertEqual((log.log_start_offset, log.log_end_offset, log.size_bytes), (0, 0, 0))

    def test_truncate_inside_a_batch(self) -> None:
        """Check that a cut inside a batch removes the batch, and that its offsets below the cut are not
        reused.
        """
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b", b"c", b"d"]))
        log.truncate_to(3)
        self.put(log, batch([b"e"]))
        self.assertEqual(self.content(log), [(0, b"a"), (3, b"e")])

    def test_advance_log_start(self) -> None:
        """Check that the start only moves forward and removes whole segments; beyond the end it is
        OFFSET_OUT_OF_RANGE.
        """
        log = self.make_log(segment_bytes=300)
        for number in range(20):
            self.put(log, batch([b"%d" % number * 20]))
        segments, size = len(log.segments), log.size_bytes
        log.advance_log_start(11)
        log.advance_log_start(5)
        self.assertEqual(log.log_start_offset, 11)
        self.assertLess(len(log.segments), segments)
        self.assertLess(log.size_bytes, size)
        self.assertEqual(self.content(log)[0][0], 11)
        error = self.assertRaises(RequestError, log.advance_log_start, 21)
        self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)
        log.advance_log_start(20)
        self.assertEqual((log.size_bytes, self.content(log)), (0, []))
        self.assertEqual(self.put(log, batch([b"x"]))[0].base_offset, 20)

    def retained(self, policy: str, now_ms: int = NOW_MS, **settings: Any) -> Any:
        """Return a log of 20 records, a minute apart, after its policy was applied."""
        settings = {"message_timestamp_after_max_ms": 10**10} | settings
        log = self.make_log(segment_bytes=300, retention_policy=policy, **settings)
        for number in range(20):
            self.put(log, batch([b"%02d" % number * 20], [NOW_MS - (20 - number) * 60_000]))
        segments = len(log.segments)
        went = log.retain(now_ms)
        self.assertEqual(len(log.segments), segments - went + (went == segments))
        return log

    def test_retention_by_time(self) -> None:
        """Segments whose records are all older than retention.ms go, the active one too."""
        log = self.retained("time", retention_ms=10 * 60_000)
        self.assertIn(log.log_start_offset, (9, 10))
        self.assertEqual(self.content(log)[-1][0], 19)
        log = self.retained("time", NOW_MS + 10**9, retention_ms=1000)
        self.assertEqual((log.log_start_offset, log.log_end_offset, log.size_bytes), (20, 20, 0))
        self.assertEqual(log.retain(NOW_MS + 10**9), 0)

    def test_retention_by_size(self) -> None:
        """Check that as many segments are removed as leave at least retention.bytes."""
        log = self.retained("size", retention_bytes=1000)
        self.assertGreaterEqual(log.size_bytes, 1000)
        self.assertLess(log.size_bytes, 1000 + 300)

    def test_retention_of_others(self) -> None:
        """Check that the policy of the topic decides, a third party's too; none does without cleanup by
        deletion.
        """
        self.assertEqual(len(self.retained("all-but-one").segments), 1)
        self.assertEqual(self.retained("keep", NOW_MS * 2).log_start_offset, 0)
        for policy in (frozenset({"compact"}), frozenset[str]()):
            log = self.make_log(segment_bytes=100, retention_policy="all-but-one", cleanup_policy=policy)
            self.put(log, batch([b"a"], key=b"k"), batch([b"b"], key=b"k"), batch([b"c"], key=b"k"))
            self.assertEqual(log.retain(NOW_MS * 2), 0)
        log.configure(attrs.evolve(log.config, retention_policy="keep", cleanup_policy=frozenset({"delete"})))
        self.assertEqual(log.retain(NOW_MS * 2), 0)

    def test_roll_by_time(self) -> None:
        """Check that a segment older than segment.ms is closed, unless it is empty."""
        log = self.make_log(segment_ms=1000)
        log.roll_if_due(NOW_MS + 5000)
        self.assertEqual(len(log.segments), 1)
        self.put(log, batch([b"a"]))
        log.roll_if_due(NOW_MS + 1000)
        self.assertEqual(len(log.segments), 1)
        log.roll_if_due(NOW_MS + 1001)
        self.assertEqual([one.base_offset for one in log.segments], [0, 1])
        self.put(log, batch([b"b"]))
        self.assertEqual(self.content(log), [(0, b"a"), (1, b"b")])

    def test_flush(self) -> None:
        """Check that after flush() everything written before it counts as flushed."""
        log = self.make_log()
        self.assertEqual(self.result(log.flush()), 0)
        self.put(log, batch([b"a", b"b"]))
        self.assertEqual(self.result(log.flush()), 2)
        self.assertEqual(log.flushed_offset, 2)
