"""Tests of kafkatx.demo.pipeline.deployment: what the programs are told; they run in an integration test."""

from __future__ import annotations

import re
from pathlib import Path

import click
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.root import kafkatx
from kafkatx.client import Record
from kafkatx.config.properties import read_properties
from kafkatx.demo.pipeline import deployment
from kafkatx.demo.pipeline.deployment import Dropped, mirror_settings
from kafkatx.mirror.filters import RegexFilter
from kafkatx.mirror.settings import MirrorSettings
from kafkatx.records.builder import encode_headers

PREFIX = "kafkatx.plugin.regex."


class MirrorSettingsTests(SynchronousTestCase):
    def settings(self, dropped: Dropped | None) -> Path:
        """Return the settings file."""
        path = Path(self.mktemp())
        path.write_text(mirror_settings("a:1,b:2", "c:3", ["x", "y"], 5000, dropped))
        return path

    def test_valid(self) -> None:
        """A mirror takes the settings, with and without a filter."""
        for dropped in (None, Dropped("front-1", 100)):
            self.assertTrue(MirrorSettings.read(str(self.settings(dropped))))

    def test_dropped(self) -> None:
        """The filter leaves out one message of one front end, and nothing else."""
        found = read_properties(str(self.settings(Dropped("front-1", 100))))
        chosen = RegexFilter()
        chosen.configure({name[len(PREFIX) :]: v for name, v in found.items() if name.startswith(PREFIX)})
        left_out = []
        for server in ("front-1", "front-10", "front-2"):
            for number in range(1, 1101):
                headers = encode_headers([("server", server.encode()), ("number", b"%d" % number)])
                if not chosen.keep(Record("x", 0, 0, 0, 0, None, b"v", headers)):
                    left_out.append((server, number))
        self.assertEqual(left_out, [("front-1", 100)])

    def test_all_copied(self) -> None:
        """Without a message to drop there is no filter."""
        self.assertNotIn("filter", read_properties(str(self.settings(None))))


class HintsTests(SynchronousTestCase):
    def test_commands(self) -> None:
        """Each command that the demo shows is complete: a reader may paste it."""
        source = Path(deployment.__file__).read_text(encoding="utf-8")
        hints = re.findall(r'f"kafkatx (\w+) (\w+|\{)', source)
        self.assertGreaterEqual(len(hints), 3)
        for name, argument in hints:
            command = kafkatx.commands[name]
            if isinstance(command, click.Group):
                self.assertIn(argument, command.commands, name)
