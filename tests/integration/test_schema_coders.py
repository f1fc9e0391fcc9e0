"""Our encoders and decoders with Confluent's serializers and deserializers for Python, both ways."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, ClassVar

from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import (
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from schema_registry.client import SchemaRegistryClient as OtherClient
from schema_registry.client.schema import AvroSchema, JsonSchema
from schema_registry.serializers.message_serializer import AvroMessageSerializer, JsonMessageSerializer
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.registry import coders
from kafkatx.records.builder import encode_headers
from kafkatx.schemas.messages.protobuf.message_values import as_dict
from kafkatx.schemas.types import Reference, Schema, SchemaType
from tests.client.registry.sync_registry import (
    SyncRegistry,
    attach_decoder,
    attach_encoder,
    decode,
    encode,
)
from tests.integration.clients import new_topic
from tests.integration.registry import register, registry_broker
from tests.schemas.messages.orders import TEXT, classes, importing_class

AVRO = """{"type": "record", "name": "User", "namespace": "acme", "fields": [
  {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"], "default": null},
  {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
  {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []}]}"""
NEWER = AVRO.replace('"name": "id", "type": "long"', '"name": "id", "type": "double"').replace(
    '"fields": [', '"fields": [{"name": "country", "type": "string", "default": "nl"},'
)
ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "by", "type": "acme.User"}]}'
JSON = """{"title": "User", "type": "object", "required": ["id"], "properties": {
  "id": {"type": "integer"}, "name": {"type": "string"}}}"""
JSON_ORDER = '{"title": "Order", "type": "object", "properties": {"by": {"$ref": "user.json"}}}'


class CodersCase(SynchronousTestCase):
    """The registry of a broker, with a client of each library."""

    settings: ClassVar[dict[str, Any]] = {}

    def setUp(self) -> None:
        """Start the registry."""
        self.topic = new_topic()
        url = registry_broker().http
        self.theirs = SchemaRegistryClient({"url": url})
        self.ours = SyncRegistry(url)
        self.addCleanup(self.ours.close)

    def context(self) -> SerializationContext:
        """Return Confluent's context of a value."""
        return SerializationContext(self.topic, MessageField.VALUE, [])

    def encoder(self, name: str, **settings: Any) -> Any:
        """Return one of our encoders."""
        return attach_encoder(getattr(coders, f"{name}_encoder")(), self.ours, **settings)

    def decoder(self, name: str, **settings: Any) -> Any:
        """Return one of our decoders."""
        return attach_decoder(getattr(coders, f"{name}_decoder")(), self.ours, **settings)

    def both(self, name: str, schema: Any, value: Any, serializer: Any, deserializer: Any) -> Any:
        """Check that the bytes are equal, and each side reads them; return what ours reads."""
        written, _ = encode(self.encoder(name, kafkatx_value_schema=schema), self.topic, value)
        assert written is not None
        theirs = serializer(value, self.context())
        found = decode(self.decoder(name), self.topic, theirs)
        self.assertEqual(deserializer(written, self.context()), deserializer(theirs, self.context()))
        again = decode(self.decoder(name), self.topic, written)
        self.assertEqual(str(again), str(found))  # classes made from a descriptor are not the same ones
        return written, theirs, found


class AvroTests(CodersCase):
    def setUp(self) -> None:
        """Make a value."""
        super().setUp()
        self.value = {"id": 1, "name": "ann", "at": datetime(2015, 5, 19, tzinfo=timezone.utc), "tags": ["a"]}

    def test_both_ways(self) -> None:
        """The same bytes with the same id, read by both."""
        written, theirs, found = self.both(
            "avro", AVRO, self.value, AvroSerializer(self.theirs, AVRO), AvroDeserializer(self.theirs)
        )
        self.assertEqual(written, theirs)
        self.assertEqual(found, self.value)

    def test_evolution(self) -> None:
        """Both read old data with a newer schema in the same way."""
        written, _ = encode(self.encoder("avro", kafkatx_value_schema=AVRO), self.topic, self.value)
        ours = decode(self.decoder("avro", kafkatx_value_reader_schema=NEWER), self.topic, written or b"")
        self.assertEqual(ours, AvroDeserializer(self.theirs, NEWER)(written, self.context()))
        self.assertEqual((ours["id"], ours["country"]), (1.0, "nl"))

    def test_references(self) -> None:
        """Schemas with references are registered and read by both."""
        user = f"{self.topic}-user"
        register(user, AVRO)
        given = Schema(ORDER, SchemaType.AVRO, (Reference("acme.User", user, 1),))
        theirs = TheirSchema(ORDER, "AVRO", [SchemaReference("acme.User", user, 1)])
        written, other, found = self.both(
            "avro",
            given,
            {"by": self.value},
            AvroSerializer(self.theirs, theirs),
            AvroDeserializer(self.theirs),
        )
        self.assertEqual((written, found), (other, {"by": self.value}))

    def test_header(self) -> None:
        """The header form is equal to theirs, and each reads the other's."""
        encoder = self.encoder("avro", kafkatx_value_schema=AVRO, value_schema_id_serializer="header")
        written, headers = encode(encoder, self.topic, self.value)
        context = self.context()
        serializer = AvroSerializer(
            self.theirs, AVRO, conf={"schema.id.serializer": header_schema_id_serializer}
        )
        theirs = serializer(self.value, context)
        self.assertEqual((written, list(headers)), (theirs, list(context.headers)))
        found = decode(self.decoder("avro"), self.topic, theirs or b"", encode_headers(context.headers))
        self.assertEqual(found, self.value)
        self.assertEqual(AvroDeserializer(self.theirs)(written, context), self.value)


class JsonSchemaTests(CodersCase):
    def test_both_ways(self) -> None:
        """Each reads what the other wrote, under the same id."""
        value = {"id": 1, "name": "änn"}
        written, theirs, found = self.both(
            "json", JSON, value, JSONSerializer(JSON, self.theirs), JSONDeserializer(JSON)
        )
        self.assertEqual((written[:5], found), (theirs[:5], value))

    def test_references(self) -> None:
        """Schemas with references are registered and read by both."""
        user = f"{self.topic}-user"
        register(user, JSON, SchemaType.JSON)
        given = Schema(JSON_ORDER, SchemaType.JSON, (Reference("user.json", user, 1),))
        theirs = TheirSchema(JSON_ORDER, "JSON", [SchemaReference("user.json", user, 1)])
        value = {"by": {"id": 1}}
        serializer = JSONSerializer(theirs, self.theirs)
        deserializer = JSONDeserializer(theirs, schema_registry_client=self.theirs)
        _, _, found = self.both("json", given, value, serializer, deserializer)
        self.assertEqual(found, value)


class OtherClientTests(CodersCase):
    """The package python-schema-registry-client, which shares no code with Confluent's."""

    def test_avro(self) -> None:
        """The same bytes with the same id, read by both."""
        client = OtherClient(registry_broker().http)
        serializer, subject = AvroMessageSerializer(client), f"{self.topic}-value"
        value = {"id": 1, "name": "ann", "at": datetime(2015, 5, 19, tzinfo=timezone.utc), "tags": ["a"]}
        theirs = serializer.encode_record_with_schema(subject, AvroSchema(AVRO), value)
        written, _ = encode(self.encoder("avro", kafkatx_value_schema=AVRO), self.topic, value)
        self.assertEqual(written, theirs)
        self.assertEqual(serializer.decode_message(written), value)
        self.assertEqual(decode(self.decoder("avro"), self.topic, theirs), value)

    def test_json_schema(self) -> None:
        """Each reads what the other wrote, under the same id."""
        client = OtherClient(registry_broker().http)
        serializer, subject = JsonMessageSerializer(client), f"{self.topic}-value"
        value = {"id": 1, "name": "ann"}
        theirs = serializer.encode_record_with_schema(subject, JsonSchema(JSON), value)
        self.assertEqual(decode(self.decoder("json"), self.topic, theirs), value)
        latest = {"auto_register_schemas": False, "use_latest_version": True}
        written, _ = encode(self.encoder("json", **latest), self.topic, value)
        assert written is not None
        self.assertEqual((written[:5], serializer.decode_message(written)), (theirs[:5], value))


class ProtobufTests(CodersCase):
    def test_both_ways(self) -> None:
        """The same bytes with the same id and indexes, read by both, for each message of a file."""
        order, line, other = classes()
        for value in (order(id=1, item="a", lines=[line(name="x")]), line(name="y"), other(number=3)):
            kind = type(value)
            serializer = ProtobufSerializer(kind, self.theirs, {"use.deprecated.format": False})
            deserializer = ProtobufDeserializer(kind, {"use.deprecated.format": False})
            written, theirs, found = self.both("protobuf", kind, value, serializer, deserializer)
            self.assertEqual((written, as_dict(found)), (theirs, as_dict(value)))

    def test_imports(self) -> None:
        """The files that a class's file imports are registered before it, as Confluent does."""
        basket = importing_class()
        value = basket(order={"id": 7})
        plain = {"use.deprecated.format": False}
        serializer = ProtobufSerializer(basket, self.theirs, plain)
        written, theirs, found = self.both(
            "protobuf", basket, value, serializer, ProtobufDeserializer(basket, plain)
        )
        self.assertEqual((written, as_dict(found)), (theirs, {"order": {"id": "7"}}))

    def test_text(self) -> None:
        """Confluent's deserializer asks the registry for the serialized form of a schema that is a text."""
        order, _, _ = classes()
        written, _ = encode(
            self.encoder("protobuf", kafkatx_value_schema=TEXT), self.topic, {"id": 1, "item": "a"}
        )
        assert written is not None
        plain = {"use.deprecated.format": False}
        found = ProtobufDeserializer(order, plain, self.theirs)(written, self.context())
        self.assertEqual(found, order(id=1, item="a"))
