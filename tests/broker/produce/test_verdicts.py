"""Transactional batches that are validated in a worker: a marker that is written meanwhile stops them."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed

from kafkatx.errors import ErrorCode
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec
from kafkatx.transactions.actions import Marker
from kafkatx.transactions.metadata import Producer
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.running import Held
from tests.broker.transactional import TV1_PRODUCE, TV2_PRODUCE, TransactionsTestCase, batch

A = TopicPartition("t", 0)
COUNT = 2000


def compressed(producer: tuple[int, int], sequence: int = 0, transactional: bool = True) -> bytes:
    """A batch that has to be validated in a worker."""
    builder = BatchBuilder(Codec.GZIP, *producer, sequence, transactional=transactional)
    for number in range(COUNT):
        builder.append(None, b"%d" % number, 0)
    return builder.build()


class VerdictTests(TransactionsTestCase):
    def setUp(self) -> None:
        """Make workers that work when the test says so."""
        super().setUp()
        self.workers = Held()
        self.patch(self.broker.validator, "_workers", self.workers)

    def begin(self, *batches: bytes, version: int = TV1_PRODUCE) -> Deferred[Any]:
        """Produce a batch for each partition, whose validation begins."""
        data = [PartitionProduceData(number, records) for number, records in enumerate(batches)]
        request = ProduceRequest("tx", -1, 1000, [TopicProduceData("t", data)])
        reply: Deferred[Any] = self.answer(0, version, request)
        self.assertNoResult(reply)
        return reply

    def errors(self, reply: Deferred[Any], version: int = TV1_PRODUCE) -> list[int]:
        """Return the error of each partition, when the worker has worked."""
        self.workers.work()
        (topic,) = self.response(0, version, self.successResultOf(reply)).responses
        return [result.error_code for result in topic.partition_responses]

    def check_hanging(self) -> None:
        """Check that no partition has an open transaction, and that no verdict is left behind."""
        for partition in self.broker.topics.of("t"):
            self.assertEqual(
                partition.log.last_stable_offset(partition.log.log_end_offset), self.end_of(partition)
            )
        self.assertEqual(self.broker.verifier.pending._begun, {})

    def end_of(self, partition: Any) -> int:
        """Return the end of a partition's log."""
        end: int = partition.log.log_end_offset
        return end

    def test_written(self) -> None:
        """Without a marker the batch is written when it is validated, and its transaction ends as any."""
        producer = self.producer()
        self.add(producer, 0)
        self.assertEqual(self.errors(self.begin(compressed(producer))), [0])
        self.end(producer)
        self.assertEqual(len(self.fetched()[0]), COUNT)
        self.check_hanging()

    def test_ended_meanwhile(self) -> None:
        """A batch whose transaction has ended while it was validated begins none that never ends."""
        for version in (TV1_PRODUCE, TV2_PRODUCE):
            producer = self.producer()
            self.add(producer, 0)
            reply = self.begin(compressed(producer), version=version)
            self.end(producer, False)
            self.assertEqual(self.errors(reply, version), [ErrorCode.INVALID_TXN_STATE])
            self.check_hanging()

    def test_ended_after_begin(self) -> None:
        """The same holds if the partition had the transaction already, and nothing was asked."""
        producer = self.producer()
        self.add(producer, 0)
        self.assertEqual(self.write(producer, b"x"), 0)
        reply = self.begin(compressed(producer, 1))
        self.end(producer)
        self.assertEqual(self.errors(reply), [ErrorCode.INVALID_TXN_STATE])
        self.check_hanging()

    def test_fenced_meanwhile(self) -> None:
        """A producer that was fenced by the marker is told so: it goes on after that error."""
        producer = self.producer()
        self.add(producer, 0)
        reply = self.begin(compressed(producer))
        self.producer()
        self.assertEqual(self.errors(reply), [ErrorCode.INVALID_PRODUCER_EPOCH])
        self.check_hanging()

    def test_each_partition(self) -> None:
        """Each partition has a verdict of its own, also the one whose turn comes later."""
        producer = self.producer()
        self.add(producer, 0, 1)
        reply = self.begin(compressed(producer), compressed(producer))
        self.broker.marker_writer.write(TopicPartition("t", 1), Marker(Producer(*producer), False, 0), 0)
        self.assertEqual(self.errors(reply), [0, ErrorCode.INVALID_TXN_STATE])
        self.end(producer)
        self.check_hanging()

    def test_others(self) -> None:
        """Markers of other producers change nothing; nor does one for a batch that is no part of it."""
        producer, other = self.producer(), self.producer("other")
        self.add(producer, 0)
        reply = self.begin(compressed(producer))
        self.broker.marker_writer.write(A, Marker(Producer(*other), False, 0), 0)
        self.assertEqual(self.errors(reply), [0])
        self.end(producer)
        plain = self.begin(compressed((other[0], other[1] + 1), transactional=False))
        self.broker.marker_writer.write(A, Marker(Producer(*other), False, 0), 0)
        self.assertEqual(self.errors(plain), [0])
        self.check_hanging()

    def test_left(self) -> None:
        """Nothing is kept of a request whose client has gone."""
        producer = self.producer()
        self.add(producer, 0)
        reply = self.begin(compressed(producer))
        reply.cancel()
        self.failureResultOf(reply, CancelledError)
        self.check_hanging()


class SchemaTests(TransactionsTestCase):
    """A topic whose records have schemas that are checked."""

    def setUp(self) -> None:
        """Make the topic; the check succeeds when the test says so."""
        super().setUp()
        self.checking: Deferred[None] = succeed(None)
        self.broker.validator.check_schemas = lambda partition, records: self.checking
        self.make_topic("checked", confluent_value_schema_validation="true")

    def send(self, producer: tuple[int, int], version: int = TV1_PRODUCE) -> Deferred[Any]:
        """Produce a batch."""
        data = [PartitionProduceData(0, batch([b"x"], producer))]
        request = ProduceRequest("tx", -1, 1000, [TopicProduceData("checked", data)])
        reply: Deferred[Any] = self.answer(0, version, request)
        return reply

    def error(self, reply: Any, version: int = TV1_PRODUCE) -> int:
        """Return the error of the only partition."""
        (topic,) = self.response(0, version, self.answered(reply)).responses
        error: int = topic.partition_responses[0].error_code
        return error

    def test_verified(self) -> None:
        """The coordinator is asked as for any topic, and from version 12 on it adds the partition."""
        producer = self.producer()
        self.assertEqual(self.error(self.send(producer)), ErrorCode.TRANSACTION_ABORTABLE)
        self.assertEqual(self.error(self.send(producer, TV2_PRODUCE), TV2_PRODUCE), 0)
        self.assertEqual(self.transaction().metadata.partitions, {TopicPartition("checked", 0)})

    def test_ended_meanwhile(self) -> None:
        """A batch whose transaction has ended during the check is not written."""
        producer = self.producer()
        self.add(producer, 0, topic="checked")
        checking: Deferred[None] = Deferred()
        self.checking = checking
        reply = self.send(producer)
        self.end(producer, False)
        checking.callback(None)
        self.assertEqual(self.error(reply), ErrorCode.INVALID_TXN_STATE)
