"""Some seeds of the simulation of whole brokers; ``make simulate`` runs many."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.simulation.replication.mutants import MUTANTS
from tests.simulation.replication.run import run

STEPS = 100


class RunTests(SynchronousTestCase):
    def test_seeds(self) -> None:
        """No seed finds a violation, and each has committed something."""
        for seed in range(5):
            self.assertGreater(run(seed, STEPS).committed, 0)

    def test_deterministic(self) -> None:
        """The same seed gives the same run, another seed another."""
        self.assertEqual(run(3, 40), run(3, 40))
        self.assertNotEqual(run(3, 40), run(4, 40))


class MutantTests(SynchronousTestCase):
    def test_sources(self) -> None:
        """Each mutant fits the source of today, and is gone after its time."""
        for name, mutant in MUTANTS.items():
            codes = [edit.function.__code__ for edit in mutant.edits]
            with mutant.alive():
                self.assertNotIn(codes[0], [edit.function.__code__ for edit in mutant.edits], name)
            self.assertEqual([edit.function.__code__ for edit in mutant.edits], codes)
