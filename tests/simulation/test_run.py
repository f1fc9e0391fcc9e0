"""Some seeds of the simulation, and some of its mutants; ``make simulation`` runs many."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.simulation.mutants import MUTANTS
from tests.simulation.run import Failed, run

STEPS = 120


class RunTests(SynchronousTestCase):
    def test_seeds(self) -> None:
        """No seed finds a violation."""
        for seed in range(3):
            run(seed, STEPS)

    def test_past_controller(self) -> None:
        """A controller that was deposed writes nothing: this seed finds the mutant ``controller-epoch``."""
        try:
            run(18)
        except Failed as failed:
            self.fail(str(failed))

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

    def test_lease(self) -> None:
        """A broker that acts without a lease is found; the failure names the seed and the way to run it."""
        failed = self.failed("lease", 5)
        self.assertIn("acts, but its session has ended", str(failed.violation))
        self.assertIn(f"python -m tests.simulation --seed {failed.seed} --steps {STEPS}", str(failed))

    def test_marks(self) -> None:
        """A controller that gives leaders to topics that are being deleted is found."""
        self.failed("marks-first", 5)

    def test_in_sync_replicas(self) -> None:
        """A change of in-sync replicas that is refused, though it was made, is found."""
        self.assertIn("but was made", str(self.failed("isr-in-doubt", 10).violation))

    def test_lives(self) -> None:
        """Other processes of a broker, and other data, are found wherever a rule about them is missing."""
        for name in ("live-past-life", "copied-life", "stale-replicas"):
            self.failed(name, 5)

    def test_sources(self) -> None:
        """Each mutant fits the source of today, and is gone after its time."""
        for name, mutant in MUTANTS.items():
            codes = [edit.function.__code__ for edit in mutant.edits]
            with mutant.alive():
                self.assertNotIn(codes[0], [edit.function.__code__ for edit in mutant.edits], name)
            self.assertEqual([edit.function.__code__ for edit in mutant.edits], codes)
