"""Groups of all coordinators of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.console.cluster.groups import ClusterGroups, GroupFigures
from kafkatx.group.offsets import Offsets
from kafkatx.wire.messages import consumer_group_describe, describe_groups
from kafkatx.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.broker.console.cluster.test_log_ends import LeaderCase

LISTED = (
    ListedGroup("idle", "consumer", "Empty", "classic"),
    ListedGroup("old", "consumer", "Stable", "classic"),
    ListedGroup("new", "consumer", "Stable", "consumer"),
)


class ClusterGroupsTests(LeaderCase):
    def setUp(self) -> None:
        """Make the groups."""
        super().setUp()
        self.broker.groups.shards = {}
        self.groups = ClusterGroups(self.broker, self.peers, self.ends)

    def other(self, message: Any) -> Any:
        """Return a response of broker 2, whose groups have read ``t-1`` up to 501 and ``t-7``."""
        if isinstance(message, ListGroupsRequest):
            return ListGroupsResponse(groups=list(LISTED))
        if isinstance(message, describe_groups.DescribeGroupsRequest):
            self.assertEqual(message.groups, ["old"])
            members = [describe_groups.DescribedGroupMember("m", None, "c", "h", b"", b"")] * 2
            group = describe_groups.DescribedGroup(0, None, "old", "Stable", "consumer", "range", members)
            return describe_groups.DescribeGroupsResponse(groups=[group])
        if isinstance(message, consumer_group_describe.ConsumerGroupDescribeRequest):
            self.assertEqual(message.group_ids, ["new"])
            described = consumer_group_describe.DescribedGroup(0, None, "new", "Stable", 1, 1, "uniform", [])
            return consumer_group_describe.ConsumerGroupDescribeResponse(groups=[described])
        if isinstance(message, OffsetFetchRequest):
            partitions = [OffsetFetchResponsePartitions(number, 501) for number in (1, 7)]
            topics = [OffsetFetchResponseTopics("t", partitions)]
            groups = [OffsetFetchResponseGroup(one.group_id, topics) for one in message.groups]
            return OffsetFetchResponse(groups=groups)
        return super().other(message)

    def found(self) -> Mapping[str, GroupFigures]:
        """Return the groups."""
        self.clock.advance(10)
        waiting: Deferred[Mapping[str, GroupFigures]] = self.groups.get()
        return self.successResultOf(waiting)

    def test_all(self) -> None:
        """Groups of other coordinators are known with members and lag."""
        found = self.found()
        self.assertEqual(
            {one.id: (one.protocol, one.state, one.members, one.lag) for one in found.values()},
            {
                "idle": ("classic", "Empty", 0, 500),
                "old": ("classic", "Stable", 2, 500),
                "new": ("consumer", "Stable", 0, 500),
            },
        )
        self.assertEqual({one.coordinator for one in found.values()}, {2})

    def test_silent(self) -> None:
        """Without an answer of the other coordinator this broker's own groups are told."""
        self.failing = True
        offsets = Offsets()
        offsets.set("own", "t", 0, self.committed(4))
        offsets.set("lost", "gone", 0, self.committed(4))
        shard: Any = type("Shard", (), {"groups": {}, "offsets": offsets})
        self.broker.groups.shards = {0: shard}
        found = self.found()
        self.assertEqual(
            {one.id: (one.state, one.lag) for one in found.values()},
            {"own": ("Empty", 5), "lost": ("Empty", None)},
        )

    def test_beyond(self) -> None:
        """Deleted records do not count, and an offset beyond the end is behind by nothing."""
        self.failing = True
        offsets = Offsets()
        offsets.set("early", "t", 0, self.committed(0))
        offsets.set("late", "t", 0, self.committed(99))
        shard: Any = type("Shard", (), {"groups": {}, "offsets": offsets})
        self.broker.groups.shards = {0: shard}
        self.assertEqual({one.id: one.lag for one in self.found().values()}, {"early": 8, "late": 0})

    def committed(self, offset: int) -> Any:
        """Return a committed offset."""
        return type("Committed", (), {"offset": offset})
