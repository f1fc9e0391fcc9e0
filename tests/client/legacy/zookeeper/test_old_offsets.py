"""Tests of kafkatx.client.legacy.zookeeper.old_offsets."""

from __future__ import annotations

from twisted.logger import LogLevel, capturedLogs, formatEvent

from kafkatx.client.legacy.zookeeper.old_offsets import OldOffsets
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.types import TopicPartition
from tests.client.legacy.zookeeper.case import PATHS, TreeTestCase

PLACES = [TopicPartition("t", number) for number in range(3)]


class OldOffsetsTests(TreeTestCase):
    def setUp(self) -> None:
        """Make the nodes of Kafka 0.7: two partitions at broker 2, one at broker 10."""
        super().setUp()
        self.result(self.registry.create_missing(PATHS.parents(("t",))))
        for name, offset in (("10-0", b"100"), ("2-0", b"20"), ("2-1", b"21")):
            self.make(f"/consumers/g/offsets/t/{name}", offset)

    def read(self, old: OldOffsets, partitions: int = 3) -> tuple[dict[TopicPartition, int], list[str]]:
        """Read twice; return the offsets and the warnings."""
        with capturedLogs() as events:
            for _ in range(2):
                found = self.result(old.read(PLACES, {"t": partitions}))
        return found, [formatEvent(one) for one in events if one["log_level"] is LogLevel.warn]

    def test_used(self) -> None:
        """Partitions are counted by broker id, as a number, and then by their number."""
        found, warned = self.read(OldOffsets(self.tree, PATHS, True))
        self.assertEqual([found[at] for at in PLACES], [20, 21, 100])
        self.assertEqual(warned, [])

    def test_not_wanted(self) -> None:
        """Without the setting they are not used, and are told of once."""
        found, (warned,) = self.read(OldOffsets(self.tree, PATHS, False))
        self.assertEqual(found, {})
        self.assertIn("2-0, 2-1, 10-0", warned)
        self.assertIn("kafkatx.zookeeper.old.offsets=true", warned)

    def test_other_number(self) -> None:
        """They are not used for a topic with another number of partitions."""
        found, (warned,) = self.read(OldOffsets(self.tree, PATHS, True), 4)
        self.assertEqual(found, {})
        self.assertIn("they are 3, and the topic has 4 partitions", warned)

    def test_none(self) -> None:
        """A topic without nodes of Kafka 0.7 has no offsets; nor has one whose parent is missing."""
        old = OldOffsets(self.tree, PATHS, True)
        at = TopicPartition("u", 0)
        self.assertEqual(self.result(old.read([at], {"u": 1})), {})
        self.make("/consumers/g/offsets/u")
        self.make("/consumers/g/offsets/u/0", b"5")
        self.assertEqual(self.result(old.read([at], {"u": 1})), {})

    def test_unreadable(self) -> None:
        """A node without a number is an error, not an offset of 0."""
        self.make("/consumers/g/offsets/u")
        self.make("/consumers/g/offsets/u/1-0", b"x")
        with self.assertRaises(UnreadableNode):
            self.result(OldOffsets(self.tree, PATHS, True).read([TopicPartition("u", 0)], {"u": 1}))
