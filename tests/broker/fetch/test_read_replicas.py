"""Reads from followers, as a broker serves them that is number 1 of three, in ``rack 1``."""

from __future__ import annotations

from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS, values


class ReadsCase(ReplicatedTestCase):
    def fetch(
        self, offset: int, rack: str = "", version: int = 12, epoch: int = -1, max_wait_ms: int = 0
    ) -> Any:
        """Fetch partition 0 of ``t``: a result, or a Deferred of it."""
        asked = [FetchPartition(0, epoch, offset, partition_max_bytes=1000)]
        request = FetchRequest(
            max_wait_ms=max_wait_ms, min_bytes=1, topics=[FetchTopic("t", partitions=asked)], rack_id=rack
        )
        answer = self.answer(1, version, request)
        if isinstance(answer, Deferred) and not answer.called:
            return answer.addCallback(lambda reply: self.only(self.response(1, version, reply)))
        reply = self.successResultOf(answer) if isinstance(answer, Deferred) else answer
        return self.only(self.response(1, version, reply))

    def only(self, response: Any) -> PartitionData:
        """Return the result of the only partition."""
        (result,) = response.responses[0].partitions
        found: PartitionData = result
        return found

    def append(self, partition: Partition, text: bytes) -> None:
        """Append a record to the log, as a leader does."""
        partition.log.append(build_values([text], NOW_MS), partition.leader_epoch, NOW_MS, True)
        partition.log.write()


class LeaderTests(ReadsCase):
    settings: ClassVar[dict[str, str]] = {
        "broker.id": "1",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    }

    def setUp(self) -> None:
        """Broker 1 leads a partition; broker 2 has both records, 3 has one."""
        super().setUp()
        (self.partition,) = self.make_replicated()
        self.append(self.partition, b"a")
        self.append(self.partition, b"b")
        self.replicate(self.partition, 2, 2)
        self.replicate(self.partition, 1, 3)

    def test_preferred(self) -> None:
        """A consumer in the rack of an in-sync replica that has the offset is sent there, at once."""
        result = self.fetch(0, "rack 2", max_wait_ms=1000)
        self.assertEqual((result.preferred_read_replica, len(result.records or ())), (2, 0))
        self.assertEqual(self.fetch(1, "rack 3").preferred_read_replica, 3)

    def test_leader_serves(self) -> None:
        """Others are served here: in the leader's rack, in no rack, or ahead of their rack's replica."""
        for offset, rack in ((0, "rack 1"), (0, ""), (0, "rack 9"), (2, "rack 3")):
            self.assertEqual(self.fetch(offset, rack).preferred_read_replica, -1, (offset, rack))
        self.assertEqual(values(self.fetch(0, "rack 1").records), [b"a"])

    def test_not_in_sync(self) -> None:
        """A replica that is not in sync, or not live, is not named."""
        self.metadata.leave(2)
        self.assertEqual(self.fetch(0, "rack 2").preferred_read_replica, -1)

    def test_old_client(self) -> None:
        """A client before version 11 is served by the leader."""
        self.assertEqual(self.fetch(0, version=10).preferred_read_replica, -1)


class WithoutSelectorTests(ReadsCase):
    def test_leader_serves(self) -> None:
        """By default the leader serves every rack."""
        (partition,) = self.make_replicated()
        self.append(partition, b"a")
        self.replicate(partition, 1)
        result = self.fetch(0, "rack 2")
        self.assertEqual((result.preferred_read_replica, values(result.records)), (-1, [b"a"]))


class FollowerTests(ReadsCase):
    def setUp(self) -> None:
        """Broker 1 follows 2; it has two records, of which one is committed."""
        super().setUp()
        (self.partition,) = self.make_replicated(assignment=((2, 1, 3),))
        self.append(self.partition, b"a")
        self.append(self.partition, b"b")
        self.partition.followed(1, 0)

    def test_committed(self) -> None:
        """A consumer reads up to the follower's own high watermark; one of an old version reads nothing."""
        self.assertEqual(values(self.fetch(0).records), [b"a"])
        self.assertEqual(self.fetch(0, version=10).error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def test_waits(self) -> None:
        """Above the high watermark it waits until that has moved."""
        waiting = self.fetch(1, max_wait_ms=1000)
        self.assertNoResult(waiting)
        self.partition.followed(2, 0)
        self.assertEqual(values(self.successResultOf(waiting).records), [b"b"])

    def test_ahead(self) -> None:
        """An offset that the follower does not have yet is not available; the consumer asks again."""
        waiting = self.fetch(5, max_wait_ms=1000)
        self.assertNoResult(waiting)
        self.clock.advance(1)
        self.assertEqual(self.successResultOf(waiting).error_code, ErrorCode.OFFSET_NOT_AVAILABLE)

    def test_below(self) -> None:
        """An offset below the start of the log is out of range."""
        self.partition.followed(2, 1)
        self.assertEqual(self.fetch(0).error_code, ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_epochs(self) -> None:
        """Leader epochs are compared as the leader does."""
        epoch = self.partition.leader_epoch
        for told, code in (
            (epoch, 0),
            (epoch - 1 if epoch else -1, ErrorCode.FENCED_LEADER_EPOCH if epoch else 0),
            (epoch + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ):
            self.assertEqual(self.fetch(0, epoch=told).error_code, code, told)

    def test_no_leader(self) -> None:
        """Without a leader the replica serves nothing."""
        self.metadata.lead("t", 0, -1)
        self.assertEqual(self.fetch(0).error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class LeaseTests(ReadsCase):
    def test_out_of_range(self) -> None:
        """Without a lease an offset is not said to be out of range: the new leader may have it."""
        (partition,) = self.make_replicated()
        self.append(partition, b"a")
        self.assertEqual(self.fetch(9).error_code, ErrorCode.OFFSET_OUT_OF_RANGE)
        self.metadata.remaining_s = 0.0
        self.assertEqual(self.fetch(9).error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER)
