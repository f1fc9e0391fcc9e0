"""Tests of kafkatx.cli.options.registry."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import click
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options.registry import open_registry, read_schema
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
