"""Tests of kafkatx.spark.ingest.schema_resolver, with a registry over HTTP."""

from __future__ import annotations

import socket

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import SettingError
from kafkatx.schemas.framing import header_value, prefix
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.spark.ingest import schema_resolver as module
from kafkatx.spark.ingest.schema_resolver import SchemaResolver, uses_registry
from tests.schemas.http_registry import HttpRegistry
from tests.schemas.messages.avro.test_avro_format import USER
from tests.schemas.messages.protobuf import moved

NEWER = USER.replace('"type": "long"', '"type": "double"')


class SchemaResolverTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a registry with two versions of a subject."""
        self.server = HttpRegistry()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.registry = self.server.registry
        self.registry.add("t-value", USER)

    def resolver(self, **settings: str) -> SchemaResolver:
        """Return a resolver."""
        made = SchemaResolver("avro", {"schema.registry.url": self.server.url, **settings})
        self.addCleanup(made.close)
        return made

    def test_uses_registry(self) -> None:
        """The decoder avro uses a registry if its address is set; others always do."""
        self.assertEqual(
            [uses_registry(*each) for each in (("avro", {}), ("avro", {module.URL: "x"}), ("protobuf", {}))],
            [False, True, True],
        )
        self.assertFalse(uses_registry("json", {}) or uses_registry(None, {}))

    def test_latest(self) -> None:
        """Topics are read as the latest version; a newer one is found at the next commit."""
        resolver = self.resolver()
        self.assertTrue(resolver.begin({"t"}))
        self.assertFalse(resolver.begin({"t"}))
        self.assertEqual(resolver.schemas.readers["t"].schema, Schema(USER))
        self.registry.add("t-value", NEWER)
        self.assertTrue(resolver.begin({"t"}))
        self.assertEqual(resolver.schemas.readers["t"].schema, Schema(NEWER))

    def test_fixed(self) -> None:
        """A version and a subject may be set."""
        self.registry.add("t-value", NEWER)
        resolver = self.resolver(subject="t-value", version="1")
        resolver.begin({"other"})
        self.assertEqual(resolver.schemas.readers["other"].schema, Schema(USER))

    def test_message(self) -> None:
        """Protobuf's rows are of the first message of the oldest version, or of the one that is set."""
        for schema in (moved.FIRST, moved.SECOND):
            self.registry.add("p-value", schema.text, SchemaType.PROTOBUF)
        for settings, expected in (({}, "s.O"), ({"message": "s.A"}, "s.A")):
            resolver = SchemaResolver("protobuf", {"schema.registry.url": self.server.url, **settings})
            self.addCleanup(resolver.close)
            resolver.begin({"p"})
            self.assertEqual(resolver.schemas.readers["p"].message, expected)
        self.assertRaises(SettingError, self.resolver(message="User").begin, {"t"})

    def test_ids(self) -> None:
        """Ids and GUIDs get their schemas, or the reason why not."""
        self.registry.add("json", "{}", SchemaType.JSON)
        resolver = self.resolver()
        resolver.begin({"t"})
        by_guid = header_value(self.registry.guid(1))
        resolver.resolve({prefix(1), by_guid, prefix(2), prefix(9), b"\1short"})
        schemas = resolver.schemas
        self.assertEqual({schemas.written[frame].schema.text for frame in (prefix(1), by_guid)}, {USER})
        self.assertEqual(set(schemas.bad), {prefix(2), prefix(9), b"\1short"})
        self.assertIn("40403", schemas.bad[prefix(9)])
        resolver.begin({"t"})
        self.assertEqual(resolver.schemas.bad, {})

    def test_limit(self) -> None:
        """The number of look-ups without a schema is limited."""
        self.patch(module, "MOST_BAD", 3)
        resolver = self.resolver()
        resolver.begin({"t"})
        resolver.resolve([prefix(number) for number in range(10, 13)])
        self.assertTrue(resolver.schemas.complete)

    def test_away(self) -> None:
        """A registry that does not answer is an error that may pass; so is one that fails."""
        self.resolver().check()
        self.registry.down = True
        self.assertRaises(ConnectionFailed, self.resolver().check)
        self.assertRaises(ConnectionFailed, self.resolver().begin, {"t"})
        with socket.create_server(("127.0.0.1", 0)) as free:
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        away = SchemaResolver("avro", {"schema.registry.url": url})
        self.assertRaises(ConnectionFailed, away.begin, {"t"})
        self.assertRaises(ConnectionFailed, away.resolve, {prefix(1)})

    def test_wrong(self) -> None:
        """Wrong settings, subjects and languages are told of."""
        for settings in ({"unknown": "1"}, {"version": "0"}, {"version": "x"}):
            self.assertRaises(SettingError, self.resolver, **settings)
        self.assertRaises(SettingError, SchemaResolver, "protobuf", {})
        self.assertRaises(SettingError, self.resolver().begin, {"none"})
        self.registry.add("json-value", "{}", SchemaType.JSON)
        self.assertRaises(SettingError, self.resolver().begin, {"json"})
