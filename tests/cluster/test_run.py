"""A small run of the cluster under faults: brokers are killed, stopped and cut off for some seconds."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.cluster.faults import isolate, kill, terminate
from tests.cluster.network.proxies import ProxyNetwork
from tests.cluster.run import Run, clients_errors, report

SECONDS = 15.0
SEED = 1


class RunTests(SynchronousTestCase):
    def test_small(self) -> None:
        """Nothing that was acknowledged is lost, and nothing else is found."""
        told: list[str] = []
        faults = [(kill, 2), (terminate, 1), (isolate, 1)]
        run = Run(ProxyNetwork(), SECONDS, SEED, told.append, zookeepers=1, faults=faults)
        outcome = run.run()
        text = "\n".join([*told, *report(outcome, clients_errors(run))])
        self.assertTrue(outcome.clean, text)
        self.assertGreater(outcome.figures.acknowledged, 500, text)
        self.assertGreater(outcome.figures.commits, 10, text)
        self.assertGreater(sum(outcome.faults.values()), 0, text)
        self.assertGreater(outcome.batches, 50, text)
