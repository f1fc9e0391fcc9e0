"""Tests of kafkatx.spark.sink.schemas.encoding and resolution, with a registry in memory."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.schemas.framing import prefix
from kafkatx.schemas.messages.formats import new_format
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.spark.sink.encoder import BadRow
from kafkatx.spark.sink.options import SinkOptions, parse_sink
from kafkatx.spark.sink.schema import sink_columns
from kafkatx.spark.sink.schemas.encoding import NO_ENCODINGS, Encodings, MessageColumns
from kafkatx.spark.sink.schemas.resolution import planned, resolved
from tests.schemas.http_registry import HttpRegistry

ORDER = StructType().add("id", "long").add("item", "string")
TABLE = StructType().add("value", ORDER).add("key", "integer").add("topic", "string")
ARROW = pa.struct([("id", pa.int64()), ("item", pa.string())])
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "acme",
        "fields": [{"name": "id", "type": "long"}, {"name": "item", "type": ["null", "string"]}],
    }
)
JSON = json.dumps({"type": "object", "title": "Order", "properties": {"id": {"type": "integer"}}})
PROTO = 'syntax = "proto3"; message Order { int64 id = 1; string item = 2; }'


def table(*rows: tuple[Any, Any, Any]) -> Any:
    """A batch of (value, key, topic)."""
    values, keys, topics = zip(*rows, strict=True)
    arrays = [pa.array(values, ARROW), pa.array(keys, pa.int32()), pa.array(topics, pa.string())]
    return pa.RecordBatch.from_arrays(arrays, names=["value", "key", "topic"])


class SchemasCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a registry."""
        self.server = HttpRegistry()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.registry = self.server.registry

    def options(self, topic: str | None = "t", **more: str) -> SinkOptions:
        """Options, with ``_`` for ``.``."""
        given = {name.replace("_", "."): value for name, value in more.items()}
        if topic is not None:
            given["topic"] = topic
        servers = {"kafka.bootstrap.servers": "h:1", "kafka.schema.registry.url": self.server.url}
        return parse_sink({**servers, "kafka.value.serializer": "avro", **given})

    def encodings(self, options: SinkOptions, schema: StructType = TABLE) -> Encodings:
        """The encodings as a task gets them."""
        found = resolved(options, planned(options, schema), schema)
        return pickle.loads(pickle.dumps(found))  # type: ignore[no-any-return]

    def encode(self, batch: Any, **options: Any) -> Any:
        """Encode a batch as a task does."""
        made = self.options(**options)
        encodings = self.encodings(made)
        self.asked = len(self.registry.requests)
        columns = sink_columns(TABLE, made.topic, ["key", "value"])
        return MessageColumns(encodings, columns, made.topic, made.settings()).encode(batch)

    def read(self, message: bytes, kind: SchemaType = SchemaType.AVRO) -> Any:
        """Read a message as its id says."""
        schema = self.registry.schema(int.from_bytes(message[1:5], "big"))
        return new_format(kind).reader(schema, {}, None)(message, 5)


