"""Tests of kafkatx.clientcore.admin.lag."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.group_description import CLASSIC, GroupDescription, Member
from kafkatx.clientcore.admin.lag import Progress, partitions_of, progress, with_leader
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.types import BrokerNode, TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class LagTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group with one member, which has t [1]."""
        self.member = Member("m", None, "c", "/h", (T1,))
        node = BrokerNode(1, "h", 9092)
        self.group = GroupDescription(
            "g", CLASSIC, "Stable", "consumer", "range", node, members=(self.member,)
        )

    def test_partitions(self) -> None:
        """Partitions with an offset and those of members are returned sorted, each once."""
        found = partitions_of(self.group, [U0, T0, T1])
        self.assertEqual(list(found.items()), [(T0, None), (T1, self.member), (U0, None)])
        self.assertEqual(partitions_of(self.group, []), {T1: self.member})

    def test_led(self) -> None:
        """Deleted topics and partitions, and those without a leader, are left out."""
        partitions = {0: PartitionMetadata(0, 1), 1: PartitionMetadata(1, -1)}
        metadata = ClusterMetadata(topics={"t": TopicMetadata("t", partitions)})
        self.assertEqual(with_leader([T0, T1, TopicPartition("t", 2), U0], metadata), [T0])

    def test_progress(self) -> None:
        """Each partition has its offset, end and member, and a lag if offset and end are known."""
        found = progress(
            {T0: None, T1: self.member, U0: None},
            {T0: OffsetAndMetadata(5), U0: OffsetAndMetadata(9)},
            {T0: 12, T1: 3},
        )
        self.assertEqual(
            found,
            [
                Progress(T0, OffsetAndMetadata(5), 12, None),
                Progress(T1, None, 3, self.member),
                Progress(U0, OffsetAndMetadata(9), None, None),
            ],
        )
        self.assertEqual([one.lag for one in found], [7, None, None])

    def test_recreated(self) -> None:
        """An offset beyond the end has a negative lag."""
        self.assertEqual(Progress(T0, OffsetAndMetadata(5), 2, None).lag, -3)
