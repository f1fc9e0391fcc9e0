"""Tests of kafkatx.blocking.admin.lag."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.groups import Groups
from kafkatx.blocking.admin.lag import progress
from kafkatx.clientcore.admin.lag import Progress
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fake_groups import FakeGroup, FakeGroups, FakeMember
from tests.blocking.fakes import Log


class ProgressTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A group that has read some of two topics."""
        self.group = FakeGroup([FakeMember("m", {"t": [0, 1]})], {TopicPartition("t", 0): 4})
        topics = {"t": [Log(end=10), Log(end=5, leader=2)], "u": [Log(start=2, end=3)]}
        self.fake = FakeGroups(topics, brokers=2, groups={"g": self.group})

    def progress(self) -> list[Progress]:
        """Return the group's progress."""
        cluster = self.fake.client(retries=3)
        return progress(cluster, Groups(cluster).describe("g"))

    def rows(self) -> list[tuple[object, ...]]:
        """Partition, committed offset, end, lag and member id of each row."""
        return [
            (*p.at, p.committed and p.committed.offset, p.end, p.lag, p.member and p.member.member_id)
            for p in self.progress()
        ]

    def test_committed_and_assigned(self) -> None:
        """Partitions with an offset or a member have a row; lag needs an offset."""
        self.group.offsets[TopicPartition("u", 0)] = 3
        self.assertEqual(
            self.rows(),
            [("t", 0, 4, 10, 6, "m"), ("t", 1, None, 5, None, "m"), ("u", 0, 3, 3, 0, None)],
        )

    def test_few_requests(self) -> None:
        """All topics are looked up at once."""
        self.group.offsets[TopicPartition("u", 0)] = 3
        self.progress()
        asked = [[topic.name for topic in request.topics] for request in self.fake.sent(MetadataRequest)]
        self.assertEqual(asked, [[], ["t", "u"]])

    def test_gone(self) -> None:
        """A partition that is gone or has no leader has no known end."""
        for gone in (("gone", 0), ("u", 7)):
            self.group.offsets[TopicPartition(*gone)] = 1
        self.fake.topics["t"][0].leader = -1
        self.assertEqual(
            self.rows(),
            [
                ("gone", 0, 1, None, None, None),
                ("t", 0, 4, None, None, "m"),
                ("t", 1, None, 5, None, "m"),
                ("u", 7, 1, None, None, None),
            ],
        )
        self.assertEqual(self.fake.slept, [])

    def test_beyond_the_end(self) -> None:
        """An offset beyond the end, of a topic that was made anew, is not hidden."""
        self.fake.topics["t"][0].end = 1
        self.assertEqual(self.rows()[0], ("t", 0, 4, 1, -3, "m"))

    def test_nothing(self) -> None:
        """A group without members and offsets has no rows."""
        self.group.members.clear()
        self.group.offsets.clear()
        self.assertEqual(self.rows(), [])
        self.assertEqual(len(self.fake.sent(MetadataRequest)), 1)  # for the brokers; none for no topics
