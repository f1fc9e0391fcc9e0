"""The collector of groups: lag in records and in seconds, members and states, limits."""

from __future__ import annotations

from kafkatx.broker.metrics.application import make_application
from kafkatx.group.offset_records import Committed
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest
from tests.broker.coordinated import put_group
from tests.broker.handlers.test_offset_commit import commit
from tests.broker.metrics.scraped import ScrapeTestCase
from tests.broker.running import NOW_MS


class GroupCollectorTests(ScrapeTestCase):
    def setUp(self) -> None:
        """Make a topic with three records, each in a batch of its own, a second apart."""
        super().setUp()
        self.make_topic(partitions=2)
        for second in range(3):
            self.fill(b"value", timestamp_ms=NOW_MS + 1000 * second)
        self.now_ms = NOW_MS + 10_000

    def commit(self, *offsets: int, group: str = "g", topic: str = "t") -> None:
        """Commit offsets of partitions 0, 1, ..."""
        request: OffsetCommitRequest = commit(*offsets, group=group, topic=topic)
        self.ask(8, 8, request)

    def test_lag(self) -> None:
        """The lag is what is above the committed offset; its age is that of the oldest such batch."""
        self.commit(1, 0)
        found = self.scrape()
        named = {"consumergroup": "g", "topic": "t"}
        wanted = {"kafka_consumergroup_current_offset": 1, "kafka_consumergroup_lag": 2}
        self.assertValues(found, wanted, **named, partition="0")
        wanted = {"kafka_consumergroup_current_offset": 0, "kafka_consumergroup_lag": 0}
        self.assertValues(found, wanted, **named, partition="1")
        wanted = {
            "kafka_consumergroup_current_offset_sum": 1,
            "kafka_consumergroup_lag_sum": 2,
            "kafkatx_group_lag_seconds": 9,
        }
        self.assertValues(found, wanted, **named)
        self.assertValues(found, {"kafka_consumergroup_members": 0}, consumergroup="g")
        self.assertValues(found, {"kafkatx_groups": 1}, type="classic", state="Empty")

    def test_oldest(self) -> None:
        """The time of a topic is that of the partition that is furthest behind."""
        self.fill(b"value", partition=1, timestamp_ms=NOW_MS + 4000)
        for offsets, seconds in (((1, 0), 9), ((2, 0), 8), ((3, 0), 6)):
            self.commit(*offsets)
            found = self.scrape()
            self.assertValues(found, {"kafkatx_group_lag_seconds": seconds}, consumergroup="g", topic="t")

    def test_no_lag(self) -> None:
        """A group that has read everything is 0 seconds behind."""
        self.commit(3)
        found = self.scrape()
        wanted = {"kafka_consumergroup_lag_sum": 0, "kafkatx_group_lag_seconds": 0}
        self.assertValues(found, wanted, consumergroup="g", topic="t")

    def test_deleted_records(self) -> None:
        """Records that retention has deleted count for no group."""
        self.commit(0)
        self.broker.topics.of("t")[0].log.advance_log_start(2)
        found = self.scrape()
        wanted = {"kafka_consumergroup_lag_sum": 1, "kafkatx_group_lag_seconds": 8}
        self.assertValues(found, wanted, consumergroup="g", topic="t")

    def test_without_replica(self) -> None:
        """The lag in a partition that is not here is not told, and counted as such."""
        self.commit(1)
        offsets = self.broker.groups.offsets_of("g")
        offsets.set("g", "elsewhere", 0, Committed(5))
        found = self.scrape()
        named = {"consumergroup": "g", "topic": "elsewhere"}
        self.assertEqual(self.value(found, "kafka_consumergroup_current_offset", **named, partition="0"), 5)
        self.assertIsNone(self.value(found, "kafka_consumergroup_lag", **named, partition="0"))
        self.assertIsNone(self.value(found, "kafka_consumergroup_lag_sum", **named))
        self.assertIsNone(self.value(found, "kafkatx_group_lag_seconds", **named))
        self.assertValues(found, {"kafkatx_group_partitions_without_lag": 1})

    def test_members(self) -> None:
        """Groups of both protocols tell the number of their members."""
        groups = self.broker.groups
        for made in (groups.new_classic("old"), groups.new_consumer("new")):
            put_group(self.broker, made, made.group_id)
        found = self.scrape()
        for name in ("old", "new"):
            self.assertValues(found, {"kafka_consumergroup_members": 0}, consumergroup=name)
        self.assertValues(found, {"kafkatx_groups": 1}, type="consumer", state="Empty")

    def test_names(self) -> None:
        """A group id may be any text; one that looks like our sums does not collide with them."""
        for group in ('a"b\\c\nd', "(others)"):
            self.commit(1, group=group)
        found = self.scrape()
        self.assertValues(found, {"kafka_consumergroup_members": 0}, consumergroup='a"b\\c\nd')
        self.assertValues(
            found, {"kafka_consumergroup_lag_sum": 2}, consumergroup="(others)", topic="(others)"
        )

    def limit(self, name: str, value: int) -> None:
        """Set a limit."""
        settings = {f"kafkatx.metrics.max.{name}": str(value)}
        self.broker.config = self.broker.config.with_values(settings)
        self.application = make_application(self.sources)

    def test_groups(self) -> None:
        """Groups above the limit are summed up, and counted."""
        self.limit("groups", 1)
        for group in ("a", "b", "c"):
            self.commit(1, 0, group=group)
        found = self.scrape()
        self.assertEqual(len(found["kafka_consumergroup_members"]), 1)
        self.assertEqual(len(found["kafka_consumergroup_lag"]), 2)
        self.assertValues(
            found, {"kafka_consumergroup_lag_sum": 4}, consumergroup="(others)", topic="(others)"
        )
        self.assertValues(found, {"kafkatx_metrics_left_out": 2}, kind="groups")

    def test_group_partitions(self) -> None:
        """Offsets above the limit count in the sums only."""
        self.limit("group.partitions", 1)
        self.commit(1, 0)
        found = self.scrape()
        self.assertEqual(len(found["kafka_consumergroup_lag"]), 1)
        self.assertValues(found, {"kafka_consumergroup_lag_sum": 2}, consumergroup="g", topic="t")
        self.assertValues(found, {"kafkatx_metrics_left_out": 1}, kind="group_partitions")
