"""Produce to many partitions in one request: stored in slices, between which others are served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import CancelledError

from kafkatx.broker.handlers import produce
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.net.requests import ExclusiveReply
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.running import NOW_MS, BrokerTestCase

PARTITIONS = 50
USER_CLIENT = (("client-id", "tests"),)


class ManyTestCase(BrokerTestCase):
    settings: ClassVar[Mapping[str, str]] = {"quota.window.num": "2"}

    def setUp(self) -> None:
        """Make a topic with more partitions than are stored at once."""
        super().setUp()
        self.patch(produce, "MANY_PARTITIONS", 20)
        self.partitions = self.make_topic("t", PARTITIONS)

    def begin(self, acks: int = -1, count: int = PARTITIONS, topic: str = "t") -> ExclusiveReply:
        """Send one batch to each of many partitions."""
        data = [PartitionProduceData(n, build_values([b"%d" % n], NOW_MS)) for n in range(count)]
        request = ProduceRequest(None, acks, 0, [TopicProduceData(topic, data)])
        answer = self.dispatch.answer(self.frame(0, 9, request), self.peer)
        assert isinstance(answer, ExclusiveReply)
        return answer

    def end(self, answer: ExclusiveReply) -> Any:
        """Run turns of the reactor until the request is done; return the response."""
        for _ in range(100):
            if answer.reply.called:
                break
            self.clock.advance(0)
        return self.response(0, 9, self.successResultOf(answer.reply))

    def ends(self) -> list[int]:
        """Return the log end offsets of the partitions."""
        return [partition.log.log_end_offset for partition in self.partitions]


class ManyTests(ManyTestCase):
    def test_stored_and_answered(self) -> None:
        """Every partition has its records, and its answer in the same place as in the request."""
        response = self.end(self.begin())
        results = response.responses[0].partition_responses
        self.assertEqual([r.index for r in results], list(range(PARTITIONS)))
        self.assertEqual({(r.error_code, r.base_offset) for r in results}, {(0, 0)})
        for number in range(PARTITIONS):
            self.assertEqual(self.stored(partition=number), [b"%d" % number])
        self.assertEqual([p.high_watermark for p in self.partitions], [1] * PARTITIONS)

    def test_begins_later(self) -> None:
        """No record is stored before the reactor's next turn; earlier requests are written separately."""
        answer = self.begin()
        self.assertEqual((self.ends(), self.broker.replicas.staged), ([0] * PARTITIONS, {}))
        self.end(answer)

    def test_slices(self) -> None:
        """No record stays staged between slices, so that other requests may write meanwhile."""
        seen = []
        steps = self.broker.slices.run

        def run(each: Any, result: Any) -> Any:
            def watched() -> Any:
                for step in each:
                    seen.append((sum(self.ends()), dict(self.broker.replicas.staged)))
                    yield step

            return steps(watched(), result)

        self.patch(self.broker.slices, "run", run)
        self.end(self.begin())
        self.assertEqual(seen, [(n, {}) for n in range(10, PARTITIONS + 1, 10)])

    def test_errors(self) -> None:
        """Invalid records and failed writes are errors of their own partition only."""
        self.partitions[3].replicated, self.partitions[3].isr = True, ()
        self.partitions[4].go_offline()
        failing = self.partitions[17]

        def write() -> None:
            raise OSError(28, "no space left")

        self.patch(failing.log, "write", write)
        results = self.end(self.begin(count=PARTITIONS + 1)).responses[0].partition_responses
        wrong = {r.index: ErrorCode.of(r.error_code) for r in results if r.error_code}
        self.assertEqual(
            wrong,
            {
                3: ErrorCode.NOT_ENOUGH_REPLICAS,
                4: ErrorCode.KAFKA_STORAGE_ERROR,
                17: ErrorCode.KAFKA_STORAGE_ERROR,
                PARTITIONS: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            },
        )
        self.flushLoggedErrors()

    def test_without_acks(self) -> None:
        """A request with acks=0 has no reply; an error closes the connection."""
        self.assertIsNone(self.end(self.begin(acks=0)))
        answer = self.begin(acks=0, topic="unknown")
        for _ in range(10):
            self.clock.advance(0)
        self.failureResultOf(answer.reply, ProtocolViolation)

    def test_client_goes(self) -> None:
        """A cancelled request stores no further records and leaves no timer."""
        answer = self.begin()
        answer.reply.cancel()
        self.failureResultOf(answer.reply, CancelledError)
        self.clock.advance(0)
        self.assertEqual((sum(self.ends()), self.broker.replicas.staged), (0, {}))

    def test_throttled(self) -> None:
        """A quota counts such a request, too, and mutes the client after its answer."""
        quotas = {"producer_byte_rate": 1.0}
        self.successResultOf(self.broker.metadata.alter_client_quotas({USER_CLIENT: quotas}))
        answer = self.begin()
        self.assertEqual(self.peer.throttle_time_ms, 0)
        response = self.end(answer)
        self.assertGreater(response.throttle_time_ms, 0)
        self.assertEqual(self.peer.throttle_time_ms, response.throttle_time_ms)

    def test_few_partitions(self) -> None:
        """A request for few partitions is staged at once."""
        self.patch(produce, "MANY_PARTITIONS", PARTITIONS)
        data = [PartitionProduceData(n, build_values([b"v"], NOW_MS)) for n in range(PARTITIONS)]
        response = self.ask(0, 9, ProduceRequest(None, -1, 0, [TopicProduceData("t", data)]))
        self.assertEqual({r.error_code for r in response.responses[0].partition_responses}, {0})
