"""DeleteRecords of a partition with several replicas: the reply waits for all live ones."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS, produce_request

NONE, TIMED_OUT = ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
END = 4


class DeleteRecordsTests(ReplicatedTestCase):
    def setUp(self) -> None:
        """Make a topic with four records in partition 0, which all replicas have, and none in partition 1."""
        super().setUp()
        self.partition, self.other = self.make_replicated(assignment=[[1, 2, 3]] * 2)
        for _ in range(END):
            self.assertEqual(self.produce(build_values([b"v"], NOW_MS), acks=1).error_code, 0)
        self.replicate(self.partition, END)
        self.replicate(self.other, 0)

    def delete(self, offset: int, *more: int, timeout_ms: int = 1000) -> Deferred[list[tuple[int, int]]]:
        """Begin to delete records of partition 0, 1, ...; return what fires with (error, start) of each."""
        asked = [DeleteRecordsPartition(number, one) for number, one in enumerate((offset, *more))]
        request = DeleteRecordsRequest([DeleteRecordsTopic("t", asked)], timeout_ms)
        return self.begin(21, 2, request).addCallback(self.results)

    def results(self, response: Any) -> list[tuple[int, int]]:
        """Return error and low watermark of each partition."""
        return [(part.error_code, part.low_watermark) for part in response.topics[0].partitions]

    def move(self, follower: int, log_start_offset: int) -> None:
        """Note a fetch of a follower whose log starts at an offset."""
        epoch = self.metadata.state.brokers[follower].epoch
        self.partition.fetched_by(follower, epoch, END, log_start_offset, self.clock.seconds())

    def test_all(self) -> None:
        """The reply comes when the last live replica has deleted the records."""
        waiting = self.delete(3)
        self.assertEqual(self.partition.log.log_start_offset, 3)
        self.move(2, 3)
        self.move(3, 2)
        self.assertNoResult(waiting)
        self.move(3, 3)
        self.assertEqual(self.successResultOf(waiting), [(NONE, 3)])
        self.assertFalse(self.partition.delayed_deletes)

    def test_high_watermark(self) -> None:
        """Records that are not committed cannot be deleted."""
        self.produce(build_values([b"w"], NOW_MS), acks=1)
        refused = self.delete(END + 1)
        self.assertEqual(self.successResultOf(refused), [(ErrorCode.OFFSET_OUT_OF_RANGE, -1)])
        self.metadata.remaining_s = 0.0
        self.assertEqual(self.successResultOf(self.delete(END + 1)), [(NOT_LEADER, -1)])
        self.metadata.remaining_s = 9.0
        waiting = self.delete(-1)
        for follower in (2, 3):
            self.move(follower, END)
        self.assertEqual(self.successResultOf(waiting), [(NONE, END)])

    def test_timeout(self) -> None:
        """The wait ends after timeout_ms; the reply has the start of the replica that lags behind."""
        waiting = self.delete(3)
        self.move(2, 3)
        self.move(3, 1)
        self.clock.advance(0.99)
        self.assertNoResult(waiting)
        self.clock.advance(0.01)
        self.assertEqual(self.successResultOf(waiting), [(TIMED_OUT, 1)])
        self.assertFalse(self.partition.delayed_deletes)

    def test_two_partitions(self) -> None:
        """The time of all partitions ends together."""
        waiting = self.delete(3, 0)
        self.clock.advance(1)
        (first, second) = self.successResultOf(waiting)
        self.assertEqual((first[0], second), (TIMED_OUT, (NONE, 0)))

    def test_away(self) -> None:
        """Replicas that are not live, or in log dirs that failed, are waited for only if they may lead."""
        waiting = self.delete(3)
        self.move(2, 3)
        self.metadata.leave(3)
        self.assertNoResult(waiting)
        self.metadata.replicate("t", isr=[1, 2])
        self.assertEqual(self.successResultOf(waiting), [(NONE, 3)])
        waiting = self.delete(4)
        self.metadata.fail_replicas(2, TopicPartition("t", 0))
        self.metadata.replicate("t", isr=[1], eligible=[2])
        self.assertNoResult(waiting)
        self.metadata.replicate("t", isr=[1])
        self.assertEqual(self.successResultOf(waiting), [(NONE, 4)])

    def test_leader_changes(self) -> None:
        """The client is told when another broker leads: that one may still have the records."""
        waiting = self.delete(3)
        self.metadata.replicate("t", leader=2)
        self.assertEqual(self.successResultOf(waiting), [(NOT_LEADER, -1)])
        self.assertFalse(self.partition.delayed_deletes)

    def test_leads_again(self) -> None:
        """The same if this broker leads in another epoch."""
        waiting = self.delete(3)
        self.metadata.replicate("t", leader_epoch=self.partition.leader_epoch + 1)
        self.assertEqual(self.successResultOf(waiting), [(NOT_LEADER, -1)])

    def test_topic_deleted(self) -> None:
        """The client is told when the topic is deleted."""
        waiting = self.delete(3)
        self.metadata.remove("t")
        self.assertEqual(self.successResultOf(waiting), [(NOT_LEADER, -1)])

    def test_disconnect(self) -> None:
        """A client that has gone leaves nothing behind."""
        waiting = self.delete(3)
        waiting.cancel()
        self.failureResultOf(waiting)
        self.assertFalse(self.partition.delayed_deletes)

    def test_one_replica(self) -> None:
        """The only replica answers at once."""
        self.make_replicated("u", [[1]])
        self.answer(0, 9, produce_request(build_values([b"v"], NOW_MS), topic="u"))
        asked = [DeleteRecordsTopic("u", [DeleteRecordsPartition(0, 1)])]
        response = self.ask(21, 2, DeleteRecordsRequest(asked, 0))
        self.assertEqual(self.results(response), [(NONE, 1)])