class EncodeTests(SchemasCase):
    def test_own_schema(self) -> None:
        """Without a schema the table's is registered; tasks ask the registry for nothing; null stays null."""
        batch = self.encode(table(({"id": 1, "item": "a"}, None, "x"), (None, 2, "x")))
        self.assertEqual(self.read(batch.column("value")[0].as_py()), {"id": 1, "item": "a"})
        self.assertIsNone(batch.column("value")[1].as_py())
        self.assertEqual(batch.column("key").type, pa.int32())
        self.assertEqual(self.registry.requests, [("POST", "/subjects/t-value/versions")])
        self.assertEqual(len(self.registry.requests), self.asked)
        self.assertEqual(json.loads(self.registry.schema(1).text)["name"], "t")

    def test_formats(self) -> None:
        """Each language writes the prefix with the id, and its own bytes."""
        row = ({"id": 7, "item": "a"}, 3, "x")
        for kind, name, text in (
            (SchemaType.AVRO, "avro", AVRO),
            (SchemaType.JSON, "json-schema", JSON),
            (SchemaType.PROTOBUF, "protobuf", PROTO),
        ):
            batch = self.encode(
                table(row), topic=name, kafka_value_serializer=name, kafka_kafkatx_value_schema=text
            )
            message = batch.column("value")[0].as_py()
            number = int.from_bytes(message[1:5], "big")
            self.assertEqual(
                (message[:5], self.registry.schema(number)), (prefix(number), Schema(text, kind))
            )
            value = self.read(message, kind) if kind is not SchemaType.PROTOBUF else None
            if kind is SchemaType.PROTOBUF:
                self.assertEqual(message[5:], b"\0\x08\x07\x12\x01a")
            else:
                self.assertEqual(value, {"id": 7, "item": "a"})

    def test_keys(self) -> None:
        """Keys have a subject of their own, and any type."""
        batch = self.encode(table(({"id": 1, "item": "a"}, 3, "x")), kafka_key_serializer="avro")
        self.assertEqual(self.read(batch.column("key")[0].as_py()), 3)
        paths = [path for _, path in self.registry.requests]
        self.assertEqual(paths, ["/subjects/t-key/versions", "/subjects/t-value/versions"])

    def test_latest(self) -> None:
        """With use.latest.version the registry's schema is taken, and nothing is registered."""
        self.registry.add("t-value", AVRO)
        row = table(({"id": 1, "item": None}, 3, "x"))
        more = {"kafka_use_latest_version": "true", "kafka_auto_register_schemas": "false"}
        batch = self.encode(row, **more)
        self.assertEqual(batch.column("value")[0].as_py(), prefix(1) + b"\2\0")
        self.assertEqual([method for method, _ in self.registry.requests], ["GET"])

    def test_not_registered(self) -> None:
        """With auto.register.schemas=false the schema must be there; the error names topic and subject."""
        more = {"kafka_auto_register_schemas": "false", "kafka_kafkatx_value_schema": AVRO}
        error = self.assertRaises(KafkaTXError, self.encode, table((None, 1, "x")), **more)
        self.assertIn("values of topic t, subject t-value: ", str(error))
        self.registry.add("t-value", AVRO)
        self.encode(table(({"id": 1, "item": "a"}, 3, "x")), **more)

    def test_strategies(self) -> None:
        """The subject follows from the topic, the record's name, or both."""
        for name, subject in (
            ("RecordNameStrategy", "acme.Order"),
            ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", "t-acme.Order"),
        ):
            self.registry.requests.clear()
            more = {"kafka_value_subject_name_strategy": name, "kafka_kafkatx_value_schema": AVRO}
            self.encode(table(({"id": 1, "item": "a"}, 3, "x")), **more)
            self.assertEqual(self.registry.requests, [("POST", f"/subjects/{subject}/versions")])

    def test_topic_column(self) -> None:
        """Tasks look each topic's subject up, once, and register nothing."""
        self.registry.add("a-value", AVRO)
        rows = [({"id": number, "item": None}, 1, "a") for number in range(3)]
        more = {"topic": None, "kafka_kafkatx_value_schema": AVRO}
        batch = self.encode(table(*rows, (None, 1, None)), **more)
        self.assertEqual([value.as_py()[:5] for value in batch.column("value")[:3]], [prefix(1)] * 3)
        self.assertEqual(self.registry.requests, [("POST", "/subjects/a-value")])
        error = self.assertRaises(KafkaTXError, self.encode, table(({"id": 1, "item": None}, 1, "b")), **more)
        self.assertIn("values of topic b, subject b-value", str(error))
        self.assertEqual([path for _, path in self.registry.requests if path.endswith("versions")], [])

    def test_topic_column_with_records(self) -> None:
        """A subject by the record's name is the driver's work for all topics."""
        more = {"kafka_value_subject_name_strategy": "RecordNameStrategy", "kafka_kafkatx_value_schema": AVRO}
        self.encode(
            table(({"id": 1, "item": "a"}, 3, "x"), ({"id": 1, "item": "a"}, 3, "y")), topic=None, **more
        )
        self.assertEqual(self.registry.requests, [("POST", "/subjects/acme.Order/versions")])

    def test_bad_rows(self) -> None:
        """A row that does not fit names topic, field and subject, in each language."""
        strict = json.dumps({"properties": {"id": {"type": "integer", "maximum": 5}}})
        for name, text, row, field in (
            ("avro", AVRO, {"id": None, "item": "a"}, "on field id"),
            ("json-schema", strict, {"id": 6, "item": "a"}, "$.id"),
            ("protobuf", PROTO.replace("int64", "int32"), {"id": 1 << 40, "item": "a"}, "id field"),
        ):
            more = {"topic": name, "kafka_value_serializer": name, "kafka_kafkatx_value_schema": text}
            error = self.assertRaises(BadRow, self.encode, table((row, 3, "x")), **more)
            self.assertIn(
                f"topic {name}: a value does not fit the schema of subject {name}-value", str(error)
            )
            self.assertIn(field, str(error))


