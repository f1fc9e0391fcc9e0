"""A scenario that is silent, dies or hangs has failed; what a client lacks is not asked."""

from __future__ import annotations

import sys

from twisted.trial.unittest import SynchronousTestCase

from tests.clients import groups, runner
from tests.clients.features import (
    FAIL,
    FEATURES,
    MEMBERS,
    NO_TOOLCHAIN,
    NOT_OFFERED,
    NOT_TRIED,
    PASS,
    Outcome,
)
from tests.clients.matrix import CLIENTS, Client
from tests.clients.toolchains import NoToolchain

_PASSES = """
import json, sys
print(json.dumps({"version": "1.2"}))
for feature in sys.argv[3:]:
    print(json.dumps({"feature": feature, "result": "pass", "detail": ""}), flush=True)
"""


class NoBroker:
    """Stands for a broker that scripts do not ask."""

    bootstrap = "127.0.0.1:1"


def client(script: str, **options: object) -> Client:
    """A row whose scenario is a script."""
    return Client("scripted", lambda: [sys.executable, "-c", script], "python", **options)  # type: ignore[arg-type]


class RunnerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker that offers everything."""
        self.apis = {24, 26}
        self.patch(runner, "offered", lambda _bootstrap: self.apis)
        for name in MEMBERS:
            self.patch(groups, name, lambda _command, _broker: "quickly")

    def run_script(self, script: str, *features: str, **options: object) -> Outcome:
        """Run a script as a scenario."""
        return runner.try_features(client(script, **options), NoBroker(), features)  # type: ignore[arg-type]

    def test_pass(self) -> None:
        """Reports are collected, with the version."""
        outcome = self.run_script(_PASSES, "consume", "group")
        self.assertEqual(outcome.version, "1.2")
        self.assertEqual(
            {name: found.result for name, found in outcome.results.items()},
            dict.fromkeys(("consume", "group"), PASS),
        )

    def test_silence(self) -> None:
        """A feature that was asked for and not reported has failed, though the program ended well."""
        outcome = self.run_script("pass", "consume")
        self.assertEqual(outcome.results["consume"].result, FAIL)

    def test_death(self) -> None:
        """A program that dies fails what it had not reported, and its last words are told."""
        script = _PASSES.replace("sys.argv[3:]", "sys.argv[3:4]") + "raise RuntimeError('ouch')"
        outcome = self.run_script(script, "consume", "commit")
        self.assertEqual(outcome.results["consume"].result, PASS)
        self.assertEqual(outcome.results["commit"].result, FAIL)
        self.assertIn("ouch", outcome.results["commit"].detail)

    def test_hanging(self) -> None:
        """A program that does not end is killed at its limit, and what it did not report has failed."""
        outcome = self.run_script("import time; time.sleep(600)", "consume", limit_s=0.5)
        self.assertIn("within 0 s", outcome.results["consume"].detail)

    def test_noise(self) -> None:
        """Lines that are no reports are passed over."""
        outcome = self.run_script("print('{broken'); print('{\"a\": 1')" + _PASSES, "consume")
        self.assertEqual(outcome.results["consume"].result, PASS)

    def test_group_that_fails(self) -> None:
        """An exception of the members' feature is its result."""

        def fail(_command: object, _broker: object) -> str:
            raise AssertionError("never")

        self.patch(groups, "group", fail)
        found = self.run_script(_PASSES, "group").results["group"]
        self.assertEqual((found.result, found.detail), (FAIL, "AssertionError: never"))

    def test_lacking(self) -> None:
        """Features that the client lacks are not asked for, and the reason is shown."""
        outcome = self.run_script("raise SystemExit(1)", "group", lacks={"group": "no members"})
        self.assertEqual(outcome.results, {"group": (NOT_OFFERED, "no members")})

    def test_restart(self) -> None:
        """A broker is restarted for rows that say so; for others that is not tried, which is no pass."""
        self.assertEqual(self.run_script(_PASSES, "restart").results["restart"].result, NOT_TRIED)
        self.assertEqual(self.run_script(_PASSES, "restart", restart=True).results["restart"].result, PASS)

    def test_transactions(self) -> None:
        """They are asked of a broker with the requests for them, of no other."""
        self.assertEqual(self.run_script(_PASSES, "transactions").results["transactions"].result, PASS)
        self.apis = {24}
        found = self.run_script(_PASSES, "transactions").results["transactions"]
        self.assertEqual(found, (NOT_OFFERED, "the broker has none"))

    def test_no_toolchain(self) -> None:
        """A client whose toolchain is missing is shown so in every feature."""

        def missing(_toolchain: str) -> None:
            raise NoToolchain("go is not installed")

        self.patch(runner, "prepare", missing)
        outcome = runner.try_client(client(_PASSES))
        self.assertEqual(
            {name: found.result for name, found in outcome.results.items()},
            dict.fromkeys(FEATURES, NO_TOOLCHAIN),
        )

    def test_no_broker(self) -> None:
        """A broker that does not start fails every feature of that row, and raises nothing."""

        def fail() -> None:
            raise AssertionError("no port")

        self.patch(runner, "OurBroker", fail)
        outcome = runner.try_client(client(_PASSES))
        self.assertEqual(len(outcome.failed), len(FEATURES))
        self.assertEqual(outcome.results["consume"].detail, "AssertionError: no port")


class TableTests(SynchronousTestCase):
    def test_lacks_are_features(self) -> None:
        """The features that rows lack have known names: a misspelt one would be asked for all the same."""
        for row in CLIENTS:
            self.assertEqual(set(row.lacks) - set(FEATURES), set(), row.name)

    def test_names(self) -> None:
        """No two rows have the same name."""
        self.assertEqual(len({row.name for row in CLIENTS}), len(CLIENTS))
