"""Tests of kafkatx.cli.options.cluster."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options import cluster


class OptionsTests(SynchronousTestCase):
    def test_pairs(self) -> None:
        """A value may hold equals signs and be empty."""
        self.assertEqual(cluster.pairs("-c", ["a=b=c", "d="]), [("a", "b=c"), ("d", "")])
