"""``kafkatx plugins list``."""

from __future__ import annotations

import json

import twisted.plugin
from click.testing import CliRunner
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.broker.plugins import plugins
from kafkatx.extension import Extension
from kafkatx.interfaces import ILogStore, IPartitioner


class ListTests(SynchronousTestCase):
    def invoke(self, *arguments: str, code: int = 0) -> list[str]:
        """Run the command; return its lines."""
        done = CliRunner().invoke(plugins, ["list", *arguments])
        self.assertEqual(done.exit_code, code, done.output)
        return done.output.splitlines()

    def test_installed(self) -> None:
        """Each part of kafkatx is a row, and can be imported."""
        rows = [line.split("\t") for line in self.invoke()]
        self.assertIn(["ILogStore", "file"], [row[:2] for row in rows])
        self.assertEqual({row[4] for row in rows}, {""})
        self.assertEqual(rows, sorted(rows))

    def test_header(self) -> None:
        """--header names the columns, --json is an object a row."""
        self.assertEqual(self.invoke("--header")[0], "interface\tname\tfactory\tdescription\tproblem")
        self.assertEqual(len(self.invoke("--json")), len(self.invoke()))
        self.assertEqual(json.loads(self.invoke("--json")[0])["problem"], "")

    def test_broken(self) -> None:
        """A plugin that cannot be imported is shown with the reason, and the exit status is 1."""
        found = [
            Extension(IPartitioner, "any", "kafkatx.partitioners:RandomPartitioner", "Any."),
            Extension(ILogStore, "tape", "kafkatx.nowhere:Tape", "A tape."),
        ]
        self.patch(twisted.plugin, "getPlugins", lambda *arguments: found)
        rows = [line.split("\t") for line in self.invoke(code=1)]
        self.assertEqual([row[1] for row in rows], ["tape", "any"])
        self.assertIn("cannot be imported", rows[0][4])
        self.assertEqual(rows[1][4], "")
