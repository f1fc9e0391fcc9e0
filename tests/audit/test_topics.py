"""Tests of kafkatx.audit.topics: announcements and records are read from a cluster in memory."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.comparison import Count
from kafkatx.audit.topics import count_topic, read_announced
from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.errors import KafkaTXError
from kafkatx.records.builder import build_values
from tests.blocking.fakes import FakeCluster, Log


class TopicTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A topic of two partitions, and an audit topic with an announcement and something else."""
        self.fake = FakeCluster({"t": [Log(), Log()], "audit": [Log()]})
        for partition, time_ms, values in ((0, 500, [b"a", b"b"]), (1, 1500, [b"c"]), (0, 1700, [b"d"])):
            self.fake.topics["t"][partition].append(build_values(values, time_ms))
        event = Announcement("p", 1, "t", 0, 1000, 2, 99)
        self.fake.topics["audit"][0].append(build_values([event.encode(), b"not JSON"], 1))

    def test_count(self) -> None:
        """Records are counted by the window of their time, over all partitions."""
        amounts: list[float] = []
        with self.fake.client() as cluster:
            found = count_topic(cluster, "t", 1000, advance=amounts.append)
        self.assertEqual(found, {("t", 0): Count(2, 2), ("t", 1000): Count(2, 2)})
        self.assertEqual(sum(amounts), 4)

    def test_announced(self) -> None:
        """Announcements are summed; other records are counted as unreadable."""
        with self.fake.client() as cluster:
            announced = read_announced(cluster, "audit")
        self.assertEqual(announced.topics(), {"t"})
        self.assertEqual(announced.sums(["t"], 1000), {("t", 0): (2, 99)})
        self.assertEqual(announced.unreadable, 1)

    def test_unknown(self) -> None:
        """A topic that does not exist is an error."""
        with self.fake.client() as cluster:
            self.assertRaises(KafkaTXError, read_announced, cluster, "nope")
