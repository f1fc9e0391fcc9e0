"""Tests of kafkatx.clientcore.producer.transactions.requests."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import CommitFailed
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.producer.batch import ProducerIdAndEpoch
from kafkatx.clientcore.producer.transactions import requests
from kafkatx.clientcore.producer.transactions.machine import TransactionMachine
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafkatx.wire.messages.end_txn import EndTxnResponse
from kafkatx.wire.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

T0 = TopicPartition("t", 0)


class RequestsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A producer that is not started."""
        self.machine = TransactionMachine("id")

    def test_identity(self) -> None:
        """The first identity is asked for without one; the next by the present one, from version 3 on."""
        request = requests.init_request(self.machine, 9, 5)
        self.assertEqual((request.transactional_id, request.transaction_timeout_ms), ("id", 9))
        self.assertEqual((request.producer_id, request.producer_epoch), (-1, -1))
        self.machine.initialized(ProducerIdAndEpoch(5, 2), False)
        for version, identity in ((2, (-1, -1)), (3, (5, 2))):
            request = requests.init_request(self.machine, 9, version)
            self.assertEqual((request.producer_id, request.producer_epoch), identity)

    def test_partitions(self) -> None:
        """Partitions are named by topic; of the errors the one that was the reason is raised."""
        self.machine.initialized(ProducerIdAndEpoch(5, 2), False)
        request = requests.add_partitions_request(self.machine, [T0, TopicPartition("t", 1)])
        self.assertEqual(request.v3_and_below_topics[0].partitions, [0, 1])
        self.assertEqual(request.v3_and_below_producer_epoch, 2)

        def answer(*codes: int) -> AddPartitionsToTxnResponse:
            parts = [AddPartitionsToTxnPartitionResult(n, code) for n, code in enumerate(codes)]
            return AddPartitionsToTxnResponse(
                results_by_topic_v3_and_below=[AddPartitionsToTxnTopicResult("t", parts)]
            )

        requests.check_added(answer(0, 0))
        error = self.assertRaises(
            RequestError,
            requests.check_added,
            answer(ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        )
        self.assertIs(error.code, ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    def test_offsets(self) -> None:
        """Offsets carry the member; an error of the membership is CommitFailed."""
        self.machine.initialized(ProducerIdAndEpoch(5, 2), False)
        self.assertEqual(requests.add_offsets_request(self.machine, "g").group_id, "g")
        self.assertRaises(RequestError, requests.check_offsets_added, AddOffsetsToTxnResponse(0, 51))
        group = ConsumerGroupMetadata("g", 3, "m", "i")
        request = requests.offset_commit_request(self.machine, group, {T0: OffsetAndMetadata(8, "x", 4)})
        self.assertEqual(
            (request.group_id, request.generation_id, request.member_id, request.group_instance_id),
            ("g", 3, "m", "i"),
        )
        part = request.topics[0].partitions[0]
        self.assertEqual((part.committed_offset, part.committed_leader_epoch), (8, 4))
        self.assertEqual(part.committed_metadata, "x")
        for code, kind in ((22, CommitFailed), (29, RequestError)):
            parts = [TxnOffsetCommitResponsePartition(0, code)]
            response = TxnOffsetCommitResponse(0, [TxnOffsetCommitResponseTopic("t", parts)])
            error = self.assertRaises(RequestError, requests.check_offsets_committed, response)
            self.assertIs(type(error), kind)

    def test_end(self) -> None:
        """The end brings another identity in protocol 2."""
        self.machine.initialized(ProducerIdAndEpoch(5, 2), True)
        self.assertTrue(requests.end_request(self.machine, True).committed)
        self.assertFalse(requests.end_request(self.machine, False).committed)
        self.assertIsNone(requests.read_ended(EndTxnResponse(0, 0)))
        self.assertEqual(requests.read_ended(EndTxnResponse(0, 0, 5, 3)), ProducerIdAndEpoch(5, 3))
        self.assertRaises(RequestError, requests.read_ended, EndTxnResponse(0, 90))
