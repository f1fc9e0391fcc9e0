"""The cluster of the demonstration; :mod:`tests.integration.test_spark_demo` runs a real one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.demo.cluster import TOPIC, Kill, make_cluster
from kafkatx.testing import EmbeddedCluster


class FakeCluster:
    """A cluster that notes what is done to its brokers."""

    def __init__(self, brokers: int) -> None:
        self.done: list[tuple[str, int]] = []
        self.brokers = {number: self._broker(number) for number in range(1, brokers + 1)}

    def _broker(self, number: int) -> Any:
        return SimpleNamespace(kill=lambda: self.done.append(("kill", number)))

    def start_broker(self, number: int) -> None:
        """Note it."""
        self.done.append(("start", number))

    def metadata(self, topics: list[str]) -> Any:
        """Return what a client is told: broker 2 leads."""
        (name,) = topics
        return SimpleNamespace(
            topics={name: SimpleNamespace(partitions={0: SimpleNamespace(leader=2)})} if name == TOPIC else {}
        )


class KillTests(SynchronousTestCase):
    def kill(self, fake: FakeCluster, told: list[str]) -> None:
        """Kill and bring back, as the production of lines does."""
        kill = Kill(cast(EmbeddedCluster, fake), told.append)
        kill.begin(cast(Cluster, fake))
        kill.end()
        kill.end()

    def test_leader(self) -> None:
        """The leader is killed, comes back once, and one line tells so."""
        fake, told = FakeCluster(3), list[str]()
        self.kill(fake, told)
        self.assertEqual(fake.done, [("kill", 2), ("start", 2)])
        (line,) = told
        self.assertIn("broker 2, a leader", line)

    def test_alone(self) -> None:
        """The only broker of a cluster is left alone."""
        fake, told = FakeCluster(1), list[str]()
        self.kill(fake, told)
        self.assertEqual((fake.done, told), ([], []))

    def test_settings(self) -> None:
        """A write needs two brokers where there are two, and each broker has a console."""
        for brokers, needed in ((1, "1"), (2, "2"), (3, "2")):
            cluster = make_cluster(brokers)
            self.addCleanup(cluster.close)
            for broker in cluster.brokers.values():
                self.assertEqual(broker.settings["min.insync.replicas"], needed)
                self.assertEqual(broker.settings["kafkatx.console.enable"], "true")
