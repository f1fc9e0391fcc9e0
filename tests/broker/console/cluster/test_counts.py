"""Counts of the cluster's state."""

from __future__ import annotations

import attrs

from tests.broker.console.cluster.states import StateCase, topic


class CountsTests(StateCase):
    def test_well(self) -> None:
        """Topics, partitions and the replicas of each broker are counted."""
        found = self.found()
        self.assertEqual((found.topics, found.partitions), (1, 2))
        self.assertEqual(
            {k: (v.leaders, v.replicas) for k, v in found.brokers.items()}, {1: (1, 1), 2: (1, 2), 3: (0, 1)}
        )

    def test_trouble(self) -> None:
        """Partitions are counted by the worst that is wrong with them, topics by both."""
        self.use(
            topic("a", (-1, (1, 4), ()), (1, (1, 2, 3), (1,)), (2, (2, 3), (2, 3)), least="2"),
            topic("b", (1, (1, 2), (1,)), least="1"),
        )
        found = self.found()
        self.assertEqual(
            (found.offline.count, found.under_min_isr.count, found.under_replicated.count), (1, 1, 2)
        )
        self.assertEqual(found.by_topic, {"a": (1, 1), "b": (1, 0)})

    def test_once(self) -> None:
        """A state is walked through once, and again when its topics are others."""
        first = self.found()
        self.broker.metadata.state = attrs.evolve(self.state, controller_id=2)
        self.assertIs(self.found(), first)
        self.use(topic("a", (1, (1,), (1,))))
        self.assertIsNot(self.found(), first)
