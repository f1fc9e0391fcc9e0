"""The decoding that leaves records as they are."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.arrow.columns import arrow_schema
from kafkatx.spark.ingest.decoder.decoder import DEAD_SCHEMA, KAFKA_COLUMNS, Undecoded
from tests.spark.ingest.decoder.batches import batch


class UndecodedTests(SynchronousTestCase):
    def test_columns(self) -> None:
        """The columns are the source's, with headers if they are wanted."""
        for include_headers in (False, True):
            names = [column.name for column in Undecoded(include_headers).columns()]
            self.assertEqual(names, arrow_schema(include_headers).names)

    def test_decode(self) -> None:
        """Each record is a row, unchanged; there are neither dead letters nor drift."""
        records = batch([b"a", None])
        rows, dead, drift, _ = Undecoded().decode("t", records)
        self.assertIs(rows, records)
        self.assertEqual((dead, drift), (None, {}))

    def test_sources(self) -> None:
        """The columns that name a row's origin, and those of a dead letter, are the source's."""
        names = arrow_schema(False).names
        self.assertLessEqual(set(KAFKA_COLUMNS.values()), set(names))
        self.assertEqual(set(DEAD_SCHEMA.names) - set(names), {"reason"})
