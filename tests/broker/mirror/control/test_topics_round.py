"""Rounds over topics: steps that cannot be made, and what is told of them."""

from __future__ import annotations

import attrs

from kafkatx.config.mirror_record import MirrorState
from tests.broker.mirror.control.case import ControlCase


class TopicsRoundTests(ControlCase):
    def problem(self) -> str:
        """Return the problem of the link that its status tells."""
        (status,) = self.brokers[self.controller].broker.mirrors.links()
        error: str = status.error
        return error

    def test_one_bad_topic(self) -> None:
        """A topic whose configs contradict each other spoils no other, and is created when they do not."""
        self.source.configs["t"] = {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"}
        self.source.add_topic("u")
        self.link()
        topics = self.brokers[self.controller].metadata.state.topics
        self.assertNotIn("t", topics)
        self.assertIn("u", topics)
        self.assertIn("t: min.compaction.lag.ms=9 must not be above", self.problem())
        del self.source.configs["t"]
        self.advance(2)
        self.assertEqual(self.problem(), "")
        self.assertIn("t", self.brokers[self.controller].metadata.state.topics)

    def test_many_bad_topics(self) -> None:
        """A status names some topics, and counts the others."""
        for number in range(5):
            self.create(f"u{number}", 1)
            self.source.add_topic(f"u{number}")
        self.link()
        self.assertIn("u0: a topic of that name", self.problem())
        self.assertIn("; and 2 more", self.problem())

    def test_too_few_brokers(self) -> None:
        """Without enough brokers for the replicas a topic is created later."""
        lost = next(one for one in self.brokers if one != self.controller)
        self.kill(lost)
        self.advance(20)
        self.link()
        self.assertNotIn("t", self.brokers[self.controller].metadata.state.topics)
        self.assertIn("t: ", self.problem())
        self.start(lost)
        self.advance(3)
        self.assertIn("t", self.brokers[self.controller].metadata.state.topics)

    def test_unclear_topic(self) -> None:
        """A mirror whose topic the source tells an error of stays as it is."""
        self.link()
        self.source.topics["t"] = attrs.evolve(self.source.topics["t"], logs=[])
        self.advance(2)
        self.assertIs(self.state(), MirrorState.MIRRORING)
        self.assertEqual(len(self.topic().partitions), 2)
