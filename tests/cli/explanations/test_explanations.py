"""Tests of ``kafkatx explain-lag`` and ``kafkatx explain-client``."""

from __future__ import annotations

import json

from kafkatx.cli.explanations import explanations
from tests.blocking.fake_explanations import FakeExplanations, entry
from tests.cli.command_case import CommandCase


class ExplanationsTests(CommandCase):
    def setUp(self) -> None:
        """Make two brokers that explain."""
        super().setUp()
        self.cluster = FakeExplanations(brokers=2)
        self.cluster.said = {
            1: [entry("x", 0, "Nothing.")],
            2: [entry("y", 1), entry("quota", 2, "It waits.", "Raise it.")],
        }
        self.patch(explanations, "connect", lambda bootstrap, timeout: self.cluster.client(retries=3))

    def test_lag(self) -> None:
        """The coordinator's sentences come a line each; a problem is the exit code."""
        self.assertEqual(self.run_command("explain-lag", "g"), 1)
        lines = [line.split("\t") for line in self.out.text().splitlines()]
        self.assertEqual(lines[0], ["2", "problem", "quota", "It waits.", "Raise it."])
        self.assertEqual([line[1] for line in lines], ["problem", "hint"])
        self.cluster.said = {2: [entry("y", 1)]}
        self.assertEqual(self.run_command("explain-lag", "g"), 0)

    def test_client(self) -> None:
        """All brokers' sentences come, the heaviest first."""
        self.assertEqual(self.run_command("explain-client", "app"), 1)
        self.assertEqual([line.split("\t")[0] for line in self.out.text().splitlines()], ["2", "2", "1"])

    def test_json(self) -> None:
        """A sentence is an object with its evidence."""
        self.run_command("explain-lag", "g", "--json")
        first = json.loads(self.out.text().splitlines()[0])
        self.assertEqual(
            first,
            {
                "broker": 2,
                "severity": "problem",
                "rule": "quota",
                "sentence": "It waits.",
                "advice": "Raise it.",
                "evidence": {"lag": "7"},
            },
        )

    def test_person(self) -> None:
        """A person gets sentences."""
        self.use_streams(tty=True)
        self.run_command("explain-lag", "g")
        self.assertIn("problem: It waits. Raise it.", self.out.text())
