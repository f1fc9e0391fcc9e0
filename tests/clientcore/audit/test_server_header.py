"""Tests of kafkatx.clientcore.audit.server_header."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.audit.server_header import make_accumulator, make_stamp
from kafkatx.clientcore.producer.accumulator import AccumulatorLimits, RecordAccumulator
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT
from kafkatx.records.batch import iter_records

STAMP = ("server", b"web-1")


class StampingTests(SynchronousTestCase):
    def test_off(self) -> None:
        """The plain accumulator is used without a header name."""
        self.assertIs(type(make_accumulator(make_stamp("", "web-1"), AccumulatorLimits())), RecordAccumulator)

    def test_lists_are_cut(self) -> None:
        """A list is split so that each batch holds its records with their headers within the limit."""
        made = make_accumulator(
            STAMP, AccumulatorLimits(batch_bytes=2000, max_bytes=2000), id_and_epoch=NOT_IDEMPOTENT
        )
        queue = made.queue("t", 0)
        count = made.append_values(queue, [b"x"] * 100, 5, None, 0.0)
        made.close_all()
        self.assertEqual(count, 4)
        sizes, headers = [], []
        while queue.sendable(100):
            batch = made.take(queue)
            sizes.append(len(batch.data))
            headers += [tuple(record.headers) for record in iter_records(memoryview(batch.data))]
        self.assertEqual(headers, [(STAMP,)] * 100)
        self.assertLessEqual(max(sizes), 2000)

    def test_released(self) -> None:
        """The memory of a list is free again once it is delivered."""
        made = make_accumulator(STAMP, AccumulatorLimits(), id_and_epoch=NOT_IDEMPOTENT)
        queue = made.queue("t", 0)
        made.append_values(queue, [b"x"] * 10, 5, None, 0.0)
        made.append(queue, b"k", b"v", 5, (), None, 0.0)
        self.assertGreater(made.used_bytes, 10 * made.stamp_bytes)
        made.close_all()
        while queue.sendable(100):
            made.complete_batch(made.take(queue), None, 1.0)
        self.assertEqual(made.used_bytes, 0)
