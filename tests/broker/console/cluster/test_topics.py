"""Figures of the topics of a cluster."""

from __future__ import annotations

from kafkatx.broker.console.cluster.log_ends import CHUNK
from kafkatx.broker.console.cluster.topics import ClusterTopics, TopicFigures
from tests.broker.console.cluster.test_log_ends import LeaderCase


class ClusterTopicsTests(LeaderCase):
    def found(self) -> TopicFigures:
        """Return the figures of ``t``."""
        self.clock.advance(10)
        return self.successResultOf(self.topics.get())["t"]

    def setUp(self) -> None:
        """Make the figures."""
        super().setUp()
        self.topics = ClusterTopics(self.broker, self.ends)

    def test_all(self) -> None:
        """Sizes, records and rates are those of all brokers."""
        count = 2 * CHUNK - 2  # without those of this broker and the one that is unknown
        found = self.found()
        self.assertEqual((found.size_bytes, found.records), (100 + 5 * count, 8 + 1000 * count))
        self.assertIsNone(found.rate)
        self.broker.topics.find("t", 0).log.written.bytes = 300
        self.assertEqual(self.found().rate, 20)
        self.size += 30
        self.assertEqual(self.found().rate, 3 * count)
        self.size -= 30  # retention has deleted something
        self.broker.topics.find("t", 0).log.written.bytes = 0
        self.assertEqual(self.found().rate, 0)

    def test_unknown(self) -> None:
        """A topic of brokers that do not answer has no figures."""
        self.failing = True
        self.broker.topics.find = lambda topic, number: None
        self.assertEqual(self.found(), TopicFigures())

    def test_alone(self) -> None:
        """A cluster of one broker asks no other."""
        self.broker.metadata.lease_remaining_s = None
        self.assertEqual(self.found().records, 8)
        self.assertEqual(self.asked, [])
