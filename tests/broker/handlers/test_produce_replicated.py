"""Produce requests for partitions with several replicas: acks=all waits until records are committed."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.net.requests import Staged
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.handlers.test_produce import batch
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import produce_request

NONE, TIMED_OUT = ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT
TOO_FEW, TOO_FEW_NOW = ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
GAP = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
NOT_LEADER, STORAGE = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR

TIMEOUT_S = 1.0
"""timeout_ms of the requests of :func:`produce_request`."""


class ProduceCase(ReplicatedTestCase):
    def setUp(self) -> None:
        """Make a topic with three replicas, two of which must be in sync."""
        super().setUp()
        (self.partition,) = self.make_replicated(configs={"min.insync.replicas": "2"})

    def send(self, *values: bytes, sequence: int = -1) -> Deferred[Any]:
        """Begin to produce with acks=all; return what fires with (error, base offset)."""
        done = self.begin(0, 9, produce_request(batch(*values, sequence=sequence)))
        return done.addCallback(self.outcome)

    def outcome(self, response: Any) -> tuple[int, int]:
        """Return error and base offset of the first partition."""
        result = response.responses[0].partition_responses[0]
        return result.error_code, result.base_offset


class OneTests(ProduceCase):
    """Requests for one partition."""

    def test_committed(self) -> None:
        """The reply comes when the last in-sync replica has the records, and not before."""
        first, second = self.send(b"a", b"b"), self.send(b"c")
        self.replicate(self.partition, 3, 2)
        self.replicate(self.partition, 1, 3)
        self.assertNoResult(first)
        self.replicate(self.partition, 2, 3)
        self.assertEqual(self.successResultOf(first), (NONE, 0))
        self.assertNoResult(second)
        self.replicate(self.partition, 3, 3)
        self.assertEqual(self.successResultOf(second), (NONE, 2))

    def test_same_reply(self) -> None:
        """The reply of a committed request is that of one that need not wait."""
        waiting = self.answer(0, 9, produce_request(batch(b"v")))
        self.replicate(self.partition, 1)
        at_once = self.answer(0, 9, produce_request(batch(b"v"), acks=1))
        reply = self.response(0, 9, self.successResultOf(waiting))
        other = self.response(0, 9, at_once)
        self.assertEqual(other.responses[0].partition_responses[0].base_offset, 1)
        other.responses[0].partition_responses[0].base_offset = 0
        self.assertEqual(reply, other)

    def test_other_acks(self) -> None:
        """acks=0 and acks=1 wait for no replica, and are taken with too few of them."""
        self.metadata.replicate("t", isr=[1])
        self.assertEqual(self.produce(batch(b"v"), acks=1).error_code, 0)
        self.assertIsNone(self.answer(0, 9, produce_request(batch(b"v"), acks=0)))
        self.assertEqual(self.stored(), [b"v", b"v"])

    def test_alone(self) -> None:
        """The only in-sync replica commits what it writes, if that is enough."""
        self.make_replicated("u")
        self.metadata.replicate("u", isr=[1])
        self.assertEqual(self.produce(batch(b"v"), topic="u").error_code, 0)

    def test_too_few(self) -> None:
        """Nothing is written while too few replicas are in sync."""
        self.metadata.replicate("t", isr=[1])
        result = self.produce(batch(b"v"))
        self.assertEqual(result.error_code, TOO_FEW)
        self.assertEqual(result.error_message, "1 of 3 replicas are in sync, min.insync.replicas is 2")
        self.assertEqual(self.stored(), [])

    def test_too_few_now(self) -> None:
        """A producer is told when too few replicas are left after the records were written."""
        waiting = self.send(b"v")
        self.metadata.replicate("t", isr=[1, 2])
        self.assertNoResult(waiting)
        self.metadata.replicate("t", isr=[1], eligible=[2])
        self.assertEqual(self.successResultOf(waiting), (TOO_FEW_NOW, 0))
        self.assertEqual(self.stored(), [b"v"])

    def test_replica_leaves(self) -> None:
        """The reply comes when the replica that lacks the records is in sync no more."""
        waiting = self.send(b"v")
        self.replicate(self.partition, 1, 2)
        self.assertNoResult(waiting)
        self.metadata.replicate("t", isr=[1, 2])
        self.assertEqual(self.successResultOf(waiting), (NONE, 0))

    def test_timeout(self) -> None:
        """The wait ends after timeout_ms; the records stay, and later requests are not affected."""
        waiting = self.send(b"v")
        self.clock.advance(TIMEOUT_S - 0.01)
        self.assertNoResult(waiting)
        self.clock.advance(0.01)
        self.assertEqual(self.successResultOf(waiting), (TIMED_OUT, 0))
        later = self.send(b"w")
        self.replicate(self.partition, 2)
        self.assertEqual(self.successResultOf(later), (NONE, 1))

    def test_leader_changes(self) -> None:
        """A producer is told when this broker leads no more; records with its offsets may be others."""
        waiting = self.send(b"v")
        self.metadata.replicate("t", leader=2)
        self.assertEqual(self.successResultOf(waiting), (NOT_LEADER, 0))

    def test_leads_again(self) -> None:
        """A producer of an older leader epoch is told so, also if this broker leads in the next one."""
        waiting = self.send(b"v")
        self.metadata.replicate("t", leader_epoch=self.partition.leader_epoch + 1)
        self.assertEqual(self.successResultOf(waiting), (NOT_LEADER, 0))
        later = self.send(b"w")
        self.replicate(self.partition, 2)
        self.assertEqual(self.successResultOf(later), (NONE, 1))

    def test_leader_changes_in_the_round(self) -> None:
        """Records that were staged in another epoch are not acknowledged when their round ends."""
        answer = self.dispatch.answer(self.frame(0, 9, produce_request(batch(b"v"))), self.peer)
        assert isinstance(answer, Staged)
        self.metadata.replicate("t", isr=[1, 2], leader_epoch=self.partition.leader_epoch + 1)
        self.replicate(self.partition, 1)
        finished = answer.finish(self.broker.write_staged())
        assert isinstance(finished, list)
        self.assertEqual(self.outcome(self.response(0, 9, finished)), (NOT_LEADER, 0))

    def test_lease_ends(self) -> None:
        """The high watermark stands while the lease has ended: the producer's time runs out."""
        waiting = self.send(b"v")
        self.metadata.remaining_s = 0
        self.replicate(self.partition, 1)
        self.assertNoResult(waiting)
        self.clock.advance(TIMEOUT_S)
        self.assertEqual(self.successResultOf(waiting), (TIMED_OUT, 0))

    def test_error_without_a_lease(self) -> None:
        """Without a lease no sequence is said to be wrong: the new leader may have other records."""
        self.send(b"a", sequence=0)
        for remaining_s, code in ((9.0, GAP), (0.0, NOT_LEADER)):
            self.metadata.remaining_s = remaining_s
            for acks in (1, -1):
                answer = self.answer(0, 9, produce_request(batch(b"b", sequence=7), acks=acks))
                self.assertEqual(self.outcome(self.response(0, 9, answer)), (code, -1))

    def test_offline(self) -> None:
        """A producer is told when the log dir of its partition fails."""
        waiting = self.send(b"v")
        self.partition.go_offline()
        self.partition.wake_written()
        self.assertEqual(self.successResultOf(waiting), (STORAGE, 0))

    def test_topic_deleted(self) -> None:
        """A producer is told when its topic is deleted."""
        waiting = self.send(b"v")
        self.metadata.remove("t")
        self.assertEqual(self.successResultOf(waiting), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0))

    def test_disconnect(self) -> None:
        """A client that disconnects takes no other one's wait with it."""
        first, second, third = (self.send(value) for value in (b"a", b"b", b"c"))
        second.cancel()
        self.failureResultOf(second)
        self.replicate(self.partition, 3)
        self.assertEqual(self.successResultOf(first), (NONE, 0))
        self.assertEqual(self.successResultOf(third), (NONE, 2))
        self.assertFalse(self.partition.commit_waiters)

    def test_together(self) -> None:
        """The first of the replies that one step commits is the last to be there: they leave together."""
        order: list[int] = []
        for value in (b"a", b"b", b"c"):
            self.send(value).addCallback(lambda outcome: order.append(outcome[1]))
        self.replicate(self.partition, 3)
        self.assertEqual(order, [2, 1, 0])

    def test_duplicate(self) -> None:
        """A repeated batch waits for the records that it repeats, and for no others."""
        first, other = self.send(b"a", sequence=0), self.send(b"b")
        again = self.send(b"a", sequence=0)
        self.replicate(self.partition, 1)
        self.assertEqual([self.successResultOf(one) for one in (first, again)], [(NONE, 0)] * 2)
        self.assertNoResult(other)
        self.assertEqual(self.stored(), [b"a", b"b"])

    def test_flush_messages(self) -> None:
        """The leader's own flush is waited for as well."""
        flushing: Deferred[int] = Deferred()
        self.patch(self.partition.log, "flush", lambda: flushing)
        self.patch(type(self.partition.log), "flushed_offset", 0)
        self.partition.flush_messages = 1
        waiting = self.send(b"v")
        self.replicate(self.partition, 1)
        self.assertNoResult(waiting)
        flushing.callback(1)
        self.assertEqual(self.successResultOf(waiting), (NONE, 0))

    def test_flush_before_replicas(self) -> None:
        """A flush that ends before the replicas have the records is not enough."""
        flushing: Deferred[int] = Deferred()
        self.patch(self.partition.log, "flush", lambda: flushing)
        self.patch(type(self.partition.log), "flushed_offset", 0)
        self.partition.flush_messages = 1
        waiting = self.send(b"v")
        flushing.callback(1)
        self.assertNoResult(waiting)
        self.replicate(self.partition, 1)
        self.assertEqual(self.successResultOf(waiting), (NONE, 0))

    def test_exposes_flushed(self) -> None:
        """Records are committed when the leader has flushed them, if only flushed ones are exposed."""
        (partition,) = self.make_replicated("f", configs={"kafkatx.expose": "flushed"})
        self.patch(type(partition.log), "flushed_offset", 0)
        waiting = self.begin(0, 9, produce_request(batch(b"v"), topic="f"))
        self.replicate(partition, 1)
        self.assertNoResult(waiting)
        self.patch(type(partition.log), "flushed_offset", 1)
        assert partition.log.on_flushed is not None
        partition.log.on_flushed()
        self.assertEqual(self.outcome(self.successResultOf(waiting)), (NONE, 0))

    def test_validated_in_a_worker(self) -> None:
        """Records that a worker validates are committed like others."""
        (partition,) = self.make_replicated("c", configs={"compression.type": "gzip"})
        waiting = self.begin(0, 9, produce_request(batch(b"v"), topic="c"))
        self.assertEqual(partition.log.log_end_offset, 1)
        self.assertNoResult(waiting)
        self.replicate(partition, 1)
        self.assertEqual(self.outcome(self.successResultOf(waiting)), (NONE, 0))

    def test_throttled(self) -> None:
        """The reply that comes later has the throttle time."""
        answer = self.dispatch.answer(self.frame(0, 9, produce_request(batch(b"v"))), self.peer)
        assert isinstance(answer, Staged)
        answer.throttle(7)  # type: ignore[attr-defined]
        waiting = answer.finish(self.broker.write_staged())
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        self.replicate(self.partition, 1)
        response = self.response(0, 9, self.successResultOf(waiting))
        self.assertEqual((response.throttle_time_ms, *self.outcome(response)), (7, NONE, 0))

    def test_one_timer(self) -> None:
        """Many requests wait with one timer."""
        before = len(self.clock.getDelayedCalls())
        waiting = [self.send(b"v") for _ in range(50)]
        self.assertEqual(len(self.clock.getDelayedCalls()), before + 1)
        self.replicate(self.partition, 50)
        self.assertEqual([self.successResultOf(one) for one in waiting], [(NONE, n) for n in range(50)])


