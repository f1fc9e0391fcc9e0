"""OffsetCommit: allowed commits, stored records, and the errors of refused commits."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.handlers import offset_commit
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed, decode_key, decode_value
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.records.conversion import iter_any
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.coordinated import offsets_of, partition_of, put_group
from tests.broker.running import NOW_MS, BrokerTestCase, Held
from tests.broker.stored import in_memory

KEY = 8
VERSIONS = range(10)


def commit(
    *offsets: int, group: str = "g", topic: str = "t", metadata: str | None = "m", **fields: Any
) -> OffsetCommitRequest:
    """Return a commit of these offsets, to partitions 0, 1, ..."""
    partitions = [
        OffsetCommitRequestPartition(number, offset, 7, committed_metadata=metadata)
        for number, offset in enumerate(offsets)
    ]
    return OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, partitions)], **fields)


class FakeGroup:
    """A group that allows commits, or refuses them."""

    group_id = "g"

    def __init__(self, code: ErrorCode = ErrorCode.NONE) -> None:
        self.code = code
        self.asked: list[Any] = []

    def check_commit(self, *args: Any) -> ErrorCode:
        """Return the code that the group was made with."""
        self.asked.append(args)
        return self.code


class CommitTestCase(BrokerTestCase):
    """A test case in which topic ``t`` has two partitions."""

    def setUp(self) -> None:
        """Make the topic."""
        super().setUp()
        self.make_topic("t", 2)

    def codes(self, request: OffsetCommitRequest, version: int = 8) -> list[int]:
        """Commit; check the names in the response and return the code of each partition."""
        response = self.ask(KEY, version, request)
        asked = [(t.name, [p.partition_index for p in t.partitions]) for t in request.topics]
        told = [(t.name, [p.partition_index for p in t.partitions]) for t in response.topics]
        self.assertEqual(told, asked)
        return [part.error_code for topic in response.topics for part in topic.partitions]

    def committed(self, partition: int = 0, group: str = "g", topic: str = "t") -> Committed | None:
        """Return the committed offset."""
        return offsets_of(self.broker, group).get(group, topic, partition)

    def written(self) -> list[tuple[Any, Committed]]:
        """Return the keys and values in the log, from all partitions."""
        found = []
        for partition in self.broker.topics.of(CONSUMER_OFFSETS):
            data = in_memory(partition.log.read(0, 1 << 30, partition.log.log_end_offset, True))
            for record in iter_any(data):
                assert record.key is not None and record.value is not None
                found.append((decode_key(record.key), decode_value(record.value)))
        return found


class StoringTests(CommitTestCase):
    def test_every_version(self) -> None:
        """A commit of any version is in memory and in the log, from version 6 on with its leader epoch."""
        for version in VERSIONS:
            self.assertEqual(self.codes(commit(version, 100), version), [0, 0])
            expected = Committed(version, 7 if version >= 6 else -1, "m", NOW_MS)
            self.assertEqual(self.committed(), expected)
            self.assertEqual(self.written()[-2], (("g", "t", 0), expected))

    def test_without_metadata(self) -> None:
        """Null metadata is stored as the empty string."""
        self.codes(commit(5, metadata=None))
        self.assertEqual(self.committed(), Committed(5, 7, "", NOW_MS))

    def test_commit_timestamp(self) -> None:
        """Version 1 may give its own timestamp; -1 stands for the broker's time."""
        for given, stored in ((NOW_MS - 5, NOW_MS - 5), (-1, NOW_MS)):
            request = commit(5)
            request.topics[0].partitions[0].commit_timestamp = given
            self.codes(request, 1)
            self.assertEqual(self.committed(), Committed(5, -1, "m", stored))

    def test_retention_time(self) -> None:
        """A retention time in versions 2-4 becomes an expire timestamp; later versions have none."""
        for version in (2, 3, 4, 5):
            for given, expire_ms in ((1000, NOW_MS + 1000), (-1, -1), (2**63 - 1, 2**63 - 1), (-(2**63), 0)):
                self.codes(commit(5, retention_time_ms=given), version)
                expected = Committed(5, -1, "m", NOW_MS, expire_ms if version < 5 else -1)
                self.assertEqual(self.committed(), expected)
                self.assertEqual(self.written()[-1][1], expected)

    def test_no_group(self) -> None:
        """A commit without a generation makes a group without members and protocol, once."""
        self.codes(commit(5))
        group = self.broker.groups.find("g")
        assert group is not None
        self.assertEqual((group.has_members, group.protocol_type, group.state), (False, "", "Empty"))
        self.codes(commit(6))
        self.assertIs(self.broker.groups.find("g"), group)

    def test_any_group_id(self) -> None:
        """The empty group id is allowed for offsets, as in Apache Kafka; so are 300 characters."""
        for group in ("", "g" * 300, "ü" * 300):
            self.assertEqual(self.codes(commit(5, group=group)), [0])
            self.assertEqual(self.committed(group=group), Committed(5, 7, "m", NOW_MS))

    def test_many_topics(self) -> None:
        """All topics and partitions of a request are one batch."""
        self.make_topic("u", 3)
        request = commit(1, 2)
        request.topics.append(commit(3, 4, 5, topic="u").topics[0])
        self.assertEqual(self.codes(request), [0] * 5)
        segments: Any = partition_of(self.broker, "g").log.segments
        self.assertEqual(len(segments[0].written), 1)
        self.assertEqual(self.committed(2, topic="u"), Committed(5, 7, "m", NOW_MS))

    def test_first_of_all(self) -> None:
        """Commits that arrive before ``__consumer_offsets`` exists wait for it, and keep their order."""
        held = Held()
        self.broker = self.make_broker(held)
        self.dispatch = type(self.dispatch)(self.broker, tuple(self.dispatch._served.values()))
        held.holding = False
        self.make_topic("t", 2)
        held.holding = True
        waiting = [self.answer(KEY, 8, commit(offset)) for offset in (1, 2, 3)]
        for one in waiting:
            self.assertNoResult(one)
        held.work()
        for one in waiting:
            response = self.response(KEY, 8, self.successResultOf(one))
            self.assertEqual(response.topics[0].partitions[0].error_code, 0)
        self.assertEqual([committed.offset for _, committed in self.written()], [1, 2, 3])
        self.assertEqual(self.committed(), Committed(3, 7, "m", NOW_MS))


