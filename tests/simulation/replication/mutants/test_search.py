"""The search for mutants, with runs that are made up."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.simulation.replication.mutants.search import Search, table

RUN_S = 3.0


class SearchTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a search in which each run takes 3 s, and finds the mutants that it is told."""
        self.time_s = 0.0
        self.runs: list[tuple[str, int]] = []
        self.lines: list[str] = []
        self.seeds: dict[str, int] = {}
        self.search = Search(self.attempt, lambda: self.time_s, self.lines.append)

    def attempt(self, name: str, seed: int) -> str | None:
        """Run a seed."""
        self.runs.append((name, seed))
        self.time_s += RUN_S
        return "a violation" if self.seeds.get(name) == seed else None

    def test_known_seeds_first(self) -> None:
        """All known seeds are run before others are searched; one that is out of date is searched, too."""
        self.seeds = {"a": 1, "b": 2, "c": 9}
        self.search.find(["a", "b", "c"], {"b": 7, "c": 9}, range(100), 600.0)
        self.assertEqual(self.runs[:2], [("b", 7), ("c", 9)])
        self.assertEqual(self.search.found, {"a": 1, "b": 2, "c": 9})
        self.assertIn("b: its known seed 7 does not find it any more", self.lines)

    def test_shares(self) -> None:
        """A mutant that nothing finds takes its share only; what another leaves is for those after it."""
        self.seeds = {"b": 0}
        self.search.find(["a", "b", "c"], {}, range(100), 90.0)
        counts = {name: sum(run[0] == name for run in self.runs) for name in "abc"}
        self.assertEqual(counts, {"a": 10, "b": 1, "c": 19})
        self.assertEqual(self.search.found, {"b": 0})

    def test_progress(self) -> None:
        """It is said about every ten seconds how far the search is, and at the end that it failed."""
        self.search.find(["a"], {}, range(5, 12), 600.0)
        self.assertEqual(
            self.lines,
            [
                "a: not found by 4 seeds up to 8; 12 s of 600 s",
                "a: NOT FOUND by 7 seeds in 21 s",
            ],
        )

    def test_table(self) -> None:
        """Each mutant has a line: a seed, a test, or that it was not found."""
        self.assertEqual(
            table(["one", "three", "two"], {"one": 4}, {"two": "tests.a.Tests.test_it"}),
            ["one    seed 4", "three  NOT FOUND", "two    tests.a.Tests.test_it"],
        )
