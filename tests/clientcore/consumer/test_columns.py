"""Tests of kafkatx.clientcore.consumer.columns."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.columns import Columns, append_batch
from kafkatx.records.batch import TIMESTAMP_TYPE, Record
from kafkatx.records.builder import assemble, build_values
from kafkatx.records.compression import Codec
from kafkatx.records.legacy import message_sets


class AppendBatchTests(SynchronousTestCase):
    def columns(self, data: bytes) -> Columns:
        """Return one batch, decoded."""
        columns = Columns.empty()
        append_batch(memoryview(data), columns, True)
        return columns

    def test_timestamp_types(self) -> None:
        """Each format has its timestamp type: none in magic 0, else CreateTime or LogAppendTime."""
        records = [Record(3, 40, b"k", b"v", [])]
        by_broker = build_values([b"v"], 40)
        by_broker = assemble(by_broker[61:], 1, TIMESTAMP_TYPE, 40, 41)
        for data, timestamp, kind in (
            (message_sets.build(records, 0, Codec.NONE, None), -1, -1),
            (message_sets.build(records, 1, Codec.NONE, None), 40, 0),
            (message_sets.build(records, 1, Codec.GZIP, None), 40, 0),
            (message_sets.build(records, 1, Codec.GZIP, None, True), 40, 1),
            (build_values([b"v"], 40), 40, 0),
            (by_broker, 41, 1),
        ):
            columns = self.columns(data)
            self.assertEqual((columns.timestamps, columns.timestamp_types), ([timestamp], [kind]))

    def test_cut_and_limit(self) -> None:
        """cut() drops rows outside of a range from a row on, limit() all but the first."""
        columns = self.columns(build_values([b"%d" % i for i in range(10)], 1))
        columns.trim(2, 4, 8)
        self.assertEqual(columns.offsets, [0, 1, 4, 5, 6, 7])
        columns.truncate(3)
        self.assertEqual(columns.values, [b"0", b"1", b"4"])
        self.assertEqual({len(column) for column in columns}, {3})
