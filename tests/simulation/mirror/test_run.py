"""Some seeds of the simulation of mirrors, and its mutants; ``make simulate`` runs many."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.simulation.mirror.mutants import MUTANTS, SEEDS
from tests.simulation.mirror.run import run
from tests.simulation.replication.run import Failed

ROOT = Path(__file__).parents[3]


class RunTests(SynchronousTestCase):
    def command(self, *options: str) -> str:
        """Return what the command prints, which must succeed; it fixes the order of sets of texts."""
        command = [sys.executable, "-m", "tests.simulation.mirror", *options]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        return ran.stdout

    def test_seeds(self) -> None:
        """No seed finds a violation, and records were copied, lost at the source, and promoted."""
        self.assertIn("seeds 0 to 3: 0 violations", self.command("--seeds", "4"))

    def test_mutants(self) -> None:
        """Known seeds find the mutants that need no rest to be found."""
        for name in ("record", "epoch-raised", "no-own-epoch", "high-watermark-goes-back"):
            with MUTANTS[name].alive():
                self.assertRaises(Failed, run, SEEDS[name])

    def test_deterministic(self) -> None:
        """The same seed gives the same run, another seed another."""
        self.assertEqual(run(3, 40), run(3, 40))
        self.assertNotEqual(run(3, 40), run(4, 40))

    def test_sources(self) -> None:
        """Each mutant fits the source of today, and is gone after its time; each has a seed."""
        self.assertEqual(MUTANTS.keys(), SEEDS.keys())
        for name, mutant in MUTANTS.items():
            codes = [edit.function.__code__ for edit in mutant.edits]
            with mutant.alive():
                self.assertNotIn(codes[0], [edit.function.__code__ for edit in mutant.edits], name)
            self.assertEqual([edit.function.__code__ for edit in mutant.edits], codes)
