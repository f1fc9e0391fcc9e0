"""Tests of kafkatx.cli.messages.schema_lines: produce and consume with schemas, with a registry over HTTP."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from kafkatx.cli.messages.consume import renderer
from kafkatx.cli.messages.schema_lines import open_decoding
from kafkatx.cli.output.records import Rows
from kafkatx.errors import KafkaTXError
from kafkatx.schemas.framing import prefix
from tests.cli.command_case import CommandCase
from tests.cli.fake_consumer import A0, B1, FakeConsumer, records
from tests.schemas.http_registry import HttpRegistry
from tests.schemas.messages.avro.test_avro_format import USER

ANN_BYTES, BEN_BYTES = b"\2\6ann\0", b"\4\6ben\2\x0e"
LINES = '{"id": 1, "name": "ann"}\n{"id": 2, "name": "ben", "age": {"int": 7}}\n'


class SchemaLinesTests(CommandCase):
    def setUp(self) -> None:
        """Start a registry."""
        super().setUp()
        self.server = HttpRegistry()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.folder = Path(self.mktemp())
        self.folder.mkdir()

    def file(self, name: str, text: str) -> str:
        """Write a file; return its path."""
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def produce(self, lines: str, *options: str, code: int = 0, topic: str = "t") -> None:
        """Write lines."""
        path = self.file("lines", lines)
        arguments = ["produce", topic, path, "-q", "-p", "0", "--registry", self.server.url, *options]
        self.assertEqual(self.run_command(*arguments), code, self.err.text())

    def consume(self, *options: str, code: int = 0) -> str:
        """Print the topic, decoded."""
        self.use_streams()
        arguments = ["consume", "t", "-e", "--registry", self.server.url, *options]
        self.assertEqual(self.run_command(*arguments), code, self.err.text())
        return self.out.text()

    def test_round_trip(self) -> None:
        """Lines of JSON are written with a schema, and printed as JSON."""
        self.produce(LINES, "--schema", self.file("user.avsc", USER))
        self.assertEqual(
            self.consume("--decode", "avro"),
            '{"id":1,"name":"ann","age":null}\n{"id":2,"name":"ben","age":7}\n',
        )
        self.assertEqual(self.consume("-D", ""), (prefix(1) + ANN_BYTES + prefix(1) + BEN_BYTES).decode())

    def test_console_producer(self) -> None:
        """The properties of kafka-avro-console-producer are taken."""
        self.produce(
            'k\t{"id": 1, "name": "ann"}\n',
            *("--property", f"schema.registry.url={self.server.url}", "--property", f"value.schema={USER}"),
            *("--property", "parse.key=true", "--property", 'key.schema={"type": "string"}'),
            code=1,
        )
        self.assertIn("t-key", self.err.text())
        self.produce(
            '"k"\t{"id": 1, "name": "ann"}\n',
            *("--property", f"schema.registry.url={self.server.url}", "--property", f"value.schema={USER}"),
            *("--property", "parse.key=true", "--property", 'key.schema={"type": "string"}'),
        )
        printed = self.consume("--decode", "avro", "--decode-key", "avro", "-f", "%k %s\n")
        self.assertEqual(printed, '"k" {"id":1,"name":"ann","age":null}\n')

    def test_subject(self) -> None:
        """Without a schema the latest version of the subject is used."""
        self.server.registry.add("users", USER)
        self.produce(LINES, "--subject", "users")
        self.assertIn('"ben"', self.consume("--decode", "avro"))
        self.produce(LINES, "--subject", "none", code=1)

    def test_json_schema(self) -> None:
        """Lines are checked against a JSON Schema."""
        schema = self.file("user.json-schema", '{"type": "object", "required": ["id"]}')
        self.produce('{"id":1}\n{"x":2}\n', "--schema", schema, code=1)
        self.assertIn("required", self.err.text())
        self.produce('{"id":1}\n', "--schema", schema)
        self.assertIn('{"id":1}\n', self.consume("--decode", "json-schema"))

    def test_bad_lines(self) -> None:
        """A line that is no JSON, or does not match, is an error that shows it."""
        schema = self.file("user.avsc", USER)
        for line in ("no json\n", '{"id": "x"}\n', "\n"):
            self.produce(line, "--schema", schema, code=1)
            self.assertIn("t-value", self.err.text())

    def test_bad_messages(self) -> None:
        """A message that cannot be decoded is an error with its place and its schema."""
        self.produce("\0\0\0\0\x09x\n", topic="t")
        self.consume("--decode", "avro", code=1)
        self.assertIn("t [0] offset 0 (schema 9)", self.err.text())

    def test_group(self) -> None:
        """A group's messages are decoded, too, those of all topics by one registry."""
        self.server.registry.add("t-value", USER)
        consumer: Any = FakeConsumer()
        found = {
            place: records(place, 5, prefix(1) + data) for place, data in ((A0, ANN_BYTES), (B1, BEN_BYTES))
        }
        with open_decoding(self.server.url, 5, "avro", None) as decoding:
            assert decoding is not None
            rows = Rows(
                consumer, partial(renderer, format_text=r"%t %s\n", key=None, end=""), wrap=decoding.wrap
            )
            self.assertEqual(
                rows.render(found).splitlines(),
                [b'a {"id":1,"name":"ann","age":null}', b'b {"id":2,"name":"ben","age":7}'],
            )
            error = self.assertRaises(KafkaTXError, rows.render, {A0: records(A0, 7, b"x")})
        self.assertIn("a [0] offset 7", str(error))
        self.assertEqual(len(self.server.headers), 1)
