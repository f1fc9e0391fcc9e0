"""Tests of kafkatx.spark.registry_columns: the functions that workers call."""

from __future__ import annotations

import pickle
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import KafkaTXError
from kafkatx.schemas.framing import prefix
from kafkatx.schemas.messages.errors import BadPayload, BadValue
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.spark import registry_columns as module
from kafkatx.spark.ingest.decoder.registered import KnownSchemas, Registered
from kafkatx.spark.registry_columns import _FromRegistry, _ToRegistry
from tests.schemas.http_registry import HttpRegistry
from tests.schemas.messages.avro.test_avro_format import USER
from tests.schemas.messages.protobuf import moved

NEWER = USER.replace('"fields": [', '"fields": [{"name": "country", "type": "string", "default": "nl"},')
TYPE = "struct<country:string,id:bigint,name:string,age:int>"
ANN = b"\2\6ann\0"


class FromRegistryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a registry; make a function that reads as a newer schema and knows one id."""
        self.server = HttpRegistry()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.server.registry.add("t-value", USER)
        self.server.registry.add("other", "{}", SchemaType.JSON)
        self.server.registry.add("t-value", NEWER)

    def function(self, null_errors: bool = False) -> Any:
        """Return the function as a worker gets it."""
        schemas = KnownSchemas(
            SchemaType.AVRO, {"": ReaderSchema(Schema(NEWER))}, {prefix(1): Registered(Schema(USER))}
        )
        client = {"schema.registry.url": self.server.url}
        return pickle.loads(pickle.dumps(_FromRegistry(schemas, TYPE, client, null_errors)))

    def test_values(self) -> None:
        """Messages are read as the newer schema, without a request; null stays null."""
        function = self.function()
        expected = {"country": "nl", "id": 1, "name": "ann", "age": None}
        self.assertEqual([function(each) for each in (prefix(1) + ANN, None)], [expected, None])
        self.assertEqual(function(bytearray(prefix(1) + ANN)), expected)
        self.assertEqual(self.server.registry.requests, [])

    def test_messages(self) -> None:
        """A Protobuf message is found by its name, and others of its file cannot be read."""
        written = {prefix(1): Registered(moved.FIRST), prefix(2): Registered(moved.SECOND)}
        reader = ReaderSchema(moved.SECOND, message="s.O")
        schemas = KnownSchemas(SchemaType.PROTOBUF, {"": reader}, written)
        function = _FromRegistry(schemas, "struct<id:string,c:bigint>", {}, False)
        first, second, other = moved.MESSAGES
        self.assertEqual(
            [function(each) for each in (first, second)], [{"id": "A1", "c": 995}, {"id": "A2", "c": 996}]
        )
        self.assertRaises(BadPayload, function, other)

    def test_look_up(self) -> None:
        """An id that is not known is looked up once."""
        function = self.function()
        for _ in range(3):
            self.assertEqual(function(prefix(3) + b"\4de" + ANN)["country"], "de")
        self.assertEqual(self.server.registry.requests, [("GET", "/schemas/ids/3")])

    def test_errors(self) -> None:
        """Messages that cannot be read raise, or are null."""
        for message in (b"", b"text...", prefix(1) + b"\2", prefix(2) + b"{}", prefix(9) + ANN):
            self.assertRaises(KafkaTXError, self.function(), message)
            self.assertIsNone(self.function(null_errors=True)(message))

    def test_hostile(self) -> None:
        """An id without a schema is asked about once, and not more than the limit of them."""
        self.patch(module, "MOST_BAD", 3)
        function = self.function(null_errors=True)
        for number in (9, 9, 10, 11, 12, 13, 9):
            self.assertIsNone(function(prefix(number) + ANN))
        self.assertEqual(len(self.server.registry.requests), 3)


class ToRegistryTests(SynchronousTestCase):
    def test_values(self) -> None:
        """Values become messages with the prefix; wrong ones raise."""
        function = pickle.loads(pickle.dumps(_ToRegistry(Registered(Schema(USER)), prefix(7))))
        self.assertEqual(function({"id": 1, "name": "ann"}), prefix(7) + ANN)
        self.assertIsNone(function(None))
        self.assertRaises(BadValue, function, {"id": "x"})
