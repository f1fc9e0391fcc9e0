"""Some seeds of the simulation of whole brokers; ``make simulate`` runs many."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.simulation.replication.mutants.mutants import ALL, MUTANTS, PROVED, SEEDS, is_proved
from tests.simulation.replication.run import Failed, run

STEPS = 100
ROOT = Path(__file__).parents[3]


class RunTests(SynchronousTestCase):
    def test_seeds(self) -> None:
        """No seed finds a violation, and each has committed something.

        It is the command, because that fixes the order of sets of texts: the seeds are the same everywhere.
        """
        command = [
            sys.executable,
            "-m",
            "tests.simulation.replication",
            "--seeds",
            "4",
            "--steps",
            str(STEPS),
        ]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("seeds 0 to 3: 0 violations", ran.stdout)

    def test_deterministic(self) -> None:
        """The same seed gives the same run, another seed another."""
        self.assertEqual(run(3, 40), run(3, 40))
        self.assertNotEqual(run(3, 40), run(4, 40))


class MutantTests(SynchronousTestCase):
    def failed(self, name: str, most: int) -> Failed:
        """Return how the first of some seeds fails that finds a mutant."""
        with MUTANTS[name].alive():
            for seed in range(most):
                try:
                    run(seed, STEPS)
                except Failed as failed:
                    return failed
        raise AssertionError(f"{most} seeds do not find {name}: {MUTANTS[name].rule}")

    def test_cut_to_the_high_watermark(self) -> None:
        """Followers that cut their logs to the high watermark are found; the failure names the seed."""
        failed = self.failed("1-epochs-only", 12)
        self.assertIn(f"--seed {failed.seed} --steps {STEPS}", str(failed))

    def test_acknowledged_too_early(self) -> None:
        """Leaders that answer acks=all at once are found."""
        self.failed("13-acks-all", 12)

    def test_known_seeds(self) -> None:
        """Seeds are known of mutants that there are, and the directed ones find theirs."""
        self.assertLessEqual(SEEDS.keys(), MUTANTS.keys())
        with MUTANTS["R5-eligible"].alive():
            self.assertRaises(Failed, run, SEEDS["R5-eligible"], STEPS)

    def test_proved(self) -> None:
        """A mutant that the simulation cannot see makes the test fail that is named for it."""
        for name in PROVED:
            self.assertTrue(is_proved(name), name)
            self.flushLoggedErrors()

    def test_sources(self) -> None:
        """Each mutant fits the source of today, and is gone after its time."""
        for name, mutant in ALL.items():
            codes = [edit.function.__code__ for edit in mutant.edits]
            with mutant.alive():
                self.assertNotIn(codes[0], [edit.function.__code__ for edit in mutant.edits], name)
            self.assertEqual([edit.function.__code__ for edit in mutant.edits], codes)