class RefusalTests(CommitTestCase):
    def test_unknown_partitions(self) -> None:
        """Unknown topics and partitions are refused; the others are committed."""
        request = commit(1, 2, 3)
        request.topics.append(commit(4, topic="unknown").topics[0])
        request.topics[0].partitions[0].partition_index = -1
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for version in VERSIONS:
            self.assertEqual(self.codes(request, version), [unknown, 0, unknown, unknown])
        self.assertIsNone(self.committed(2))
        self.assertIsNone(self.committed(topic="unknown"))
        self.assertEqual(self.committed(1), Committed(2, 7, "m", NOW_MS))

    def test_nothing_known(self) -> None:
        """A commit of only unknown partitions, or of none, does not reach or make a group."""
        self.assertEqual(self.codes(commit(1, topic="unknown", generation_id_or_member_epoch=5)), [3])
        self.assertEqual(self.codes(OffsetCommitRequest("g")), [])
        self.assertIsNone(self.broker.groups.find("g"))

    def test_metadata(self) -> None:
        """Metadata above offset.metadata.max.bytes is refused alone, after the group was asked."""
        request = commit(1, 2, metadata="m" * 4096)
        request.topics[0].partitions[0].committed_metadata = "m" * 4097
        too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
        self.assertEqual(self.codes(request), [too_large, 0])
        self.assertIsNone(self.committed())
        self.assertEqual(self.committed(1), Committed(2, 7, "m" * 4096, NOW_MS))
        self.assertEqual(self.codes(commit(1, metadata="m" * 4097)), [too_large])
        request.generation_id_or_member_epoch, request.group_id = 1, "other"
        self.assertEqual(self.codes(request), [ErrorCode.ILLEGAL_GENERATION] * 2)

    def test_what_no_record_can_hold(self) -> None:
        """Strings above 32,767 bytes, the limit of the format, are refused whatever the settings allow."""
        self.broker.config = self.make_broker(**{"offset.metadata.max.bytes": "1000000"}).config
        for size, code in ((32_767, 0), (32_768, ErrorCode.OFFSET_METADATA_TOO_LARGE)):
            self.assertEqual(self.codes(commit(1, metadata="m" * size)), [code])
        self.assertEqual(self.codes(commit(1, metadata="ü" * 16_384)), [ErrorCode.OFFSET_METADATA_TOO_LARGE])
        for size, code in ((32_767, 0), (32_768, ErrorCode.INVALID_GROUP_ID)):
            self.assertEqual(self.codes(commit(1, group="g" * size)), [code])

    def test_unknown_group(self) -> None:
        """A generation of a missing group is illegal; from version 9 on the group id is not found."""
        for version in VERSIONS[1:]:
            request = commit(1, generation_id_or_member_epoch=0, member_id="m")
            expected = ErrorCode.ILLEGAL_GENERATION if version < 9 else ErrorCode.GROUP_ID_NOT_FOUND
            self.assertEqual(self.codes(request, version), [expected])
        self.assertIsNone(self.broker.groups.find("g"))

    def test_group_decides(self) -> None:
        """The group is asked with the member's fields; its error is each partition's."""
        self.codes(commit(1))  # so that the topic exists
        for code in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            group = FakeGroup(code)
            put_group(self.broker, group, "g")
            request = commit(2, 3, member_id="me", group_instance_id="i", generation_id_or_member_epoch=4)
            self.clock.advance(1)
            now_ms = self.broker.groups.now_ms()
            self.assertEqual(self.codes(request, 7), [code, code])
            self.assertEqual(group.asked, [("me", "i", 4, 7, now_ms)])
            self.assertEqual(self.committed(), Committed(2, 7, "m", NOW_MS))
        self.assertEqual(len(self.written()), 3)

    def test_stale_epoch(self) -> None:
        """A stale member epoch is reported from version 9 on; older versions do not know the error."""
        self.codes(commit(1))
        for version in VERSIONS[1:]:
            put_group(self.broker, FakeGroup(ErrorCode.STALE_MEMBER_EPOCH), "g")
            expected = ErrorCode.UNSUPPORTED_VERSION if version < 9 else ErrorCode.STALE_MEMBER_EPOCH
            request = commit(2, member_id="me", generation_id_or_member_epoch=4)
            self.assertEqual(self.codes(request, version), [expected])

    def test_loading(self) -> None:
        """No offset is committed while the group's partition is loaded."""
        self.codes(commit(1))
        self.patch(
            self.broker.groups,
            "check",
            lambda group, may_be_empty=False: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        )
        self.assertEqual(self.codes(commit(2)), [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS])
        self.assertEqual(self.committed(), Committed(1, 7, "m", NOW_MS))

    def test_no_topic_to_write_to(self) -> None:
        """The coordinator is not available if ``__consumer_offsets`` cannot be created."""

        def create(*args: Any) -> Any:
            raise OSError("full")

        self.patch(self.broker.store, "create", create)
        self.assertEqual(self.codes(commit(1, 2)), [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2)

    def test_bug(self) -> None:
        """A bug in a group is UNKNOWN_SERVER_ERROR for each partition."""
        self.codes(commit(1))
        put_group(self.broker, object(), "g")
        self.assertEqual(self.codes(commit(1)), [ErrorCode.UNKNOWN_SERVER_ERROR])
        self.assertEqual(len(self.flushLoggedErrors(AttributeError)), 1)


class FlushTests(CommitTestCase):
    def setUp(self) -> None:
        """Make commits wait for a flush that the test ends."""
        super().setUp()
        self.codes(commit(1))
        partition = partition_of(self.broker, "g")
        partition.flush_messages = 1
        self.flushing: Deferred[int] = Deferred()
        self.patch(type(partition.log), "flushed_offset", property(lambda log: 0))
        self.patch(partition.log, "flush", lambda: self.flushing)

    def test_waits(self) -> None:
        """The reply waits for the disk with flush.messages; the commit cannot be fetched before."""
        waiting = self.answer(KEY, 8, commit(2))
        self.assertNoResult(waiting)
        self.assertEqual(self.committed(), Committed(1, 7, "m", NOW_MS))
        self.flushing.callback(2)
        self.assertEqual(self.committed(), Committed(2, 7, "m", NOW_MS))
        response = self.response(KEY, 8, self.successResultOf(waiting))
        self.assertEqual(response.topics[0].partitions[0].error_code, 0)

    def test_fails(self) -> None:
        """A commit whose flush failed is not acknowledged."""
        waiting = self.answer(KEY, 8, commit(2))
        self.flushing.errback(OSError("no"))
        response = self.response(KEY, 8, self.successResultOf(waiting))
        self.assertEqual(response.topics[0].partitions[0].error_code, ErrorCode.NOT_COORDINATOR)

    def test_nothing_to_wait_for(self) -> None:
        """A refused commit waits for no flush."""
        self.assertEqual(self.codes(commit(2, metadata="m" * 5000)), [ErrorCode.OFFSET_METADATA_TOO_LARGE])


class LengthTests(CommitTestCase):
    def test_bound(self) -> None:
        """Short strings are not encoded to be measured: no character takes more than four bytes."""
        self.assertFalse(offset_commit.is_too_long("😀" * (32_767 // 4)))
        self.assertTrue(offset_commit.is_too_long("😀" * (32_768 // 4)))
