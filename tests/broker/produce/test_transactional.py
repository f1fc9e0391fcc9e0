"""Produce with a transactional id: batches of transactions are verified before they are written."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.transactional import TV1_PRODUCE, TV2_PRODUCE, TransactionsTestCase, batch

INVALID, ABORTABLE = ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE
A = TopicPartition("t", 0)
DAY_MS = 86_400_000


class VerifiedTests(TransactionsTestCase):
    def test_unknown(self) -> None:
        """A batch in a partition that is not in the transaction is refused, in the words of the version."""
        producer = self.producer()
        for version, error in ((9, INVALID), (10, INVALID), (TV1_PRODUCE, ABORTABLE)):
            self.assertEqual(self.write(producer, b"x", version=version), error)
        self.add(producer, 1)
        self.assertEqual(self.write(producer, b"x"), ABORTABLE)
        self.assertEqual(self.write(producer, b"x", partition=1), 0)
        self.assertEqual(self.stored(), [])

    def test_late(self) -> None:
        """A batch that comes after the end of its transaction does not begin one that never ends."""
        producer = self.transact(b"x")
        self.assertEqual(self.write(producer, b"late", sequence=1), ABORTABLE)
        self.assertEqual(self.fetched(), ([b"x"], 2))

    def test_added(self) -> None:
        """From version 12 on the partition is added, and the transaction begins."""
        producer = self.producer()
        self.assertEqual(self.write(producer, b"x", version=TV2_PRODUCE), 0)
        self.assertEqual(self.transaction().metadata.partitions, {A})

    def test_fenced(self) -> None:
        """A fenced producer is told INVALID_PRODUCER_EPOCH, never PRODUCER_FENCED."""
        old = self.producer()
        self.producer()
        for version in (9, TV1_PRODUCE, TV2_PRODUCE):
            self.assertEqual(self.write(old, b"x", version=version), ErrorCode.INVALID_PRODUCER_EPOCH)

    def test_forgotten(self) -> None:
        """A fenced producer stays fenced in a partition that has forgotten it and its records."""
        old = self.transact(b"x")
        self.producer()
        log = self.broker.topics.of("t")[0].log
        log.advance_log_start(log.log_end_offset)
        log.retain(self.now_ms + 7 * DAY_MS)
        self.assertEqual(list(log.active_producers()), [])
        for version in (TV1_PRODUCE, TV2_PRODUCE):
            error = self.write(old, b"y", sequence=1, version=version)
            self.assertEqual(error, ErrorCode.INVALID_PRODUCER_EPOCH)
        self.assertEqual(log.log_end_offset, log.log_start_offset)

    def test_asked_once(self) -> None:
        """The coordinator is asked before the first batch only; a duplicate is answered as one."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"x")
        self.patch(self.broker.verifier, "verify", None)
        self.assertEqual(self.write(producer, b"y", sequence=1), 0)
        self.assertEqual(self.write(producer, b"y", sequence=1), 0)
        self.assertEqual(self.stored(), [b"x", b"y"])

    def test_without_id(self) -> None:
        """A batch of a transaction in a request without a transactional id is refused."""
        producer = self.producer()
        self.add(producer, 0)
        self.assertEqual(self.write(producer, b"x", name=None), INVALID)

    def test_outside(self) -> None:
        """A batch outside of the open transaction is refused."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"x")
        from kafkatx.records.builder import BatchBuilder
        from kafkatx.records.compression import Codec

        builder = BatchBuilder(Codec.NONE, *producer, 1)
        builder.append(None, b"plain", 0)
        self.assertEqual(self.produce(builder.build(), transactional_id="tx").error_code, INVALID)

    def test_plain(self) -> None:
        """Records without a producer in a request with a transactional id are written as they are."""
        self.assertEqual(self.produce(build_values([b"p"], 0), transactional_id="tx").error_code, 0)

    def test_several_producers(self) -> None:
        """A request has the batches of one producer."""
        data = [PartitionProduceData(n, batch([b"x"], (n, 0))) for n in (0, 1)]
        request = ProduceRequest("tx", -1, 1000, [TopicProduceData("t", data)])
        (topic,) = self.ask(0, TV1_PRODUCE, request).responses
        errors = {result.error_code for result in topic.partition_responses}
        self.assertEqual(errors, {ErrorCode.INVALID_PRODUCER_ID_MAPPING})

    def test_repeated_partition(self) -> None:
        """A partition stands in a request once."""
        producer = self.producer()
        data = [PartitionProduceData(0, batch([b"x"], producer))] * 2
        request = ProduceRequest("tx", -1, 1000, [TopicProduceData("t", data)])
        (topic,) = self.ask(0, TV1_PRODUCE, request).responses
        self.assertEqual(topic.partition_responses[0].error_code, ErrorCode.INVALID_REQUEST)

    def test_all_replicas(self) -> None:
        """``acks=1`` is taken as all."""
        producer = self.producer()
        self.add(producer, 0)
        partition = self.broker.topics.find("t", 0)
        assert partition is not None
        partition.replicated, partition.isr, partition.min_insync = True, (0,), 2
        self.assertEqual(
            self.produce(batch([b"x"], producer), TV1_PRODUCE, 1, transactional_id="tx").error_code,
            ErrorCode.NOT_ENOUGH_REPLICAS,
        )

    def test_disabled(self) -> None:
        """Without verification the coordinator is not asked, but for adding partitions."""
        self.broker.config = self.broker.config.with_dynamic(
            {}, {"transaction.partition.verification.enable": "false"}
        )
        producer = self.producer()
        self.assertEqual(self.write(producer, b"x"), 0)
        self.assertEqual(self.state, "Empty")


class LaterTests(TransactionsTestCase):
    """A coordinator that has to be waited for."""

    def begin(self) -> tuple[Any, Deferred[Any], tuple[int, int]]:
        """Produce, and let the coordinator think."""
        producer = self.producer()
        self.add(producer, 0)
        thinking: Deferred[Any] = Deferred()
        self.patch(self.broker.verifier, "verify", lambda *args: thinking)
        records = batch([b"x"], producer)
        data = [TopicProduceData("t", [PartitionProduceData(0, records)])]
        answer = self.answer(0, TV1_PRODUCE, ProduceRequest("tx", -1, 1000, data))
        return answer.reply, thinking, producer

    def error(self, reply: Any) -> int:
        """Return the error of the answer."""
        response = self.response(0, TV1_PRODUCE, self.successResultOf(reply))
        error: int = response.responses[0].partition_responses[0].error_code
        return error

    def test_written(self) -> None:
        """The batch is written when the coordinator has answered."""
        reply, thinking, _ = self.begin()
        self.assertNoResult(reply)
        self.assertEqual(self.stored(), [])
        thinking.callback({A: ErrorCode.NONE})
        self.assertEqual((self.error(reply), self.stored()), (0, [b"x"]))

    def test_refused(self) -> None:
        """A refusal is told, and nothing is written."""
        reply, thinking, _ = self.begin()
        thinking.callback({A: ErrorCode.NOT_COORDINATOR})
        self.assertEqual((self.error(reply), self.stored()), (ErrorCode.NOT_ENOUGH_REPLICAS, []))

    def test_marker_meanwhile(self) -> None:
        """The answer does not count if the transaction has ended meanwhile."""
        reply, thinking, producer = self.begin()
        self.end(producer, False)
        thinking.callback({A: ErrorCode.NONE})
        self.assertEqual((self.error(reply), self.stored()), (INVALID, []))
