"""Tests of kafkatx.client.producer.sender: batches to requests, replies to receipts, timers."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.hooks import EventHandler, ProducerCallbacks
from kafkatx.client.producer.receipts import LostRecords
from kafkatx.client.producer.sender import Sender
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import ConnectionFailed, ProduceFailed
from kafkatx.clientcore.producer.accumulator import AccumulatorLimits
from kafkatx.clientcore.producer.batch import ProducerBatch, ProducerIdAndEpoch
from kafkatx.clientcore.producer.config import SenderConfig
from kafkatx.clientcore.producer.values import RecordMetadata
from kafkatx.errors import ErrorCode
from kafkatx.wire.leaders import LeaderIdAndEpoch
from tests.client.producer.fake_cluster import LIMITS, FakeCluster, Sent, accumulator

NOW = attrs.evolve(LIMITS, linger_s=0.0)
CONFIG = SenderConfig()


class SenderTests(SynchronousTestCase):
    def make(
        self,
        limits: AccumulatorLimits = LIMITS,
        config: SenderConfig = CONFIG,
        **more: Any,
    ) -> None:
        """Make a sender of an idempotent producer."""
        self.cluster = FakeCluster()
        self.clock = self.cluster.reactor
        self.accumulator = accumulator(limits, ProducerIdAndEpoch(7, 0))
        self.accumulator.backoff = Backoff(first_ms=100, longest_ms=100)
        self.lost = LostRecords()
        cluster: Any = self.cluster
        self.sender = Sender(cluster, self.accumulator, config, self.lost, **more)
        self.settled = 0
        self.sender.settled = self.count_settled

    def setUp(self) -> None:
        """Make a sender whose batches linger for a second."""
        self.make()

    def count_settled(self) -> None:
        """Count the calls."""
        self.settled += 1

    def append(self, value: bytes = b"v", partition: int = 0) -> Deferred[RecordMetadata]:
        """Append a record; return its receipt."""
        receipt: Deferred[RecordMetadata] = Deferred()
        queue = self.accumulator.queue("t", partition)
        self.accumulator.append(queue, None, value, 5, (), receipt, self.clock.seconds())
        return receipt

    def send(self, *partitions: int) -> list[Deferred[RecordMetadata]]:
        """Append a record to each partition, and send them; return their receipts."""
        receipts = [self.append(b"%d" % partition, partition) for partition in partitions]
        self.sender.hurry += 1
        self.run_sender()
        self.sender.hurry -= 1
        return receipts

    def run_sender(self) -> None:
        """Run the sender, and again when the version of Produce is known."""
        self.sender.run_once()
        self.clock.advance(0)

    def last(self) -> Sent:
        """Return the last request."""
        return self.cluster.sent[-1]

    # -- which batches are sent

    def test_one_request_per_broker(self) -> None:
        """The batches of one broker share a request; another broker gets its own."""
        self.cluster.leaders[2] = 2
        self.send(0, 1, 2)
        sent = [(request.node_id, request.partitions, request.version) for request in self.cluster.sent]
        self.assertEqual(sent, [(1, [0, 1], 9), (2, [2], 9)])

    def test_linger(self) -> None:
        """A batch is sent when it has lingered, by a timer that runs from its first record."""
        self.append()
        self.sender.run_once()
        self.clock.advance(0.9)
        self.append(b"w")
        self.assertEqual(self.cluster.sent, [])
        self.clock.advance(0.1)
        self.clock.advance(0)
        self.assertEqual(self.last().values, [b"v", b"w"])

    def test_waiting_callers(self) -> None:
        """Batches do not linger while callers wait for memory, and do afterwards."""
        self.append()
        self.sender.set_waiting(True)
        self.clock.advance(0)
        self.clock.advance(0)
        self.assertEqual(len(self.cluster.sent), 1)
        self.sender.set_waiting(False)
        self.append(partition=1)
        self.sender.run_once()
        self.assertEqual(len(self.cluster.sent), 1)

    def test_wake(self) -> None:
        """Several wakes make one run in the next turn of the reactor."""
        self.make(NOW)
        self.append()
        self.sender.wake()
        self.append(partition=1)
        self.sender.wake()
        self.assertEqual(self.cluster.sent, [])
        self.clock.advance(0)
        self.clock.advance(0)
        self.assertEqual(self.last().partitions, [0, 1])

    def test_earlier_timer_stays(self) -> None:
        """wake_at keeps an earlier timer, and replaces a later one."""
        for at_s, expected in ((1010.0, 1010.0), (1020.0, 1010.0), (1005.0, 1005.0)):
            self.sender.wake_at(at_s)
            (call,) = self.clock.getDelayedCalls()
            self.assertEqual(call.getTime(), expected)

    def test_in_flight(self) -> None:
        """A broker has at most so many unanswered requests as the settings allow."""
        self.make(NOW, SenderConfig(in_flight=1))
        self.send(0)
        self.send(1)
        self.assertEqual(len(self.cluster.sent), 1)
        self.last().answer()
        self.clock.advance(0)
        self.assertEqual([request.partitions for request in self.cluster.sent], [[0], [1]])

    def test_request_size(self) -> None:
        """A batch that does not fit in a request goes into the next one; one too large goes alone."""
        self.make(NOW, SenderConfig(request_bytes=100))
        for partition in (0, 1, 2):
            self.append(b"x" * (200 if partition == 2 else 40), partition)
        self.run_sender()
        self.assertEqual([request.partitions for request in self.cluster.sent], [[0], [1], [2]])

    def test_former_leader(self) -> None:
        """While a former leader has a batch in flight, the new leader gets none of the partition."""
        self.make(NOW)
        self.send(0)
        self.last().answer()
        self.send(0)
        self.cluster.leaders[0] = 2
        self.append(b"later")
        self.run_sender()
        self.assertEqual([request.node_id for request in self.cluster.sent], [1, 1])
        self.last().answer(base_offset=11)
        self.clock.advance(0)
        self.clock.advance(0)
        self.assertEqual((self.last().node_id, self.last().values), (2, [b"later"]))

    # -- replies

    def test_delivered(self) -> None:
        """Receipts fire with the offsets, and the memory is free."""
        first, second = self.append(), self.append()
        self.send()
        self.last().answer()
        self.assertEqual(
            [self.successResultOf(receipt) for receipt in (first, second)],
            [RecordMetadata("t", 0, 10, 5), RecordMetadata("t", 0, 11, 5)],
        )
        self.assertEqual((self.accumulator.used_bytes, self.settled), (0, 1))

    def test_no_acks(self) -> None:
        """With acks=0 the record counts as delivered when it is sent, at an unknown offset."""
        self.make(NOW, SenderConfig(acks=0))
        (receipt,) = self.send(0)
        self.assertFalse(self.last().expect_reply)
        self.last().reply.callback(None)
        self.assertEqual(self.successResultOf(receipt).offset, -1)

    def test_retriable(self) -> None:
        """After a retriable error the batch is sent again after a pause, and metadata is refreshed."""
        (receipt,) = self.send(0)
        self.last().answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertEqual(self.cluster.stale_calls, 1)
        self.clock.advance(0.09)
        self.assertEqual(len(self.cluster.sent), 1)
        self.clock.advance(0.02)
        self.assertEqual(self.last().values, [b"0"])
        self.assertEqual(len(self.cluster.sent), 2)
        self.last().answer()
        self.successResultOf(receipt)

    def test_new_leader(self) -> None:
        """A batch goes to the leader that the reply names, at once and without new metadata (KIP-951)."""
        (receipt,) = self.send(0)
        self.last().answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=LeaderIdAndEpoch(2, 6))
        self.clock.advance(0)
        self.clock.advance(0)
        self.assertEqual([sent.node_id for sent in self.cluster.sent], [1, 2])
        self.assertEqual(self.cluster.stale_calls, 0)
        self.last().answer()
        self.successResultOf(receipt)

    def test_two_refused(self) -> None:
        """Several batches in flight that the former leader refuses go to the new one, in order."""
        self.make(NOW)
        self.send(0)
        self.last().answer()
        for value in (b"a", b"b"):
            self.append(value)
            self.run_sender()
        first, second = self.cluster.sent[-2:]
        first.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=LeaderIdAndEpoch(2, 6))
        self.clock.advance(0)
        self.assertEqual(len(self.cluster.sent), 3)
        second.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.clock.advance(0)
        self.clock.advance(0)
        self.last().answer()
        self.clock.advance(0)
        self.assertEqual([sent.node_id for sent in self.cluster.sent], [1, 1, 1, 2, 2])
        again = [sent.values for sent in self.cluster.sent[3:]]
        self.assertEqual(again, [first.values, second.values])
        self.assertEqual(self.cluster.stale_calls, 0)

    def test_refused_by_the_leader(self) -> None:
        """A broker that refuses, and names itself or no other, is asked again after a pause."""
        self.send(0)
        for attempt in range(2, 5):
            self.last().answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=LeaderIdAndEpoch(1, 6))
            self.clock.advance(0.09)
            self.assertEqual(len(self.cluster.sent), attempt - 1)
            self.clock.advance(0.02)
            self.assertEqual(len(self.cluster.sent), attempt)

    def test_refused(self) -> None:
        """After a final error the receipt fails, and the memory is free."""
        (receipt,) = self.send(0)
        self.last().answer(ErrorCode.INVALID_RECORD)
        error = self.failureResultOf(receipt, ProduceFailed).value
        self.assertIs(error.code, ErrorCode.INVALID_RECORD)
        self.assertEqual((self.accumulator.used_bytes, self.settled), (0, 1))

    def test_lost_connection(self) -> None:
        """After a lost connection the version is looked up again, for the broker may be another by then."""
        self.send(0)
        self.assertEqual(len(self.cluster.versions), 1)
        self.last().reply.errback(ConnectionFailed("lost"))
        self.clock.advance(0.2)
        self.clock.advance(0)
        self.assertEqual((len(self.cluster.sent), len(self.cluster.versions)), (2, 2))

    def test_throttled(self) -> None:
        """A broker that throttles gets nothing before the throttle time is over."""
        self.send(0)
        self.last().answer(throttle_time_ms=500)
        self.send(1)
        self.clock.advance(0.4)
        self.assertEqual(len(self.cluster.sent), 1)
        self.clock.advance(0.7)
        self.assertEqual(len(self.cluster.sent), 2)

    def test_unreadable_reply(self) -> None:
        """An unreadable reply fails the batch, and is logged."""
        (receipt,) = self.send(0)
        self.last().reply.callback("nonsense")
        self.failureResultOf(receipt, ProduceFailed)
        self.assertEqual(len(self.flushLoggedErrors(AttributeError)), 1)

    def test_expired(self) -> None:
        """After delivery.timeout.ms the receipt fails; a reply after that changes nothing."""
        (receipt,) = self.send(0)
        self.clock.advance(30)
        error = self.failureResultOf(receipt, ProduceFailed).value
        self.assertIn("not delivered within 30 s (delivery.timeout.ms)", str(error))
        self.last().answer()
        self.assertEqual(self.accumulator.used_bytes, 0)

    # -- leaders and versions

    def test_no_leader(self) -> None:
        """Without a leader metadata is refreshed, once at a time, until there is one."""
        self.cluster.leaders.update({0: -1, 1: -1})
        self.send(0, 1)
        self.send(0)
        self.assertEqual(len(self.cluster.refreshes), 1)
        self.cluster.leaders[0] = 3
        self.clock.advance(2)
        self.cluster.refreshes[0].callback(None)
        self.clock.advance(0)
        self.assertEqual((self.last().node_id, self.last().partitions), (3, [0]))
        self.assertEqual(len(self.cluster.refreshes), 2)

    def test_closed_cluster(self) -> None:
        """A refresh that fails is not repeated at once."""
        self.cluster.leaders[0] = -1
        self.send(0)
        self.cluster.refreshes[0].errback(ConnectionFailed("closed"))
        self.assertEqual(len(self.cluster.refreshes), 1)
        self.clock.advance(2)
        self.assertEqual(len(self.cluster.refreshes), 2)

    def test_version(self) -> None:
        """Nothing is sent before the version is known, which is asked for once."""
        self.make_waiting()
        self.cluster.versions[0].callback(3)
        self.clock.advance(0)
        self.assertEqual(self.last().version, 3)

    def test_version_fails(self) -> None:
        """A broker that does not answer for its version is asked again after a pause."""
        self.make_waiting()
        self.cluster.versions[0].errback(ConnectionFailed("down"))
        self.assertEqual((len(self.cluster.versions), self.cluster.stale_calls), (1, 1))
        self.clock.advance(0.2)
        self.assertEqual(len(self.cluster.versions), 2)

    def make_waiting(self) -> None:
        """Make a sender to a broker of unknown version run twice."""
        self.make(NOW)
        self.cluster.known_version = None
        self.send(0)
        self.send(1)
        self.assertEqual((len(self.cluster.versions), self.cluster.sent), (1, []))

    # -- hooks

    def test_callbacks(self) -> None:
        """after_dequeue is called at the first attempt, before_sending at each; their errors are logged."""
        heard: list[Any] = []

        class Callbacks(ProducerCallbacks):
            def after_dequeue(self, batch: ProducerBatch) -> None:
                heard.append("dequeued")
                raise ValueError("mine")

            def before_sending(self, node_id: int, batches: Any) -> None:
                heard.append((node_id, len(batches)))

        self.make(NOW, callbacks=Callbacks())
        (receipt,) = self.send(0)
        self.last().answer(ErrorCode.NOT_ENOUGH_REPLICAS)
        self.clock.advance(0.2)
        self.last().answer()
        self.successResultOf(receipt)
        self.assertEqual(heard, ["dequeued", (1, 1), (1, 1)])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_handler(self) -> None:
        """An event handler comes before the broker: None counts as delivered without a request."""

        class Handler(EventHandler):
            def handle(self, node_id: int, batches: Any, send: Any) -> Deferred[Any]:
                return succeed(None)

        self.make(NOW, handler=Handler())
        (receipt,) = self.send(0)
        self.assertEqual((self.successResultOf(receipt).offset, self.cluster.sent), (-1, []))

    # -- the end, and bugs

    def test_stop(self) -> None:
        """stop() cancels timers and requests, and nothing is sent after it."""
        (receipt,) = self.send(0)
        self.append(partition=1)
        self.sender.run_once()
        self.sender.stop()
        self.assertTrue(self.last().cancelled)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.sender.wake()
        self.sender.wake_at(0)
        self.sender.run_once()
        self.assertEqual((len(self.cluster.sent), self.clock.getDelayedCalls()), (1, []))
        self.assertNoResult(receipt)

    def test_bug(self) -> None:
        """An error in a run is logged, and it runs again soon."""
        self.make(NOW)
        ready = self.accumulator.ready

        def failing(*args: Any) -> Any:
            self.patch(self.accumulator, "ready", ready)
            raise RuntimeError("a bug")

        self.patch(self.accumulator, "ready", failing)
        self.send(0)
        self.assertEqual((self.cluster.sent, len(self.flushLoggedErrors(RuntimeError))), ([], 1))
        self.clock.advance(0.1)
        self.clock.advance(0)
        self.assertEqual(len(self.cluster.sent), 1)

    def test_batch_that_cannot_be_encoded(self) -> None:
        """A batch that cannot be encoded fails alone."""
        self.make(NOW)
        bad, good = self.append(partition=0), self.append(partition=1)
        batch = self.accumulator.queue("t", 0).open
        assert batch is not None
        headers: Any = {0: [("h", "not bytes")]}
        batch.rows.headers = headers
        self.run_sender()
        self.failureResultOf(bad, ProduceFailed)
        self.assertEqual(len(self.flushLoggedErrors()), 1)
        self.last().answer()
        self.successResultOf(good)
