"""Brokers in memory that coordinate transactions, in both protocols."""

from __future__ import annotations

from typing import Any

from kafkatx.client.producer.producer import Producer
from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafkatx.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkatx.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkatx.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tests.blocking.fakes import LOSE_REPLY
from tests.client.producing import ProducerTestCase

T0 = TopicPartition("t", 0)


class TransactionTestCase(ProducerTestCase):
    """Broker 2 coordinates; its answers are changed by *errors*.

    :ivar errors: for each class of requests the errors of the next ones, in order; LOSE_REPLY: no answer.
    :ivar seen: (class, what it asked for) of each request that was answered without an error.
    """

    def setUp(self) -> None:
        """Give brokers that coordinate."""
        super().setUp()
        self.epoch = -1
        self.errors: dict[type[Any], list[Any]] = {}
        self.seen: list[Any] = []
        answers: dict[type[Any], Any] = {
            FindCoordinatorRequest: self.find,
            InitProducerIdRequest: self.init,
            AddPartitionsToTxnRequest: self.add_partitions,
            AddOffsetsToTxnRequest: self.add_offsets,
            TxnOffsetCommitRequest: self.commit_offsets,
            EndTxnRequest: self.end,
        }
        self.network.answers.update(answers)

    def transactional(self, level: int = 2, **settings: Any) -> Producer:
        """Return a started producer with transactions.

        :param level: of the feature ``transaction.version``.
        """
        self.network.features = {"transaction.version": level}
        return self.producer(transactional_id="id", **settings)

    def error_for(self, request: Any, asked: object) -> Any:
        """Return the error of a request, and note it if there is none."""
        errors = self.errors.get(type(request), [])
        error = errors.pop(0) if errors else ErrorCode.NONE
        if error in (ErrorCode.NONE, LOSE_REPLY):
            self.seen.append((type(request), asked))
        return error

    def find(self, node: int, request: Any, version: int) -> Any:
        """Name broker 2."""
        self.seen.append((type(request), request.key_type))
        found = Coordinator(request.coordinator_keys[0], 2, "broker2", 9092, 0, None)
        return FindCoordinatorResponse(coordinators=[found])

    def init(self, node: int, request: Any, version: int) -> Any:
        """Give the next epoch."""
        self.assertTrue(node == 2 or request.transactional_id is None)
        error = self.error_for(request, request.producer_epoch)
        self.epoch += 1
        return InitProducerIdResponse(error_code=error, producer_id=7, producer_epoch=self.epoch)

    def add_partitions(self, node: int, request: Any, version: int) -> Any:
        """Add partitions."""
        self.assertEqual((node, version), (2, 3))
        topics = request.v3_and_below_topics
        places = [TopicPartition(topic.name, number) for topic in topics for number in topic.partitions]
        error = self.error_for(request, places)
        results = [
            AddPartitionsToTxnTopicResult(
                topic.name, [AddPartitionsToTxnPartitionResult(n, error) for n in topic.partitions]
            )
            for topic in topics
        ]
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

    def add_offsets(self, node: int, request: Any, version: int) -> Any:
        """Add a group."""
        return AddOffsetsToTxnResponse(0, self.error_for(request, request.group_id))

    def commit_offsets(self, node: int, request: Any, version: int) -> Any:
        """Take offsets."""
        error = self.error_for(request, (request.group_id, version))
        parts = [TxnOffsetCommitResponsePartition(0, error)]
        return TxnOffsetCommitResponse(0, [TxnOffsetCommitResponseTopic("t", parts)])

    def end(self, node: int, request: Any, version: int) -> Any:
        """End the transaction; in protocol 2 with another epoch."""
        error = self.error_for(request, request.committed)
        if error == LOSE_REPLY:
            return LOSE_REPLY
        if version < 5:
            return EndTxnResponse(0, error)
        if not error:
            self.epoch = request.producer_epoch + 1
        return EndTxnResponse(0, error, 7, self.epoch)

    def ends(self) -> list[bool]:
        """Return the ends so far: True: committed."""
        return [asked for kind, asked in self.seen if kind is EndTxnRequest]
