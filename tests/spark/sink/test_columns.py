"""Tests of kafkatx.spark.sink.columns."""

from __future__ import annotations

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.sink.columns import SCHEMA, by_topic
from kafkatx.spark.sink.encoder import BadRow
from kafkatx.spark.sink.schema import SinkColumns


class ByTopicTests(SynchronousTestCase):
    def test_option(self) -> None:
        """The option's topic has all rows; text becomes bytes, and columns that are missing are null."""
        batch = pa.record_batch({"value": ["ä", None], "topic": ["x", None]})
        ((topic, rows),) = by_topic(batch, SinkColumns(value=0), "t")
        self.assertEqual((topic, rows.schema), ("t", SCHEMA))
        self.assertEqual(
            rows.to_pylist(),
            [
                {"key": None, "value": "ä".encode(), "headers": None, "partition": None},
                {"key": None, "value": None, "headers": None, "partition": None},
            ],
        )

    def test_stamp(self) -> None:
        """Rows without a column of headers have the stamp, if there is one."""
        batch = pa.record_batch({"value": ["a", "b"]})
        ((_, rows),) = by_topic(batch, SinkColumns(value=0), "t", ("h", b"w"))
        self.assertEqual(rows.column("headers").to_pylist(), [b"\x02\x02h\x02w"] * 2)

    def test_column(self) -> None:
        """Each topic has its rows, in order; a slice of a batch has only its own."""
        batch = pa.record_batch(
            {
                "topic": ["b", "a", "b", "a", "c", "b"],
                "value": [b"%d" % n for n in range(6)],
                "partition": pa.array([None, 1, 2, 3, 4, 5], pa.int32()),
                "key": pa.array(["k"] * 6, pa.large_string()),
            }
        ).slice(1)
        found = dict(by_topic(batch, SinkColumns(value=1, topic=0, partition=2, key=3), None))
        self.assertEqual(
            {name: rows.column("value").to_pylist() for name, rows in found.items()},
            {"a": [b"1", b"3"], "b": [b"2", b"5"], "c": [b"4"]},
        )
        self.assertEqual(found["b"].column("partition").to_pylist(), [2, 5])
        self.assertEqual(found["a"].column("key").to_pylist(), [b"k", b"k"])

    def test_order(self) -> None:
        """Many rows of a topic stay in order."""
        numbers = list(range(1000))
        topics = [f"t{number % 3}" for number in numbers]
        batch = pa.record_batch({"topic": topics, "value": [b"%d" % number for number in numbers]})
        for topic, rows in by_topic(batch, SinkColumns(value=1, topic=0), None):
            found = [int(value) for value in rows.column("value").to_pylist()]
            self.assertEqual(found, numbers[int(topic[1]) :: 3])

    def test_one_topic(self) -> None:
        """A column with one name is one topic."""
        batch = pa.record_batch({"topic": ["a", "a"], "value": [b"1", b"2"]})
        ((name, rows),) = by_topic(batch, SinkColumns(value=1, topic=0), None)
        self.assertEqual((name, rows.column("value").to_pylist()), ("a", [b"1", b"2"]))

    def test_null_topic(self) -> None:
        """A row without a topic is an error that names the option."""
        batch = pa.record_batch({"topic": ["a", None], "value": [b"1", b"2"]})
        error = self.assertRaises(BadRow, list, by_topic(batch, SinkColumns(value=1, topic=0), None))
        self.assertIn("null topic present in the data. Use the topic option", str(error))
