"""The decoding with which an ingestion begins."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.table.columns import Column
from kafkatx.spark.ingest.table_decoder import check_agrees, decoding_of
from tests.spark.ingest.table.test_table import EMPTY
from tests.spark.ingest.test_plan import options

KAFKA = ["kafka_topic", "kafka_partition", "kafka_offset", "kafka_timestamp"]


class DecodingTests(SynchronousTestCase):
    def test_undecoded(self) -> None:
        """Without a decoder the columns are the source's, for good, and its timestamp gives the time."""
        found = decoding_of(options(), None)
        self.assertEqual((found.time_column, found.final), ("timestamp", True))
        self.assertEqual([column.name for column in found.columns][:3], ["key", "value", "topic"])

    def test_growing(self) -> None:
        """A decoder without a schema may add columns; Kafka's timestamp gives the time."""
        found = decoding_of(options(decode="json"), None)
        self.assertEqual((found.time_column, found.final), ("kafka_timestamp", False))
        self.assertEqual([column.name for column in found.columns], KAFKA)

    def test_schema(self) -> None:
        """With a schema the columns are final."""
        found = decoding_of(options(decode="json", decoder_settings={"schema": "a BIGINT"}), None)
        self.assertEqual([column.name for column in found.columns], ["a", *KAFKA])
        self.assertTrue(found.final)

    def test_goes_on(self) -> None:
        """The columns of the last commit come first."""
        schema = (Column("a", "bigint"), Column("kafka_topic", "string"))
        last = attrs.evolve(EMPTY, decode="json", partition_by=(), schema=schema)
        self.assertEqual(decoding_of(options(decode="json"), last).columns[0], Column("a", "bigint"))

    def test_agrees(self) -> None:
        """Each option that differs from what the directory was begun with is named."""
        last = attrs.evolve(EMPTY, partition_by=("date",), decode="json")
        same = {"partition_by": ["date"], "decode": "json"}
        check_agrees(options(**same), last)
        for changed, message in (
            ({"format": "avro"}, "format avro: /to was begun with parquet"),
            ({"partition_by": []}, "partition-by none: /to was begun with date"),
            ({"decode": None}, "decode none: /to was begun with json"),
        ):
            self.assertRaisesRegex(SettingError, message, check_agrees, options(**{**same, **changed}), last)

    def test_headers(self) -> None:
        """A column of headers cannot come or go."""
        last = attrs.evolve(EMPTY, partition_by=(), schema=(Column("key", "binary"),))
        check_agrees(options(), last)
        self.assertRaisesRegex(
            SettingError, "headers True", check_agrees, options(include_headers=True), last
        )
