"""Tests of kafkatx.blocking.registry.coders, with a registry over HTTP."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.blocking.registry.coders import MessageReader, MessageWriter
from kafkatx.clientcore.registry.errors import RegistryError
from kafkatx.clientcore.registry.plans import WriterPolicy
from kafkatx.errors import KafkaTXError
from kafkatx.schemas.framing import header_value, prefix
from kafkatx.schemas.types import Schema, SchemaType
from tests.schemas.http_registry import HttpRegistry
from tests.schemas.messages.avro.test_avro_format import USER

ANN = {"id": 1, "name": "ann", "age": None}


class CodersTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a registry; make a client."""
        self.server = HttpRegistry()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.client = BlockingRegistry.of({"schema.registry.url": self.server.url})
        self.addCleanup(self.client.close)

    def test_round_trip(self) -> None:
        """A message is written with a schema, and read with one request."""
        writer = MessageWriter(self.client, "s", Schema(USER), WriterPolicy())
        message = writer.write(ANN)
        self.assertEqual(message[:5], prefix(1))
        reader = MessageReader(self.client, SchemaType.AVRO)
        self.server.registry.requests.clear()
        for _ in range(3):
            found = reader.read(message)
            self.assertEqual((found.value, found.schema.id), (ANN, 1))
        self.assertEqual(len(self.server.registry.requests), 1)

    def test_header(self) -> None:
        """A header tells the schema; that of a key has another name."""
        bare = MessageWriter(self.client, "s", Schema(USER), WriterPolicy()).write(ANN)[5:]
        guid = header_value(self.server.registry.guid(1))
        for name, is_key in (("__value_schema_id", False), ("__key_schema_id", True)):
            reader = MessageReader(self.client, SchemaType.AVRO, is_key)
            self.assertEqual(reader.read(bare, [("other", None), (name, guid)]).value, ANN)

    def test_errors(self) -> None:
        """Messages of unknown and other schemas are errors, without a request each."""
        self.server.registry.add("json", "{}", SchemaType.JSON)
        reader = MessageReader(self.client, SchemaType.AVRO)
        for message in (prefix(1) + b"{}", prefix(9) + b"x", b"text", b""):
            for _ in range(2):
                self.assertRaises(KafkaTXError, reader.read, message)
        self.assertEqual(len(self.server.registry.requests), 2)
        policy = WriterPolicy(auto_register=False, use_latest=True)
        self.assertRaises(RegistryError, MessageWriter, self.client, "none", None, policy)
