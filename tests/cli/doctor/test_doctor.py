"""Tests of ``kafkatx doctor``."""

from __future__ import annotations

import json

from kafkatx.cli.doctor import examination
from kafkatx.cli.doctor.result import Finding, hint, ok, wrong
from tests.cli.command_case import CommandCase


class DoctorTests(CommandCase):
    def setUp(self) -> None:
        """Give the examination these findings."""
        super().setUp()
        self.findings: list[Finding] = [ok("a", "good"), hint("b", "so-so", "do"), wrong("c", "bad", "now")]
        self.asked: list[object] = []

        def examine(*arguments: object) -> list[Finding]:
            self.asked.append(arguments)
            return self.findings

        self.patch(examination, "examine_files", examine)

    def test_lines(self) -> None:
        """Each hint and fault has a line; a fault is the exit code."""
        self.assertEqual(self.run_command("doctor", "--config", "x"), 1)
        self.assertEqual(self.out.text(), "hint\tb\tso-so\tdo\nwrong\tc\tbad\tnow\n")
        self.assertEqual(self.asked, [("x", {})])
        self.findings.pop()
        self.assertEqual(self.run_command("doctor", "--data", "/d", "--all"), 0)
        self.assertIn("ok\ta\tgood\t\n", self.out.text())
        self.assertEqual(self.asked[-1], (None, {"log.dirs": "/d"}))

    def test_json(self) -> None:
        """Everything is an object."""
        self.assertEqual(self.run_command("doctor", "--config", "x", "--json"), 1)
        found = [json.loads(line) for line in self.out.text().splitlines()]
        self.assertEqual([one["level"] for one in found], ["ok", "hint", "wrong"])
        self.assertEqual(found[2], {"check": "c", "level": "wrong", "sentence": "bad", "fix": "now"})

    def test_person(self) -> None:
        """A person gets sentences and a sum."""
        self.use_streams(tty=True)
        self.run_command("doctor", "--config", "x")
        self.assertIn("wrong: c: bad. now", self.out.text())
        self.assertIn("1 wrong, 1 hints, 1 in order", self.out.text())
