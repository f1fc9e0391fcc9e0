"""Tests of kafkatx.clientcore.producer.requests."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed, RequestTimedOut
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, ProducerBatch, ProducerIdAndEpoch
from kafkatx.clientcore.producer.requests import (
    can_be_split,
    code_of,
    delivery_timed_out,
    error_of,
    is_metadata_stale,
    partition_responses,
    produce_failure,
    produce_request,
    read_producer_id,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.conversion import iter_any
from kafkatx.wire.messages.init_producer_id import InitProducerIdResponse
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse


def batch(topic: str = "t", partition: int = 0, records: int = 1) -> ProducerBatch:
    """Return a sealed batch."""
    made = ProducerBatch(topic, partition, BatchBuilder(), records=records, payload_bytes=3)
    assert made.builder is not None
    for _ in range(records):
        made.builder.append(b"k", b"v", 5)
    made.seal(NOT_IDEMPOTENT, -1)
    return made


class RequestTests(SynchronousTestCase):
    def test_grouped(self) -> None:
        """Batches are grouped by topic, each with its partition; the request has acks and time-out."""
        batches = [batch("a", 1), batch("b", 0), batch("a", 2)]
        request = produce_request(batches, 9, 1, 700)
        found = [(t.name, [(p.index, p.records) for p in t.partition_data]) for t in request.topic_data]
        self.assertEqual(
            found, [("a", [(1, batches[0].data), (2, batches[2].data)]), ("b", [(0, batches[1].data)])]
        )
        self.assertEqual((request.acks, request.timeout_ms, request.transactional_id), (1, 700, None))

    def test_one(self) -> None:
        """One batch makes the same request."""
        request = produce_request([batch("a", 3)], 9, -1, 5)
        self.assertEqual([(t.name, t.partition_data[0].index) for t in request.topic_data], [("a", 3)])

    def test_old_versions(self) -> None:
        """Before version 3 message sets are sent, of magic 1 or 0."""
        for version, magic in ((0, 0), (1, 0), (2, 1), (3, 2)):
            records = produce_request([batch()], version, -1, 5).topic_data[0].partition_data[0].records
            assert isinstance(records, bytes)
            self.assertEqual(records[16], magic)
            self.assertEqual([(r.key, r.value) for r in iter_any(records)], [(b"k", b"v")])

    def test_identity(self) -> None:
        """The producer id is read from a response; an error code is raised."""
        self.assertEqual(
            read_producer_id(InitProducerIdResponse(producer_id=5, producer_epoch=2)),
            ProducerIdAndEpoch(5, 2),
        )
        self.assertRaises(RequestError, read_producer_id, InitProducerIdResponse(error_code=15))


class AnswersTests(SynchronousTestCase):
    def response(self, *parts: tuple[str, int, int]) -> ProduceResponse:
        """Return a response of (topic, partition, error code)."""
        return ProduceResponse(
            [TopicProduceResponse(name, [PartitionProduceResponse(i, code, 4)]) for name, i, code in parts]
        )

    def test_each_its_own(self) -> None:
        """Each batch gets the result of its partition, in any order."""
        response = self.response(("b", 0, 0), ("a", 1, 3), ("a", 0, 7))
        found = partition_responses([batch("a", 0), batch("a", 1), batch("b", 0)], response)
        self.assertEqual([code_of(error_of(a)) if error_of(a) else 0 for a in found], [7, 3, 0])  # type: ignore[arg-type]

    def test_left_out(self) -> None:
        """A batch that the response leaves out is in doubt."""
        for response in (self.response(("t", 1, 0)), self.response(("u", 0, 0)), self.response()):
            self.assertIsInstance(error_of(partition_responses([batch()], response)[0]), ConnectionFailed)

    def test_duplicate(self) -> None:
        """DUPLICATE_SEQUENCE_NUMBER means that the batch is in the log."""
        self.assertIsNone(error_of(partition_responses([batch()], self.response(("t", 0, 46)))[0]))


class ErrorsTests(SynchronousTestCase):
    def test_cut(self) -> None:
        """Only a batch that is too large and has several records is split."""
        self.assertTrue(can_be_split(batch(records=2), ErrorCode.MESSAGE_TOO_LARGE))
        self.assertFalse(can_be_split(batch(records=1), ErrorCode.MESSAGE_TOO_LARGE))
        self.assertFalse(can_be_split(batch(records=2), ErrorCode.INVALID_RECORD))

    def test_moved(self) -> None:
        """Metadata is refreshed after a lost connection or a new leader, not if replicas are missing."""
        self.assertTrue(is_metadata_stale(ConnectionFailed("x")))
        self.assertTrue(is_metadata_stale(RequestError(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
        self.assertFalse(is_metadata_stale(RequestError(ErrorCode.NOT_ENOUGH_REPLICAS)))

    def test_codes(self) -> None:
        """A lost connection is NETWORK_EXCEPTION, a bug UNKNOWN_SERVER_ERROR."""
        self.assertEqual(code_of(RequestTimedOut("x")), ErrorCode.NETWORK_EXCEPTION)
        self.assertEqual(code_of(KeyError("x")), ErrorCode.UNKNOWN_SERVER_ERROR)

    def test_given_up(self) -> None:
        """The error names topic, partition and reason, and the first error is its cause."""
        cause = RequestError(ErrorCode.MESSAGE_TOO_LARGE, "")
        error = produce_failure(batch("t", 4), cause)
        self.assertIn("t [4]: a message of 3 bytes is above the topic's max.message.bytes", str(error))
        self.assertIs(error.__cause__, cause)
        error = produce_failure(batch(), RequestError(ErrorCode.INVALID_RECORD, "the third is bad"))
        self.assertEqual((error.code, str(error)), (ErrorCode.INVALID_RECORD, "t [0]: the third is bad"))

    def test_too_late(self) -> None:
        """A delivery time-out names the last error, or says that the batch was never sent."""
        late = batch()
        self.assertIn(
            "within 5 s (delivery.timeout.ms); it was never sent", str(delivery_timed_out(late, 5.0))
        )
        late.error = ConnectionFailed("nobody answers")
        error = delivery_timed_out(late, 5.0)
        self.assertIn("the last error: nobody answers", str(error))
        self.assertEqual(error.code, ErrorCode.REQUEST_TIMED_OUT)