class RefusedTests(SchemasCase):
    def refused(self, schema: StructType = TABLE, **more: Any) -> str:
        """Return the error of impossible settings, before the registry is asked."""

        def plan() -> None:
            planned(self.options(**more), schema)

        error = self.assertRaises(SettingError, plan)
        self.assertEqual(self.registry.requests, [])
        return str(error)

    def test_settings(self) -> None:
        """Wrong settings name their option."""
        self.assertIn("'value.serializer' is not supported", self.refused(kafka_value_serializer="string"))
        self.assertIn("value.schema is not set", self.refused(kafka_value_serializer="json-schema"))
        self.assertIn("kafka.kafkatx.value.schema", self.refused(kafka_kafkatx_value_schema="{"))
        self.assertIn("No such file", self.refused(kafka_kafkatx_value_schema="@/nowhere"))
        self.assertIn("the strategies are", self.refused(kafka_value_subject_name_strategy="X"))
        self.assertIn(
            "the id before the message only", self.refused(kafka_value_schema_id_serializer="header")
        )
        no_url = {"kafka.bootstrap.servers": "h:1", "kafka.value.serializer": "avro"}
        self.assertIn("schema.registry.url", str(self.assertRaises(SettingError, parse_sink, no_url)))
        unused = {"kafka.bootstrap.servers": "h:1", "kafka.schema.registry.url": "http://h"}
        self.assertIn("kafka.value.serializer", str(self.assertRaises(SettingError, parse_sink, unused)))

    def test_missing_fields(self) -> None:
        """Columns that the schema lacks would be lost: an error names them and the subject."""
        wide = StructType().add("value", StructType().add("id", "long").add("price", "double"))
        for name, text in (("avro", AVRO), ("protobuf", PROTO)):
            options = self.options(kafka_value_serializer=name, kafka_kafkatx_value_schema=text, topic=name)
            error = self.assertRaises(SettingError, self.encodings, options, wide)
            self.assertIn(f"subject {name}-value has no field price; it has id, item", str(error))

    def test_another_language(self) -> None:
        """A subject of another language is told of."""
        self.registry.add("t-value", JSON, SchemaType.JSON)
        more = {"kafka_use_latest_version": "true", "kafka_auto_register_schemas": "false"}
        error = self.assertRaises(KafkaTXError, self.encodings, self.options(**more))
        self.assertIn("is of type JSON, not AVRO", str(error))

    def test_without(self) -> None:
        """Without a serializer no registry is asked, and columns are as they are."""
        options = parse_sink({"kafka.bootstrap.servers": "h:1", "topic": "t"})
        self.assertEqual(self.encodings(options), NO_ENCODINGS)
        batch = table((None, 1, "x"))
        made = MessageColumns(
            NO_ENCODINGS, sink_columns(TABLE, "t", ["key", "value"]), "t", options.settings()
        )
        self.assertIs(made.encode(batch), batch)
