"""Tests of kafkatx.cli.options.registry."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import click
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options import cluster
from kafkatx.cli.options import registry as module
from kafkatx.cli.options.registry import open_registry, read_schema, registry_settings
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.schemas.types import Reference, Schema, SchemaType


class ReadSchemaTests(SynchronousTestCase):
    def test_places(self) -> None:
        """A schema is read from a file, standard input or the argument itself."""
        path = Path(self.mktemp())
        path.write_text('"int"')
        self.assertEqual(read_schema(str(path), None), Schema('"int"'))
        self.assertEqual(read_schema('{"type": "int"}', None).text, '{"type": "int"}')
        self.patch(sys, "stdin", StringIO('"long"'))
        self.assertEqual(read_schema("-", None).text, '"long"')
        self.assertRaises(KafkaTXError, read_schema, "/nowhere", None)

    def test_types(self) -> None:
        """The language comes from the option, or from the name of the file."""
        folder = Path(self.mktemp())
        folder.mkdir()
        for name, kind in (
            ("a.avsc", SchemaType.AVRO),
            ("a.proto", SchemaType.PROTOBUF),
            ("a.json-schema", SchemaType.JSON),
            ("a.schema.json", SchemaType.JSON),
        ):
            (folder / name).write_text("{}")
            self.assertIs(read_schema(str(folder / name), None).type, kind)
        self.assertIs(read_schema(str(folder / "a.avsc"), "protobuf").type, SchemaType.PROTOBUF)

    def test_references(self) -> None:
        """References have a name, a subject and a version."""
        found = read_schema("{}", None, ("a.b=s:with:colons:2",))
        self.assertEqual(found.references, (Reference("a.b", "s:with:colons", 2),))
        for text in ("a", "a=s", "a=s:x", "=s:1", "a=:1"):
            self.assertRaises(click.UsageError, read_schema, "{}", None, (text,))

    def test_address(self) -> None:
        """A wrong address is told of."""
        self.assertRaises(SettingError, open_registry, "ftp://x", 1.0)
        self.assertEqual(open_registry("http://a,http://b", 5.0).settings.read_timeout_s, 5.0)


class SettingsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Begin with a file of settings that knows a login, TLS, and brokers' own settings."""
        self.given = {"basic.auth.user.info": "alice:p", "ssl.truststore.location": "ca", "acks": "1"}
        self.patch(cluster, "_properties", self.given)
        self.asked: list[str] = []
        self.patch(module, "ask_password", self.ask)

    def ask(self, question: str) -> str:
        """Answer a question."""
        self.asked.append(question)
        return "from the terminal"

    def test_file(self) -> None:
        """The file's settings of a registry are taken, and not given to brokers' clients."""
        self.given["schema.registry.url"] = "https://of-the-file"
        found = registry_settings("")
        self.assertEqual(found.pop("schema.registry.url"), "https://of-the-file")
        self.assertEqual(found, {"basic.auth.user.info": "alice:p", "ssl.truststore.location": "ca"})
        self.assertEqual(registry_settings("https://x")["schema.registry.url"], "https://x")
        names = set(cluster.client_settings("b:1", 5)) & set(self.given)
        self.assertEqual(names, {"ssl.truststore.location", "acks"})

    def test_default(self) -> None:
        """Without an address the registry of kafkatx up is asked."""
        self.assertEqual(registry_settings("")["schema.registry.url"], "http://127.0.0.1:8081")

    def test_password(self) -> None:
        """A terminal is asked for the password of a user in the address, unless a setting has it."""
        registry_settings("https://alice@a,https://b")
        registry_settings("https://u:p@a")
        del self.given["basic.auth.user.info"]
        registry_settings("https://a")
        self.assertEqual(self.asked, [])
        found = registry_settings("https://b%40c@a")
        self.assertEqual(found["basic.auth.user.info"], "b@c:from the terminal")
        self.assertEqual(len(self.asked), 1)

    def test_no_terminal(self) -> None:
        """Without a terminal the error names the setting."""
        del self.given["basic.auth.user.info"]
        self.patch(module, "ask_password", lambda question: None)
        error = self.assertRaises(SettingError, open_registry, "https://bob@a", 1.0)
        self.assertIn("basic.auth.user.info=bob:PASSWORD", str(error))
