"""Produce requests whose records are validated by a worker."""

from __future__ import annotations

from functools import partial
from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import SERVED
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.net.requests import Staged
from kafkatx.records.builder import assemble, build_values
from kafkatx.records.compression import Codec
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.running import NOW_MS, BrokerTestCase, Held, produce_request

COUNT = 2000
LARGE = build_values([b"%d" % n for n in range(COUNT)], NOW_MS, Codec.GZIP)
GARBAGE = assemble(b"garbage" * 5000, 1, Codec.LZ4, NOW_MS, NOW_MS)


class JudgingTests(BrokerTestCase):
    def setUp(self) -> None:
        """Start a broker whose workers work when the test says so."""
        super().setUp()
        self.workers = Held()
        self.broker = self.make_broker(self.workers)
        self.dispatch = Dispatch(self.broker, SERVED)
        self.workers.holding = False
        self.make_topic("t", 3)
        self.workers.holding = True

    def begin(self, request: ProduceRequest) -> Deferred[Any]:
        """Begin a produce request, which has to wait."""
        answer = self.dispatch.answer(self.frame(0, 9, request), self.peer)
        assert isinstance(answer, Staged)
        self.assertTrue(answer.alone)
        waiting = answer.finish(self.broker.write_staged())
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        return waiting

    def results(self, waiting: Deferred[Any]) -> list[tuple[int, int]]:
        """Return error code and base offset of each partition."""
        response = self.response(0, 9, self.successResultOf(waiting))
        return [
            (part.error_code, part.base_offset)
            for topic in response.responses
            for part in topic.partition_responses
        ]

    def test_written_when_judged(self) -> None:
        """Records are written and acknowledged only after the worker has validated them."""
        waiting = self.begin(produce_request(LARGE))
        self.assertEqual(self.stored(), [])
        self.workers.work()
        self.assertEqual(self.results(waiting), [(0, 0)])
        self.assertEqual(len(self.stored()), COUNT)
        self.assertEqual(self.broker.validator.waiting_bytes, 0)

    def test_refused_when_judged(self) -> None:
        """Invalid records are refused after the validation and not written."""
        waiting = self.begin(produce_request(GARBAGE))
        self.workers.work()
        self.assertEqual(self.results(waiting), [(ErrorCode.INVALID_RECORD, -1)])
        self.assertEqual(self.stored(), [])

    def test_refused_without_a_lease(self) -> None:
        """Without a lease no error of the validation is final: the new leader may answer otherwise."""
        waiting = self.begin(produce_request(GARBAGE))
        self.patch(self.broker.replicas, "has_lease", lambda: False)
        self.workers.work()
        self.assertEqual(self.results(waiting), [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)])

    def test_others_go_on(self) -> None:
        """Another request for the partition is written meanwhile; both get offsets of their own."""
        waiting = self.begin(produce_request(LARGE))
        self.fill(b"meanwhile")
        self.workers.work()
        self.assertEqual(self.results(waiting), [(0, 1)])
        self.assertEqual(self.stored()[:2], [b"meanwhile", b"0"])

    def test_several_partitions(self) -> None:
        """A request may have one partition accepted, one refused, and one that need not wait."""
        plain = build_values([b"v"] * 3, NOW_MS)
        data = [
            PartitionProduceData(0, LARGE),
            PartitionProduceData(1, GARBAGE),
            PartitionProduceData(2, plain),
        ]
        waiting = self.begin(ProduceRequest(None, -1, 1000, [TopicProduceData("t", data)]))
        self.workers.work()
        found = self.results(waiting)
        self.assertEqual(found, [(0, 0), (ErrorCode.INVALID_RECORD, -1), (0, 0)])
        self.assertEqual((len(self.stored()), len(self.stored(partition=2))), (COUNT, 3))

    def test_left(self) -> None:
        """A batch whose client has disconnected is neither validated nor written, and is not counted."""
        waiting = self.begin(produce_request(LARGE))
        self.assertEqual(self.broker.validator.waiting_bytes, len(LARGE))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.assertEqual(self.broker.validator.waiting_bytes, 0)
        self.workers.work()
        self.assertEqual(self.stored(), [])

    def test_looks_that_are_dropped(self) -> None:
        """A cancelled validation is not begun; the others are."""
        begun: list[int] = []
        waiting = [self.broker.validator.validate(partial(begun.append, number)) for number in range(3)]
        waiting[1].cancel()
        self.failureResultOf(waiting[1], CancelledError)
        self.workers.work()
        self.assertEqual(begun, [0, 2])

    def test_too_much_waits(self) -> None:
        """A batch is refused at once with a retriable error if too many bytes wait to be validated."""
        self.broker.validator.waiting_bytes = 64 << 20
        answer = self.answer(0, 9, produce_request(LARGE))
        self.assertEqual(self.results(answer), [(ErrorCode.REQUEST_TIMED_OUT, -1)])
        self.assertEqual(self.broker.validator.waiting_bytes, 64 << 20)

    def test_topic_deleted(self) -> None:
        """A topic that was deleted meanwhile gets no records."""
        waiting = self.begin(produce_request(LARGE))
        self.broker.topics.partitions.pop("t")
        self.workers.work()
        self.assertEqual(self.results(waiting), [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)])

    def test_no_acks(self) -> None:
        """A request with acks=0 gets no reply; invalid records close its connection."""
        for records, ends in ((LARGE, False), (GARBAGE, True)):
            waiting = self.begin(produce_request(records, acks=0))
            self.workers.work()
            if ends:
                self.failureResultOf(waiting, ProtocolViolation)
            else:
                self.assertIsNone(self.successResultOf(waiting))

    def test_failed_write(self) -> None:
        """A failed write after the validation is reported like any other."""
        waiting = self.begin(produce_request(LARGE))
        log: Any = self.broker.topics.of("t")[0].log

        def fail() -> None:
            log._appender.discard()
            raise OSError(28, "disk full")

        self.patch(log, "write", fail)
        self.workers.work()
        self.assertEqual(self.results(waiting), [(ErrorCode.KAFKA_STORAGE_ERROR, -1)])
