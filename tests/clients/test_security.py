"""Clients that log in: what their programs are told, how they are judged, and what is kept."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.clients.features import FAIL, NO_TOOLCHAIN, NOT_OFFERED, NOT_TRIED, PASS, Outcome, Result
from tests.clients.security import results
from tests.clients.security.run import COLUMNS, collect, judge
from tests.clients.security.ways import MUTUAL, WAYS, Files, Given, given_by

FILES = Files("ca", "certificate", "key", "keystore", "token")


def outcome(result: str, detail: str = "") -> Outcome:
    """Return an outcome with the same result in every column."""
    return Outcome("1.2", dict.fromkeys(COLUMNS, Result(result, detail)))


class GivenTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A program reads what the runner has written."""
        for way in WAYS:
            given = Given("h:1", way, FILES)
            self.assertEqual(given_by(given.json()), given)

    def test_properties(self) -> None:
        """Java's settings log in by the way that is asked for, and by no other."""
        found = {way: Given("h:1", way, FILES).properties() for way in WAYS}
        self.assertEqual(
            {way: one.get("sasl.mechanism", MUTUAL) for way, one in found.items()},
            dict(zip(WAYS, WAYS, strict=True)),
        )
        self.assertEqual([way for way, one in found.items() if "ssl.keystore.location" in one], [MUTUAL])
        self.assertEqual(
            {one["security.protocol"] for way, one in found.items() if way != MUTUAL}, {"SASL_SSL"}
        )


class JudgeTests(SynchronousTestCase):
    def test_pass(self) -> None:
        """All records are acknowledged and stored; a session that ended is told."""
        told = {"sent": 5, "acknowledged": 5, "errors": []}
        self.assertEqual(judge(told, 5, 0), Result(PASS))
        result = judge(told, 6, 2)
        self.assertEqual(result.result, PASS)
        self.assertIn("2 sessions ended", result.detail)

    def test_fail(self) -> None:
        """A record that is missing anywhere, an error, and a program that says nothing fail."""
        told = {"sent": 5, "acknowledged": 5, "errors": []}
        for changed, stored in (
            ({"acknowledged": 4}, 5),
            ({"errors": ["x"]}, 5),
            ({"sent": 0, "acknowledged": 0}, 0),
            ({}, 4),
        ):
            self.assertEqual(judge({**told, **changed}, stored, 0).result, FAIL)
        self.assertEqual(judge({}, 5, 0).result, FAIL)

    def test_collect(self) -> None:
        """Lines of libraries are left out."""
        self.assertEqual(collect('x\n{"version": "1"}\n[1]\n{"read": 5}\n'), {"version": "1", "read": 5})


class ResultsTests(SynchronousTestCase):
    def test_keep(self) -> None:
        """A column that was not tried, or a missing toolchain, leaves what was kept."""
        folder = self.mktemp()
        results.keep(folder, {"kcat": outcome(PASS), "Java 4": outcome(FAIL, "why\nand a traceback")})
        later = outcome(PASS)
        later.results[COLUMNS[-1]] = Result(NOT_TRIED)
        results.keep(folder, {"Java 4": later, "kcat": outcome(NO_TOOLCHAIN)})
        kept = results.load(folder)
        self.assertEqual(set(kept["kcat"].results.values()), {Result(PASS)})
        self.assertEqual(kept["Java 4"].results[COLUMNS[-1]], Result(FAIL, "why"))
        self.assertEqual(kept["Java 4"].results[COLUMNS[0]], Result(PASS))

    def test_section(self) -> None:
        """A failure is in the table with its reason, and so is what a client does not have."""
        lacking = outcome(PASS)
        lacking.results["OAUTHBEARER"] = Result(NOT_OFFERED, "it has none")
        text = results.section({"kcat": lacking, "Java 4": outcome(FAIL, "no route")})
        self.assertIn("* kcat: OAUTHBEARER: not offered: it has none\n", text)
        self.assertIn("| fail ", text)
        self.assertIn("fail: no route", text)
        self.assertEqual(results.section({}), "")
