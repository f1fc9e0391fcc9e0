"""Tests of kafkatx.spark.sink.schemas.resolution, with a registry in memory."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import StructType

from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.schemas.types import SchemaType
from kafkatx.spark.sink.options import parse_sink
from kafkatx.spark.sink.schema import sink_columns
from kafkatx.spark.sink.schemas.message_columns import NO_ENCODINGS, MessageColumns
from kafkatx.spark.sink.schemas.resolution import planned
from tests.spark.sink.schemas.cases import AVRO, JSON, PROTO, TABLE, SchemasCase, table


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
