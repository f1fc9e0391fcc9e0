"""Tests of kafkatx.spark.ingest.decoder.factory and widening."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.arrow.columns import arrow_schema
from kafkatx.spark.ingest.decoder import open_decoding
from kafkatx.spark.ingest.table.columns import Column
from tests.spark.ingest.decoder.batches import batch, documents, reasons, rows, settled, types

A, B = Column("a", "bigint"), Column("b", "string")


class OpenTests(SynchronousTestCase):
    def refused(self, name: str | None, columns: list[Column], settings: dict[str, str]) -> str:
        """The message of the error that these make."""
        return str(self.assertRaises(SettingError, open_decoding, name, columns, settings))

    def test_nothing(self) -> None:
        """Without a decoder the batches of the source are the rows, with Kafka's timestamp as time."""
        for headers in (False, True):
            decoding = open_decoding(None, None, {}, include_headers=headers)
            self.assertEqual([column.name for column in decoding.columns()], arrow_schema(headers).names)
            self.assertEqual(decoding.time_column, "timestamp")
        found = batch([b"x"])
        self.assertEqual(decoding.decode("t", found), (found, None, {}, frozenset()))

    def test_unknown(self) -> None:
        """An unknown decoder is reported with the nearest name, and an unknown setting by its name."""
        self.assertIn("did you mean json", self.refused("jsn", [], {}))
        self.assertIn(
            "avro.schema: the plugin of decode=json has no settings of its own",
            self.refused("json", [], {"avro.schema": "x"}),
        )
        self.assertIn("needs avro.schema", self.refused("avro", [], {}))
        self.assertIn("choose a decoder", self.refused(None, [], {"schema": "a int"}))

    def test_declared(self) -> None:
        """A decoder's own columns and time; its schema cannot be another."""
        decoding = open_decoding("access-log", None, {})
        self.assertEqual(types(decoding)["status"], "int")
        self.assertEqual(decoding.time_column, "time")
        self.assertEqual(open_decoding("access-log", decoding.columns(), {}).columns(), decoding.columns())
        self.assertIn("columns of its own", self.refused("access-log", [], {"schema": "a int"}))
        self.assertIn("column a is bigint in the table", self.refused("access-log", [A], {}))

    def test_avro(self) -> None:
        """Settings reach the decoder; its columns and rows are there, maps as keys and values."""
        schema = '{"type":"map","values":"long"}'
        _, (decoded,) = settled([batch([b"\x02\x02a\x0e\0"])], name="avro", settings={"avro.schema": schema})
        self.assertEqual(rows(decoded), [{"value": [{"key": "a", "value": 7}]}])

    def test_schema(self) -> None:
        """A schema fixes the columns: other fields are left out, and values are made to fit or refused."""
        settings = {"schema": "id BIGINT, at TIMESTAMP, raw BINARY, m ARRAY<STRUCT<key: STRING, value: INT>>"}
        found = documents(
            {"id": 1, "more": {"A": 1, "a": 2}, "at": "2015-05-19T19:05:00Z", "raw": "/w==", "m": {"x": 5}},
            {"id": "one"},
        )
        _, (decoded,) = settled([found], settings=settings)
        (row,) = rows(decoded)
        self.assertEqual(row.pop("at").isoformat(), "2015-05-19T19:05:00+00:00")
        self.assertEqual(row, {"id": 1, "raw": b"\xff", "m": [{"key": "x", "value": 5}]})
        self.assertEqual(list(reasons(decoded)), [1])

    def test_schema_of_a_table(self) -> None:
        """A schema may add columns to those of a table, and neither change nor leave out one."""
        decoding = open_decoding("json", [A], {"schema": "b STRING, a BIGINT"})
        self.assertEqual(decoding.columns(), [A, B])
        self.assertIn("now to be int", self.refused("json", [A], {"schema": "a INT"}))
        self.assertIn("now to be left out", self.refused("json", [A], {"schema": "b STRING"}))

    def test_schema_with_bad_names(self) -> None:
        """Names that Spark would not tell apart, or that are taken."""
        for schema in ("a INT, A INT", "kafka_offset INT", "Kafka_Topic STRING"):
            self.assertIn("there is", self.refused("json", [], {"schema": schema}))

    def test_time_column(self) -> None:
        """A time that is text in JSON is a timestamp if it is said to be the time."""
        found = documents(
            {"ts": "2015-05-19T19:05:00+02:00", "id": 1}, {"ts": 1432055100000}, {"ts": "never"}
        )
        decoding, (decoded,) = settled([found], time_column="ts")
        self.assertEqual((types(decoding), decoding.time_column), ({"ts": "timestamp", "id": "bigint"}, "ts"))
        self.assertEqual([row["ts"].hour for row in rows(decoded)], [17, 17])
        self.assertEqual(list(reasons(decoded)), [2])

    def test_time_of_kafka(self) -> None:
        """The record's own timestamp makes no column."""
        self.assertEqual(open_decoding("json", None, {}, "kafka_timestamp").columns(), [])

    def test_workers_know_no_twisted(self) -> None:
        """Unpickling and decoding import no Twisted, which workers do not need."""
        script = (
            "import pickle, sys\n"
            "from tests.spark.ingest.decoder.batches import batch\n"
            "decoding = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
            "decoding.decode('t', batch([b'x']))\n"
            "sys.exit(any(name.partition('.')[0] == 'twisted' for name in sys.modules))\n"
        )
        import pickle

        made = pickle.dumps(open_decoding("access-log", None, {}))
        done = subprocess.run([sys.executable, "-c", script, made.hex()], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
