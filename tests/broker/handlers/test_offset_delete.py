"""OffsetDelete: offsets that may be deleted, and tombstones in the log."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.offset_records import Committed, encode_key
from kafkatx.records.conversion import iter_any
from kafkatx.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from tests.broker.coordinated import offsets_of, partition_of, put_group
from tests.broker.handlers.test_offset_commit import CommitTestCase, commit
from tests.broker.stored import in_memory

KEY = 47


class FakeGroup:
    """A group with members, who consume topic ``t`` if they are consumers."""

    group_id = "g"
    has_members = True

    def __init__(self, protocol_type: str) -> None:
        self.protocol_type = protocol_type

    def subscribes(self, topic: str) -> bool:
        """Return True for topic ``t``."""
        return topic == "t"


class OffsetDeleteTests(CommitTestCase):
    def setUp(self) -> None:
        """Commit offsets of ``t`` and ``u`` for group ``g``."""
        super().setUp()
        self.make_topic("u")
        self.codes(commit(5, 6))
        self.codes(commit(7, topic="u"))

    def delete(self, group: str = "g", **partitions: list[int]) -> OffsetDeleteResponse:
        """Delete offsets of topics."""
        response: OffsetDeleteResponse = self.ask(KEY, 0, request(group, **partitions))
        return response

    def parts(self, response: OffsetDeleteResponse) -> list[Any]:
        """Return topic, partition and code of each result."""
        self.assertEqual(response.error_code, 0)
        return [(t.name, p.partition_index, p.error_code) for t in response.topics for p in t.partitions]

    def tombstones(self) -> list[bytes | None]:
        """Return the keys of the tombstones in the log, in order."""
        log = partition_of(self.broker, "g").log
        data = in_memory(log.read(0, 1 << 20, log.log_end_offset, True))
        return [record.key for record in iter_any(data) if record.value is None]

    def test_delete(self) -> None:
        """Offsets are deleted in memory and by tombstones in the log; missing ones count as deleted."""
        self.make_topic("w")
        response = self.delete(t=[1], u=[0], w=[0])
        self.assertEqual(self.parts(response), [("t", 1, 0), ("u", 0, 0), ("w", 0, 0)])
        self.assertEqual([self.committed(1), self.committed(topic="u")], [None, None])
        self.assertIsNotNone(self.committed(0))
        self.assertEqual(self.tombstones(), [encode_key("g", "t", 1), encode_key("g", "u", 0)])

    def test_nothing_to_delete(self) -> None:
        """A request that deletes no offset writes no tombstone."""
        self.make_topic("w")
        self.assertEqual(self.parts(self.delete(w=[0])), [("w", 0, 0)])
        self.assertEqual(self.parts(self.delete()), [])
        self.assertEqual(self.tombstones(), [])

    def test_unknown_partition(self) -> None:
        """An unknown partition is refused; the others are not affected."""
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        response = self.delete(t=[2, 0], x=[0])
        self.assertEqual(self.parts(response), [("t", 2, unknown), ("t", 0, 0), ("x", 0, unknown)])
        self.assertIsNone(self.committed(0))

    def test_unknown_group(self) -> None:
        """A missing group and the empty group id are refused as a whole."""
        for group, code in (("other", ErrorCode.GROUP_ID_NOT_FOUND), ("", ErrorCode.INVALID_GROUP_ID)):
            response = self.delete(group, t=[0])
            self.assertEqual((response.error_code, response.topics), (code, []))

    def test_members(self) -> None:
        """Members that are not consumers protect all offsets of the group; consumers only their topics'."""
        put_group(self.broker, FakeGroup("connect"), "g")
        self.assertEqual(self.delete(u=[0]).error_code, ErrorCode.NON_EMPTY_GROUP)
        put_group(self.broker, FakeGroup("consumer"), "g")
        subscribed = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        self.assertEqual(
            self.parts(self.delete(t=[0, 1], u=[0])),
            [("t", 0, subscribed), ("t", 1, subscribed), ("u", 0, 0)],
        )
        self.assertEqual([self.committed(0) is None, self.committed(topic="u") is None], [False, True])

    def test_cannot_be_written(self) -> None:
        """Offsets stay if the tombstones cannot be written."""

        def append(*args: Any) -> Any:
            raise RequestError(ErrorCode.NOT_COORDINATOR)

        self.patch(self.broker.groups.writer, "append", append)
        self.assertEqual(self.delete(t=[0]).error_code, ErrorCode.NOT_COORDINATOR)
        self.assertIsNotNone(self.committed(0))

    def test_flush(self) -> None:
        """The reply waits for the tombstones to be on disk with flush.messages, and reports a failure."""
        self.codes(commit(1))
        partition = partition_of(self.broker, "g")
        partition.flush_messages = 1
        self.patch(type(partition.log), "flushed_offset", property(lambda log: 0))
        for outcome, code in ((5, 0), (OSError("no"), ErrorCode.NOT_COORDINATOR)):
            flushing: Deferred[int] = Deferred()
            patched = self.patch(partition.log, "flush", lambda flushing=flushing: flushing)
            offsets_of(self.broker).set("g", "t", 0, Committed(1))
            waiting = self.answer(KEY, 0, request("g", t=[0]))
            self.assertNoResult(waiting)
            flushing.callback(outcome) if isinstance(outcome, int) else flushing.errback(outcome)
            response = self.response(KEY, 0, self.successResultOf(waiting))
            self.assertEqual((response.error_code, len(response.topics)), (code, 0 if code else 1))
            patched.restore()


def request(group: str, **partitions: list[int]) -> OffsetDeleteRequest:
    """Return a request to delete offsets of topics."""
    return OffsetDeleteRequest(
        group,
        [
            OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(n) for n in numbers])
            for topic, numbers in partitions.items()
        ],
    )
