"""The problems of a cluster in sentences."""

from __future__ import annotations

from unittest.mock import Mock

from kafkatx.broker.console.cluster.disks import Disk
from kafkatx.broker.console.cluster.problems import problems
from tests.broker.console.cluster.states import StateCase, topic


class ProblemsTests(StateCase):
    def test_well(self) -> None:
        """A cluster that is well has no problems."""
        self.assertEqual(self.texts(), [])

    def test_partitions(self) -> None:
        """Partitions in trouble are named, with what is wrong; so are brokers that are away."""
        self.use(
            topic("a", (-1, (1, 4), ()), (1, (1, 2, 3), (1,)), (2, (2, 3), (2, 3)), least="2"),
            topic("b", (1, (1, 2), (1,)), least="1"),
        )
        self.assertEqual(
            self.texts(),
            [
                "Broker 4 is not live, and has replicas of partitions.",
                "Partition a-0 has no leader: start a broker that has an in-sync replica.",
                "Partition a-1 has fewer in-sync replicas than min.insync.replicas: producers with acks=all"
                " are refused.",
                "2 partitions (a-1, b-0) lack in-sync replicas.",
            ],
        )

    def test_many(self) -> None:
        """Some of many partitions are named."""
        self.use(topic("a", *[(-1, (1,), (1,))] * 7))
        self.assertIn("7 partitions, among them a-0, a-1, a-2, a-3, a-4, have no leader", self.texts()[0])

    def test_broker(self) -> None:
        """A fenced broker, a failed log dir and a missing controller are told."""
        self.use(fenced=True, controller_id=-1)
        self.broker.store.dirs = [Mock(path="/d", error=OSError("broken")), Mock(path="/e", error=None)]
        found = self.texts()
        self.assertEqual(len(found), 3)
        self.assertIn("no connection to the state", found[0])
        self.assertIn("The log dir /d of broker 1 has failed: broken", found[1])
        self.assertIn("No broker is the controller", found[2])

    def test_disks(self) -> None:
        """A disk that is nearly full is told, with what to do."""
        disks = [Disk("/d", 4, 100), Disk("/e", 50, 100), Disk("/f", 0, 0)]
        (found,) = problems(self.broker, self.found(), disks)
        self.assertIn("The disk of log dir /d of broker 1 has 4.0% free space", found.text)
        self.assertEqual((found.severity, found.link), ("warning", "#/brokers/1"))
