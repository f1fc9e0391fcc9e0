"""A registry, and a table whose rows become messages."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.formats import new_format
from kafkatx.schemas.types import SchemaType
from kafkatx.spark.sink.options import SinkOptions, parse_sink
from kafkatx.spark.sink.schema import sink_columns
from kafkatx.spark.sink.schemas.message_columns import Encodings, MessageColumns
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
