"""Some seeds of the simulation of a state that is put back, and its mutants; ``make simulate`` runs many."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.simulation.replication.run import Failed
from tests.simulation.restored.mutants import MUTANTS
from tests.simulation.restored.run import run


class RunTests(SynchronousTestCase):
    def test_seeds(self) -> None:
        """No acknowledged record is lost: with a broker that lags, and with faults by chance."""
        for seed in (0, 1):
            self.assertGreater(run(seed), 100)

    def test_mutants(self) -> None:
        """A directed run finds the rules that keep acknowledged records."""
        for name in ("noticed", "noted", "longest"):
            with MUTANTS[name].alive():
                self.assertRaises(Failed, run, 0)

    def test_sources(self) -> None:
        """Each mutant fits the source of today, and is gone after its time."""
        for name, mutant in MUTANTS.items():
            codes = [edit.function.__code__ for edit in mutant.edits]
            with mutant.alive():
                self.assertNotIn(codes[0], [edit.function.__code__ for edit in mutant.edits], name)
            self.assertEqual([edit.function.__code__ for edit in mutant.edits], codes)
