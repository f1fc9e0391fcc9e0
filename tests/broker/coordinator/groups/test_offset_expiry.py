"""The removal of offsets: by retention, and with their topics."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.coordinator.groups.offset_expiry import MINUTE_MS
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import NEVER_MS, Record
from kafkatx.group.offset_records import encode_key
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.records.conversion import iter_any
from tests.broker.coordinated import (
    groups_of,
    groups_with_offsets,
    offsets_of,
    partition_of,
    partitions_of,
    put_group,
)
from tests.broker.handlers.test_offset_commit import CommitTestCase, commit
from tests.broker.running import NOW_MS
from tests.broker.stored import in_memory

RETENTION_MS = 10_080 * MINUTE_MS


class FakeGroup:
    """A group as expiry sees it; by default a consumer group whose members left long ago."""

    def __init__(self, group_id: str = "g", **facts: Any) -> None:
        self.group_id = group_id
        self.kind, self.protocol_type, self.state = "classic", "consumer", "Empty"
        self.empty_since_ms = NOW_MS - RETENTION_MS
        self.deadline_ms = NEVER_MS
        self.topics: tuple[str, ...] = ()
        vars(self).update(facts)

    def check_commit(self, *args: Any) -> ErrorCode:
        """Allow every commit."""
        return ErrorCode.NONE

    def subscribes(self, topic: str) -> bool:
        """Return True if the group was made with this topic."""
        return topic in self.topics

    def tombstones(self) -> list[Record]:
        """Return one tombstone."""
        return [Record(b"\0\2" + self.group_id.encode(), None)]


class ExpiryTestCase(CommitTestCase):
    """A test case whose ``expire`` runs the expiry."""

    def add(self, group: FakeGroup, *offsets: int) -> None:
        """Add a group with offsets of topic ``t``."""
        put_group(self.broker, group)
        if offsets:
            self.assertEqual(set(self.codes(commit(*offsets, group=group.group_id))), {0})

    def expire(self) -> int:
        """Run the expiry; return the number of its steps."""
        return len(list(self.broker.expiry.expire_each(self.now_ms)))

    def tombstones(self) -> list[bytes | None]:
        """Return the keys of tombstones in the log."""
        keys = []
        for partition in partitions_of(self.broker):
            log = partition.log
            data = in_memory(log.read(0, 1 << 30, log.log_end_offset, True))
            keys += [record.key for record in iter_any(data) if record.value is None]
        return keys


class ExpireTests(ExpiryTestCase):
    def test_empty_group(self) -> None:
        """A group without members is removed with its offsets, by tombstones in one batch."""
        self.add(FakeGroup(), 5, 6)
        self.assertEqual(self.expire(), 1)
        self.assertIsNone(self.broker.groups.find("g"))
        self.assertEqual(groups_with_offsets(self.broker), [])
        keys = [encode_key("g", "t", 0), encode_key("g", "t", 1), b"\0\2g"]
        self.assertEqual(self.tombstones(), keys)
        segments: Any = partition_of(self.broker, "g").log.segments
        self.assertEqual(len(segments[0].written), 2)

    def test_not_yet(self) -> None:
        """Offsets are kept until their retention has passed."""
        self.add(FakeGroup(empty_since_ms=NOW_MS - RETENTION_MS + 1), 5)
        self.expire()
        self.assertIsNotNone(self.committed())
        self.assertIsNotNone(self.broker.groups.find("g"))
        self.assertEqual(self.tombstones(), [])

    def test_setting(self) -> None:
        """The setting offsets.retention.minutes gives the retention."""
        self.broker.expiry.use(self.make_broker(**{"offsets.retention.minutes": "20000"}).config)
        self.add(FakeGroup(), 5)
        self.expire()
        self.assertIsNotNone(self.committed())

    def test_simple_group(self) -> None:
        """Offsets without a group expire by the time of their commit, with the group made for them."""
        self.codes(commit(5))
        self.now_ms += RETENTION_MS - 1
        self.codes(commit(6, 7))  # partition 0 again
        self.now_ms += 1
        self.expire()
        self.assertIsNotNone(self.broker.groups.find("g"))
        self.now_ms += RETENTION_MS - 1
        self.expire()
        self.assertEqual((self.committed(0), self.committed(1)), (None, None))
        self.assertIsNone(self.broker.groups.find("g"))

    def test_some_stay(self) -> None:
        """A group stays while it has offsets or members."""
        self.make_topic("u")
        group = FakeGroup(state="Stable", empty_since_ms=-1, topics=("t",))
        self.add(group, 5)
        self.codes(commit(5, topic="u"))
        self.now_ms += RETENTION_MS
        self.expire()
        self.assertEqual((self.committed() is None, self.committed(topic="u")), (False, None))
        group.topics = ()
        self.expire()
        self.assertIsNone(self.committed())
        self.assertIsNotNone(self.broker.groups.find("g"))
        self.assertEqual(self.tombstones(), [encode_key("g", "u", 0), encode_key("g", "t", 0)])

    def test_unused_group(self) -> None:
        """A group with neither members nor offsets is removed at once, unless it has a deadline."""
        self.codes(commit(1, group="other"))
        self.add(FakeGroup("waits", deadline_ms=5))
        self.add(FakeGroup("members", state="Stable"))
        self.add(FakeGroup("unused"))
        self.expire()
        self.assertEqual(set(groups_of(self.broker)), {"other", "waits", "members"})
        self.assertEqual(self.tombstones(), [b"\0\2unused"])

    def test_cannot_be_written(self) -> None:
        """A group whose tombstones cannot be written stays until the next run, with a log line."""
        self.add(FakeGroup("a"), 5)
        self.add(FakeGroup("b"), 5)
        writer = self.broker.groups.writer
        append = writer.append

        def fails(partition: Partition, records: Any) -> Any:
            if partition is partition_of(self.broker, "a"):
                raise RequestError(ErrorCode.NOT_COORDINATOR)
            return append(partition, records)

        patched = self.patch(writer, "append", fails)
        with capturedLogs() as logs:
            self.assertEqual(self.expire(), 2)
        self.assertEqual([log["log_level"] for log in logs], [LogLevel.warn, LogLevel.info])
        self.assertEqual(groups_with_offsets(self.broker), ["a"])
        patched.restore()
        self.expire()
        self.assertEqual(groups_with_offsets(self.broker), [])

    def test_loading(self) -> None:
        """Groups of a partition that was lost meanwhile are not expired."""
        self.add(FakeGroup(), 5)
        steps = self.broker.expiry.expire_each(self.now_ms)
        self.broker.groups.runtime.role_changed(partition_of(self.broker), False)
        self.assertEqual(len(list(steps)), 0)
        self.assertEqual(self.tombstones(), [])

    def test_changes_meanwhile(self) -> None:
        """A group that was removed or replaced between two steps is left alone."""
        for name in "abc":
            self.add(FakeGroup(name), 5)
        steps = self.broker.expiry.expire_each(self.now_ms)
        next(steps)
        self.broker.groups.remove("b")
        self.add(FakeGroup("c", empty_since_ms=NOW_MS))
        list(steps)
        self.assertEqual(groups_with_offsets(self.broker), ["b", "c"])


class TopicTests(ExpiryTestCase):
    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete(topic)))

    def test_deleted_topic(self) -> None:
        """A deleted topic's offsets are removed in one batch for each partition."""
        self.make_topic("u")
        for group in ("g", "h", "a"):
            self.codes(commit(5, 6, group=group))
        self.codes(commit(7, topic="u"))
        self.delete("t")
        self.assertEqual(offsets_of(self.broker, "g").of("g").keys(), {"u"})
        self.assertEqual(groups_with_offsets(self.broker), ["g"])
        keys = [encode_key(group, "t", number) for group in ("g", "h", "a") for number in range(2)]
        self.assertCountEqual(self.tombstones(), keys)
        self.make_topic("t")
        self.assertIsNone(self.committed())

    def test_no_offsets(self) -> None:
        """A topic without committed offsets needs no ``__consumer_offsets`` to be deleted."""
        self.delete("t")
        self.assertNotIn(CONSUMER_OFFSETS, self.broker.topics.partitions)

    def test_cannot_be_written(self) -> None:
        """A topic whose tombstones cannot be written is deleted all the same, with a log line."""
        self.codes(commit(5))
        self.patch(partition_of(self.broker, "g"), "error", ErrorCode.KAFKA_STORAGE_ERROR)
        with capturedLogs() as logs:
            self.delete("t")
        self.assertIn(LogLevel.warn, [log["log_level"] for log in logs])
        self.assertIsNone(self.committed())

    def test_deleted_while_not_led(self) -> None:
        """Offsets of topics that were deleted meanwhile are removed after loading."""
        self.codes(commit(5))
        partition = partition_of(self.broker)
        self.broker.groups.runtime.role_changed(partition, False)
        self.delete("t")
        self.assertEqual(self.tombstones(), [])
        self.broker.groups.runtime.role_changed(partition, True)
        self.assertIsNone(self.committed())
        self.assertEqual(self.tombstones(), [encode_key("g", "t", 0)])