class ManyTests(ReplicatedTestCase):
    """Requests for several partitions."""

    def setUp(self) -> None:
        """Make three partitions with three replicas, and one with one."""
        super().setUp()
        self.parts = self.make_replicated(assignment=[[1, 2, 3]] * 3)
        self.make_replicated("single", [[1]])

    def send(self, acks: int = -1, timeout_ms: int = 1000) -> Any:
        """Produce to all partitions; return the answer."""
        data = [PartitionProduceData(number, batch(b"v")) for number in range(3)]
        single = TopicProduceData("single", [PartitionProduceData(0, batch(b"v"))])
        return self.answer(
            0, 9, ProduceRequest(None, acks, timeout_ms, [TopicProduceData("t", data), single])
        )

    def results(self, reply: Any) -> list[tuple[int, int]]:
        """Return errors and base offsets of a reply: those of topic t, then of the other."""
        response = self.response(0, 9, reply)
        return [
            (part.error_code, part.base_offset)
            for topic in response.responses
            for part in topic.partition_responses
        ]

    def test_committed(self) -> None:
        """The reply comes when all partitions are committed."""
        waiting = self.send()
        for part in self.parts[::-1]:
            self.assertNoResult(waiting)
            self.replicate(part, 1)
        self.assertEqual(self.results(self.successResultOf(waiting)), [(NONE, 0)] * 4)

    def test_errors(self) -> None:
        """Each partition has its own outcome; the time of all ends together."""
        self.metadata.replicate("t", 1, isr=[1])
        self.parts[1].use_min_insync(2)
        waiting = self.send()
        self.metadata.replicate("t", 2, leader=2)
        self.assertNoResult(waiting)
        self.clock.advance(1)
        found = self.results(self.successResultOf(waiting))
        self.assertEqual(found, [(TIMED_OUT, 0), (TOO_FEW, -1), (NOT_LEADER, 0), (NONE, 0)])

    def test_without_time(self) -> None:
        """A timeout of 0 ends the wait at once."""
        waiting = self.send(timeout_ms=0)
        self.clock.advance(0)
        self.assertEqual(self.results(self.successResultOf(waiting))[0], (TIMED_OUT, 0))

    def test_leader_only(self) -> None:
        """acks=1 waits for no replica."""
        self.assertEqual(self.results(self.successResultOf(self.send(1))), [(NONE, 0)] * 4)

    def test_failed_write(self) -> None:
        """A partition whose write failed is not waited for."""

        def write() -> None:
            raise OSError(28, "no space left")

        self.patch(self.parts[0].log, "write", write)
        waiting = self.send()
        for part in self.parts[1:]:
            self.replicate(part, 1)
        self.assertEqual(self.results(self.successResultOf(waiting))[:2], [(STORAGE, -1), (NONE, 0)])

    def test_disconnect(self) -> None:
        """The waits of a client that has disconnected end without a reply."""
        waiting, other = self.send(), self.send()
        waiting.cancel()
        self.failureResultOf(waiting)
        for part in self.parts:
            self.replicate(part, 2)
        self.assertEqual(self.results(self.successResultOf(other)), [(NONE, 1)] * 4)

    def test_epoch_of_the_append(self) -> None:
        """Records that were staged in another epoch are not acknowledged when their round ends."""
        data = [PartitionProduceData(number, batch(b"v")) for number in range(3)]
        request = ProduceRequest(None, -1, 1000, [TopicProduceData("t", data)])
        answer = self.dispatch.answer(self.frame(0, 9, request), self.peer)
        assert isinstance(answer, Staged)
        self.metadata.replicate("t", 0, leader_epoch=self.parts[0].leader_epoch + 1)
        waiting = answer.finish(self.broker.write_staged())
        for one in self.parts:
            self.replicate(one, 1)
        assert isinstance(waiting, Deferred)
        found = self.results(self.successResultOf(waiting))
        self.assertEqual(found, [(NOT_LEADER, 0), (NONE, 0), (NONE, 0)])
