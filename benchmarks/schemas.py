"""Encoding and decoding of messages with schemas, beside confluent-kafka's serializers, in one run.

python -m benchmarks.schemas [--rounds 5] [--records 20000] [--json]

Both sides use the registry of one broker, and have all schemas in their caches. In each round every load runs
once on each side, in turn. Printed are records per second of CPU time: the median of the rounds, the smallest
and the largest, and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.client.registry import coders
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.testing import EmbeddedBroker

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Request",
        "fields": [
            {"name": "client", "type": "string"},
            {"name": "time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "method", "type": ["null", "string"], "default": None},
            {"name": "path", "type": "string"},
            {"name": "status", "type": "int"},
            {"name": "bytes", "type": ["null", "long"], "default": None},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
)
JSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Request",
        "type": "object",
        "required": ["client", "path", "status"],
        "properties": {
            "client": {"type": "string"},
            "time": {"type": "string"},
            "method": {"oneOf": [{"type": "null"}, {"type": "string"}]},
            "path": {"type": "string"},
            "status": {"type": "integer", "minimum": 100, "maximum": 599},
            "bytes": {"oneOf": [{"type": "null"}, {"type": "integer"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
)
PROTO = """syntax = "proto3";
message Request {
  string client = 1; int64 time = 2; string method = 3; string path = 4; int32 status = 5; int64 bytes = 6;
  repeated string tags = 7;
}"""
VALUE: dict[str, Any] = {
    "client": "83.149.9.216",
    "time": datetime(2015, 5, 17, 10, 5, 3, tzinfo=timezone.utc),
    "method": "GET",
    "path": "/presentations/logstash-monitorama-2013/images/kibana-search.png",
    "status": 200,
    "bytes": 203023,
    "tags": ["a", "bc"],
}
Call = Callable[[Any], Any]


class _Registry:
    """The registry of the broker, asked at once: only before anything is measured."""

    def __init__(self, url: str) -> None:
        self._blocking = BlockingRegistry.of({"schema.registry.url": url})
        self.settings = self._blocking.settings
        self.reactor = Clock()

    def run(self, plan: Any) -> Deferred[Any]:
        """Return a Deferred that has fired."""
        return succeed(self._blocking.run(plan))


def message_class() -> Any:
    """Return the class of :data:`PROTO`."""
    parsed: Any = engine(SchemaType.PROTOBUF).parse(Schema(PROTO, SchemaType.PROTOBUF), {})
    pool: Any = DescriptorPool()
    pool.Add(parsed.file)
    return GetMessageClass(pool.FindMessageTypeByName("Request"))


def ours(name: str, registry: Any, url: str, schema: Any, value: Any) -> tuple[Call, Call]:
    """Return our encoder and decoder."""
    encoder: Any = getattr(coders, f"{name}_encoder")()
    decoder: Any = getattr(coders, f"{name}_decoder")()
    common = {"schema.registry.url": url}
    encoder.attach(
        registry, ClientSettings.load("producer", {**common, "kafkatx.value.schema": schema}), False
    )
    reader = {"kafkatx.value.reader.schema": schema} if name == "protobuf" else {}
    decoder.attach(registry, ClientSettings.load("consumer", {**common, **reader}), False)
    encoder.prepare(name, value)
    data = encoder.encode(name, value)
    decoder.prepare_batch(name, [data], [b""])
    return (lambda each: encoder.encode(name, each)), (lambda each: decoder.decode(name, each))


def theirs(name: str, url: str, schema: Any) -> tuple[Call, Call]:
    """Return Confluent's serializer and deserializer."""
    client = SchemaRegistryClient({"url": url})
    context = SerializationContext(name, MessageField.VALUE)
    made: tuple[Any, Any]
    match name:
        case "avro":
            made = AvroSerializer(client, schema), AvroDeserializer(client)
        case "json":
            made = JSONSerializer(schema, client), JSONDeserializer(schema)
        case _:
            plain = {"use.deprecated.format": False}
            made = ProtobufSerializer(schema, client, plain), ProtobufDeserializer(schema, plain)
    write, read = made
    return (lambda each: write(each, context)), (lambda each: read(each, context))


def rate(call: Call, value: Any, records: int) -> float:
    """Return the calls per second of CPU time."""
    start = time.process_time()
    for _ in range(records):
        call(value)
    return records / (time.process_time() - start)


def measure(url: str, rounds: int, records: int) -> dict[str, dict[str, list[float]]]:
    """Return the rates of each load, ours and theirs, by round."""
    registry, kind = _Registry(url), message_class()
    text_value = {**VALUE, "time": VALUE["time"].isoformat()}
    message = kind(**{**VALUE, "time": 1431857103000})
    loads: dict[str, tuple[Call, Call, Any]] = {}
    for name, schema, value in (
        ("avro", AVRO, VALUE),
        ("json", JSON, text_value),
        ("protobuf", kind, message),
    ):
        write, read = ours(name, registry, url, schema, value)
        their_write, their_read = theirs(name, url, schema)
        data = write(value)
        payload = their_write(value)[5:]
        assert payload == data[5:] or json.loads(payload) == json.loads(data[5:])
        their_read(data)
        loads[f"{name} encode"] = write, their_write, value
        loads[f"{name} decode"] = read, their_read, data
    found: dict[str, dict[str, list[float]]] = {name: {"ours": [], "theirs": []} for name in loads}
    for turn in range(rounds):
        for name, (our, their, value) in loads.items():
            sides = [("ours", our), ("theirs", their)]
            for side, call in sides if turn % 2 else reversed(sides):
                found[name][side].append(rate(call, value, records))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--json", action="store_true", help="print all rates as JSON")
    given = parser.parse_args()
    with EmbeddedBroker({"http.listeners": "HTTP://127.0.0.1:0"}, run_in="process") as broker:
        found = measure(broker.http, given.rounds, given.records)
    if given.json:
        print(json.dumps(found))
        return
    print("| load | kafkatx records/s | confluent-kafka records/s | ratio |\n|---|---|---|---|")
    for name, sides in found.items():
        texts = [
            f"{statistics.median(rates):,.0f} ({min(rates):,.0f}-{max(rates):,.0f})"
            for rates in sides.values()
        ]
        ratio = statistics.median(sides["ours"]) / statistics.median(sides["theirs"])
        print(f"| {name} | {texts[0]} | {texts[1]} | {ratio:.1f} |")


if __name__ == "__main__":
    main()
