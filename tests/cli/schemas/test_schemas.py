"""Tests of ``kafkatx schemas``, with a registry over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

from kafkatx.schemas.types import SchemaType
from tests.cli.command_case import CommandCase
from tests.schemas.http_registry import HttpRegistry
from tests.schemas.messages.avro.test_avro_format import USER

NEWER = USER.replace('"type": "long"', '"type": "double"')


class SchemasTests(CommandCase):
    def setUp(self) -> None:
        """Start a registry with two subjects."""
        super().setUp()
        self.server = HttpRegistry()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.registry = self.server.registry
        self.registry.add("users-value", USER)
        self.registry.add("users-value", NEWER)
        self.registry.add("json-value", "{}", SchemaType.JSON)

    def command(self, *arguments: str, code: int = 0, tty: bool = False) -> str:
        """Run ``kafkatx schemas``; return what it prints on stdout."""
        self.use_streams(tty)
        got = self.run_command("schemas", *arguments, "--registry", self.server.url)
        self.assertEqual(got, code, self.err.text())
        return self.out.text()

    def file(self, text: str, name: str = "schema.avsc") -> str:
        """Write a file; return its path."""
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / name).write_text(text)
        return str(folder / name)

    def test_list(self) -> None:
        """Subjects are listed with their latest versions, as rows, a table or JSON."""
        self.assertEqual(self.command("list"), "json-value\t1\t3\tJSON\nusers-value\t2\t2\tAVRO\n")
        self.assertEqual(
            self.command("list", "users", "--header").split("\n")[0], "subject\tversion\tid\ttype"
        )
        found = [json.loads(line) for line in self.command("list", "users", "--json").splitlines()]
        self.assertEqual(found, [{"subject": "users-value", "version": 2, "id": 2, "type": "AVRO"}])
        self.assertIn("users-value", self.command("list", tty=True))

    def test_show(self) -> None:
        """A schema is printed by its subject, version or id."""
        self.assertEqual(json.loads(self.command("show", "users-value")), json.loads(NEWER))
        self.assertEqual(json.loads(self.command("show", "users-value", "--version", "1")), json.loads(USER))
        found = json.loads(self.command("show", "1", "--json"))
        self.assertEqual((found["id"], found["schema"]), (1, USER))
        self.command("show", "none", code=1)
        self.assertIn("40401", self.err.text())

    def test_register(self) -> None:
        """A file is registered, with its language by its name, and with references."""
        self.assertEqual(self.command("register", "new", self.file(USER)), "new version 1, id 1\n")
        path = self.file("message A {}", "a.proto")
        self.assertEqual(
            json.loads(self.command("register", "p", path, "--json")), {"subject": "p", "version": 1, "id": 4}
        )
        self.assertIs(self.registry.schema(4).type, SchemaType.PROTOBUF)
        self.command("register", "r", '{"type": "int"}', "--reference", "a=users-value:1")
        self.command("register", "r", "{}", "--reference", "a=users-value", code=2)
        self.command("register", "r", "/nowhere", code=1)
        self.registry.refused["users-value"] = "no"
        self.command("register", "users-value", self.file('"int"'), code=1)
        self.assertIn("409", self.err.text())

    def test_check(self) -> None:
        """The verdict is printed, and is the exit code."""
        path = self.file(USER)
        self.assertEqual(self.command("check", "users-value", path), "compatible\n")
        self.registry.refused["users-value"] = "id: the type has changed"
        self.assertEqual(
            self.command("check", "users-value", path, "--all", code=1),
            "incompatible\n  id: the type has changed\n",
        )
        found = json.loads(self.command("check", "users-value", path, "--json", code=1))
        self.assertEqual(found["messages"], ["id: the type has changed"])
        self.command("check", "users-value", path, "--all", "--version", "1", code=2)

    def test_diff(self) -> None:
        """The last two versions are compared, or those that are named."""
        for arguments in ((), ("1", "2"), ("1",)):
            lines = self.command("diff", "users-value", *arguments).splitlines()
            self.assertIn('-      "type": "long"', lines)
            self.assertIn('+      "type": "double"', lines)
        self.assertEqual(self.command("diff", "json-value"), "")

    def test_delete(self) -> None:
        """A version or a subject is deleted, after a question."""
        self.assertEqual(
            self.command("delete", "users-value", "--version", "1", "--yes"), "deleted users-value: 1\n"
        )
        found = json.loads(self.command("delete", "users-value", "--yes", "--json"))
        self.assertEqual(found, {"subject": "users-value", "versions": [2]})

    def test_config(self) -> None:
        """The level is shown, set and deleted; of a subject, or the global one."""
        self.assertEqual(self.command("config"), "BACKWARD\n")
        self.assertEqual(self.command("config", "--set", "none"), "NONE\n")
        self.assertEqual(self.command("config", "users-value", "--set", "FULL"), "FULL\n")
        self.assertEqual(
            json.loads(self.command("config", "users-value", "--unset", "--json")),
            {"subject": "users-value", "compatibility": "NONE"},
        )
        self.command("config", "--set", "FULL", "--unset", code=2)

    def test_away(self) -> None:
        """A registry that does not answer is an error that names it."""
        self.assertEqual(self.run_command("schemas", "list", "--registry", "http://127.0.0.1:1"), 1)
        self.assertIn("http://127.0.0.1:1", self.err.text())
