"""Tests of kafkatx.spark.ingest.decoder.registered."""

from __future__ import annotations

import json
import pickle
from typing import Any

import attrs
import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.framing import header_value, prefix
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.spark.arrow import columns as arrow
from kafkatx.spark.ingest.decoder.decoder import Decoded
from kafkatx.spark.ingest.decoder.registered import KnownSchemas, Registered, RegisteredDecoding
from kafkatx.spark.ingest.decoder.schema_columns import schema_columns
from kafkatx.spark.ingest.table.columns import Column
from tests.schemas.messages.avro import test_fastavro_schemas as fastavro_cases
from tests.schemas.messages.avro.test_avro_format import USER
from tests.schemas.messages.protobuf import moved

NEWER = USER.replace('"fields": [', '"fields": [{"name": "country", "type": "string", "default": "nl"},')
GUID = header_value("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
ANN = b"\2\6ann\0"
MAP = "array<struct<key:string,value:struct<sum:int>>>"
COLUMNS = [Column("id", "bigint"), Column("country", "string"), Column("gone", "int")]


class RegisteredDecodingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a decoding that reads a topic as a newer schema."""
        self.schemas = KnownSchemas(
            SchemaType.AVRO,
            {"t": ReaderSchema(Schema(NEWER))},
            {prefix(1): Registered(Schema(USER)), GUID: Registered(Schema(USER))},
            {prefix(8): "no such schema"},
        )

    def decode(
        self, *values: bytes | None, headers: Any = None, columns: Any = COLUMNS, **changes: Any
    ) -> Decoded:
        """Decode values."""
        decoding = RegisteredDecoding("avro", attrs.evolve(self.schemas, **changes), columns)
        count = len(values)
        schema = arrow.arrow_schema(headers is not None)
        given = {"value": list(values), "headers": headers, "offset": list(range(count))}
        arrays = [pa.array(given.get(field.name) or [None] * count, field.type) for field in schema]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return pickle.loads(pickle.dumps(decoding)).decode("t", batch)  # type: ignore[no-any-return]

    def rows(self, decoded: Decoded) -> list[Any]:
        """Return the decoder's own columns."""
        return [tuple(row[name] for name in ("id", "country", "gone")) for row in decoded.rows.to_pylist()]

    def test_reader(self) -> None:
        """Rows have the reader's columns; a column that it does not have is null, and so is a tombstone."""
        decoded = self.decode(prefix(1) + ANN, None)
        self.assertEqual(self.rows(decoded), [(1, "nl", None), (None, None, None)])
        self.assertEqual((decoded.dead, decoded.unknown, decoded.drift), (None, frozenset(), {}))

    def test_messages(self) -> None:
        """A Protobuf message is found by its name, and others of its file are dead letters."""
        self.schemas = KnownSchemas(
            SchemaType.PROTOBUF,
            {"t": ReaderSchema(moved.SECOND, message="s.O")},
            {prefix(1): Registered(moved.FIRST), prefix(2): Registered(moved.SECOND)},
        )
        decoded = self.decode(*moved.MESSAGES, columns=[Column("id", "string"), Column("c", "bigint")])
        rows = [(row["id"], row["c"]) for row in decoded.rows.to_pylist()]
        self.assertEqual(rows, [("A1", 995), ("A2", 996)])
        assert decoded.dead is not None
        self.assertIn("s.A", decoded.dead.column("reason").to_pylist()[0])

    def test_roots(self) -> None:
        """Values that are no records are in one column, whatever they are made of; also referenced ones."""
        pair, half = json.dumps(["null", fastavro_cases.PAIR]), '["r.Ship", "r.Bill"]'
        for text, payload, kind, expected in (
            (pair, b"\2\2\4", "struct<l:struct<n:int>,r:struct<n:int>>", {"l": {"n": 1}, "r": {"n": 2}}),
            (pair, b"\0", "struct<l:struct<n:int>,r:struct<n:int>>", None),
            (half, b"\2\12", "string", '{"sum":5}'),
            ('"r.Bill"', b"\12", "int", 5),
            ('{"type": "map", "values": "r.Bill"}', b"\2\2k\12\0", MAP, [{"key": "k", "value": {"sum": 5}}]),
            ('{"type": "array", "items": "int"}', b"\2\12\0", "array<int>", [5]),
        ):
            reader = ReaderSchema(Schema(text), fastavro_cases.REFERENCES)
            columns = schema_columns(reader)
            self.schemas = KnownSchemas(
                SchemaType.AVRO,
                {"t": reader},
                {prefix(1): Registered(Schema(text), fastavro_cases.REFERENCES)},
            )
            decoded = self.decode(prefix(1) + payload, columns=columns)
            self.assertIsNone(decoded.dead)
            self.assertEqual([row[columns[0].name] for row in decoded.rows.to_pylist()], [expected])
            self.assertEqual(columns[0].type, kind)

    def test_json_roots(self) -> None:
        """A JSON object whose properties are not named is one column, and no row of nulls."""
        schema = Schema('{"type": "object"}', SchemaType.JSON)
        self.schemas = KnownSchemas(
            SchemaType.JSON, {"t": ReaderSchema(schema)}, {prefix(1): Registered(schema)}
        )
        decoded = self.decode(prefix(1) + b'{"a": 1}', columns=schema_columns(ReaderSchema(schema)))
        self.assertEqual([row["value"] for row in decoded.rows.to_pylist()], ['{"a":1}'])

    def test_unknown(self) -> None:
        """Ids that the driver does not know are reported, each once."""
        decoded = self.decode(prefix(5) + ANN, prefix(1) + ANN, prefix(5) + ANN, prefix(6) + ANN)
        self.assertEqual(decoded.unknown, {prefix(5), prefix(6)})

    def test_complete(self) -> None:
        """Unknown ids are dead letters if no more are to be reported."""
        decoded = self.decode(prefix(5) + ANN, complete=True)
        self.assertEqual((decoded.unknown, decoded.dead and decoded.dead.num_rows), (frozenset(), 1))

    def test_dead(self) -> None:
        """A record that cannot be read is a dead letter with its reason."""
        decoded = self.decode(prefix(8) + ANN, b"text...", prefix(1) + b"\2", b"", prefix(1) + ANN)
        assert decoded.dead is not None
        reasons = decoded.dead.column("reason").to_pylist()
        for reason, words in zip(reasons, ("no such", "prefix", "match", "too short"), strict=True):
            self.assertIn(words, reason)
        self.assertEqual(self.rows(decoded), [(1, "nl", None)])

    def test_headers(self) -> None:
        """A header tells the schema before the prefix does."""
        named = [{"key": "__value_schema_id", "value": GUID}]
        other = [{"key": "other", "value": GUID}]
        decoded = self.decode(ANN, prefix(1) + ANN, prefix(1) + ANN, headers=[named, other, None])
        self.assertEqual(self.rows(decoded), 3 * [(1, "nl", None)])
