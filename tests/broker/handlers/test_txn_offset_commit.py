"""TxnOffsetCommit: offsets that count when their transaction is committed."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Client
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.transactional import TV2_END, TransactionsTestCase

UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT
_ = Client


class OffsetsTests(TransactionsTestCase):
    def begin(self) -> tuple[int, int]:
        """Begin a transaction with the offsets of the group."""
        producer = self.producer()
        self.assertEqual(self.add_offsets(producer), 0)
        return producer

    def commit_plain(self, offset: int) -> None:
        """Commit an offset without a transaction."""
        partitions = [OffsetCommitRequestPartition(0, offset)]
        request = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions)])
        self.ask(8, 8, request)

    def test_commit(self) -> None:
        """An offset is pending until the transaction is committed, in every version up to 4."""
        for version in range(5):
            before = self.offset(stable=False)
            producer = self.begin()
            self.assertEqual(self.commit_offset(producer, 10 + version, version=version), 0)
            self.assertEqual(self.offset(stable=False), before)
            self.assertEqual(self.offset(), (-1, UNSTABLE))
            self.end(producer)
            self.assertEqual(self.offset(), (10 + version, 0))

    def test_abort(self) -> None:
        """An aborted transaction leaves the offset as it was."""
        self.commit_plain(3)
        producer = self.begin()
        self.commit_offset(producer, 9)
        self.end(producer, False)
        self.assertEqual(self.offset(), (3, 0))

    def test_newest(self) -> None:
        """A commit without a transaction that came later than the pending one stays."""
        producer = self.begin()
        self.commit_offset(producer, 9)
        self.commit_plain(20)
        self.end(producer)
        self.assertEqual(self.offset(), (20, 0))

    def test_implicit(self) -> None:
        """Version 5 adds the partition by itself."""
        producer = self.producer()
        self.assertEqual(self.commit_offset(producer, 4, version=5), 0)
        self.assertEqual(self.transaction().metadata.partitions, {self.offsets_partition()})
        self.end(producer, version=TV2_END)
        self.assertEqual(self.offset(), (4, 0))

    def test_not_in_transaction(self) -> None:
        """Before version 5 the partition must be in the transaction; the error is the version's."""
        producer = self.producer()
        for version, error in ((3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)):
            self.assertEqual(self.commit_offset(producer, 4, version=version), error)
        self.assertEqual(self.offset(), (-1, 0))

    def test_fenced(self) -> None:
        """A fenced producer is told INVALID_PRODUCER_EPOCH, and commits nothing."""
        old = self.begin()
        self.producer()
        for version in (3, 5):
            self.assertEqual(self.commit_offset(old, 4, version=version), ErrorCode.INVALID_PRODUCER_EPOCH)
        self.assertEqual(self.offset(), (-1, 0))

    def test_unknown(self) -> None:
        """An unknown partition and an unknown producer are refused."""
        producer = self.begin()
        unknown = self.commit_offset(producer, 1, partition=8)
        self.assertEqual(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertEqual(self.commit_offset((99, 0), 1), ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        self.assertEqual(self.commit_offset(producer, 1, group=""), ErrorCode.INVALID_GROUP_ID)

    def test_generation(self) -> None:
        """A generation of a group that does not exist is ILLEGAL_GENERATION."""
        producer = self.begin()
        refused = self.commit_offset(producer, 1, generation_id=3, member_id="m")
        self.assertEqual(refused, ErrorCode.ILLEGAL_GENERATION)

    def test_member(self) -> None:
        """The group's own check counts; between two generations a commit is allowed, a stale epoch is not."""
        producer = self.begin()
        self.broker.groups.make("g")
        group = self.broker.groups.find("g")
        for found, told in (
            (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
            (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE),
            (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION),
        ):
            self.patch(type(group), "check_commit", lambda *args, found=found: found)
            self.assertEqual(self.commit_offset(producer, 1, generation_id=3, member_id="m"), told)
            without: dict[str, Any] = {}
            self.assertEqual(self.commit_offset(producer, 1, **without), 0)

    def test_restart(self) -> None:
        """A pending offset is pending again after a load, and the end of the transaction commits it."""
        producer = self.begin()
        self.commit_offset(producer, 6)
        self.reload()
        self.assertEqual(self.offset(), (-1, UNSTABLE))
        self.end(producer)
        self.reload()
        self.assertEqual(self.offset(), (6, 0))

    def test_all_topics(self) -> None:
        """A fetch of all offsets has the pending ones as unstable, too."""
        from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

        producer = self.begin()
        self.commit_offset(producer, 6)
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)], require_stable=True)
        (topic,) = self.ask(9, 8, request).groups[0].topics
        self.assertEqual([(one.partition_index, one.error_code) for one in topic.partitions], [(0, UNSTABLE)])

    def test_expiry(self) -> None:
        """A group whose offsets are pending does not expire, however long it has no members."""
        producer = self.begin()
        self.commit_offset(producer, 6)
        late_ms = self.now_ms + 10**12
        list(self.broker.expiry.expire_each(late_ms))
        self.assertEqual(self.offset(), (-1, UNSTABLE))
        self.end(producer)
        self.assertEqual(self.offset(), (6, 0))
        list(self.broker.expiry.expire_each(late_ms))
        self.assertEqual(self.offset(), (-1, 0))

    def test_deleted_group(self) -> None:
        """Deleting a group drops its pending offsets: the marker brings none back."""
        from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest

        producer = self.begin()
        self.commit_offset(producer, 6)
        self.assertEqual(self.ask(42, 2, DeleteGroupsRequest(["g"])).results[0].error_code, 0)
        self.end(producer)
        self.assertEqual(self.offset(), (-1, 0))
        self.reload()
        self.assertEqual(self.offset(), (-1, 0))
