"""Tests of kafkatx.spark.sink.schemas.message_columns, with a registry in memory."""

from __future__ import annotations

import json

import pyarrow as pa

from kafkatx.errors import KafkaTXError
from kafkatx.schemas.framing import prefix
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.spark.sink.encoder import BadRow
from tests.spark.sink.schemas.cases import AVRO, JSON, PROTO, SchemasCase, table


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
