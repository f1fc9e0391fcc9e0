"""The options of an ingestion."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from tests.spark.ingest.test_plan import options


class IngestOptionsTests(SynchronousTestCase):
    def test_bad_values(self) -> None:
        """Each bad value is refused, with the option's name and what there is instead."""
        cases: list[tuple[dict[str, Any], str]] = [
            ({"format": "csv"}, "format 'csv': there are parquet, json, avro"),
            ({"compression": "gzip"}, "compression 'gzip': there are snappy, zstd, none"),
            ({"starting": "middle"}, "starting 'middle': there are earliest, latest"),
            ({"partition_by": ["a", "b", "a"]}, "partition-by a,b,a: a column is named twice"),
            ({"max_records": 0}, "max-records 0: give a whole number above 0"),
        ]
        for given, message in cases:
            with self.assertRaises(SettingError) as raised:
                options(**given)
            self.assertEqual(str(raised.exception), message)

    def test_copies(self) -> None:
        """Lists and settings are copied: a later change of theirs does not change the options."""
        columns, settings = ["date"], {"schema": "a INT"}
        made = options(partition_by=columns, decoder_settings=settings)
        columns.append("hour")
        settings.clear()
        self.assertEqual((made.partition_by, made.decoder_settings), (("date",), {"schema": "a INT"}))
