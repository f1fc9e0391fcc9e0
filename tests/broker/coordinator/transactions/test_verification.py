"""Verification of a transaction before its first batch in a partition."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.transactions.verification import (
    AGAIN_S,
    ATTEMPTS,
    PendingVerifications,
    TransactionVerifier,
)
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.transactions.actions import Reply
from kafkatx.transactions.metadata import Producer
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER = Producer(7, 3)
NONE, CONCURRENT = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
ABORTABLE, LOST = ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.NETWORK_EXCEPTION


class PendingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Begin without questions."""
        self.pending = PendingVerifications()

    def test_marker(self) -> None:
        """A marker of the producer in the partition takes the answer back, no other marker does."""
        token = self.pending.begin([A, B], 7, 3)
        self.pending.marker_written(B, Producer(8, 3), False)
        self.pending.marker_written(A, PRODUCER, False)
        self.assertEqual([self.pending.end(token, one, 7) for one in (A, B)], [False, True])

    def test_marker_of_version_2(self) -> None:
        """A marker that has the epoch after its transaction's leaves questions about the next one."""
        before, after = self.pending.begin([A], 7, 2), self.pending.begin([A], 7, 3)
        self.pending.marker_written(A, PRODUCER, True)
        self.assertEqual([self.pending.stands(one, A, 7) for one in (before, after)], [False, True])
        self.pending.marker_written(A, Producer(7, 4), True)
        self.assertFalse(self.pending.stands(after, A, 7))
        self.assertEqual(self.pending._begun, {})

    def test_several(self) -> None:
        """Each question is ended by itself, and leaves nothing."""
        one, two = self.pending.begin([A], 7, 3), self.pending.begin([A], 7, 3)
        self.assertTrue(self.pending.end(one, A, 7))
        self.assertTrue(self.pending.end(two, A, 7))
        self.assertFalse(self.pending.end(two, A, 7))
        self.assertEqual(self.pending._begun, {})


class FakeCoordinator:
    """A coordinator that answers as the test says; it is its own topic."""

    def __init__(self) -> None:
        self.topic = self
        self.leader = 1
        self.answers: list[Any] = []
        self.calls = 0

    def leader_of(self, transactional_id: str) -> BrokerNode:
        """Return the leader."""
        if self.leader < 0:
            raise RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return BrokerNode(self.leader, "b", 1)

    def verify(self, transactional_id: str, producer: Producer, partition: TopicPartition) -> ErrorCode:
        """Answer."""
        found: ErrorCode = self.next()
        return found

    def add(self, transactional_id: str, producer: Producer, partitions: Any, version: int) -> Any:
        """Answer."""
        assert version == 2
        found = self.next()
        return found if isinstance(found, Deferred) else Reply(found)

    def next(self) -> Any:
        """Return the next answer; raise it if it is an exception."""
        self.calls += 1
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


class VerifierTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a verifier of broker 1."""
        self.clock, self.coordinator = Clock(), FakeCoordinator()
        self.asked: list[tuple[AddPartitionsToTxnRequest, Deferred[Any]]] = []
        coordinator: Any = self.coordinator
        peers: Any = self
        self.verifier = TransactionVerifier(1, coordinator, peers, self.clock)

    def request(self, node: BrokerNode, message: AddPartitionsToTxnRequest) -> Deferred[Any]:
        """Note a request to another broker."""
        answer: Deferred[Any] = Deferred()
        self.asked.append((message, answer))
        return answer

    def verify(self, adds: bool = False, *answers: Any) -> Any:
        """Verify two partitions."""
        self.coordinator.answers = list(answers)
        return self.verifier.verify("tx", PRODUCER, [A, B], adds)

    def test_own(self) -> None:
        """This broker as the coordinator answers at once."""
        self.assertEqual(self.verify(False, NONE, ABORTABLE), {A: NONE, B: ABORTABLE})
        self.assertEqual(self.verify(True, NONE), {A: NONE, B: NONE})
        fenced = RequestError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        for adds in (False, True):
            self.assertEqual(self.verify(adds, fenced), dict.fromkeys((A, B), fenced.code))

    def test_not_available(self) -> None:
        """Without a coordinator all partitions have its error."""
        self.coordinator.leader = -1
        for adds in (False, True):
            found = self.verify(adds)
            self.assertEqual(found, dict.fromkeys((A, B), ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def test_own_later(self) -> None:
        """Partitions that are being stored are waited for, and not added again."""
        stored: Deferred[Reply] = Deferred()
        found = self.verify(True, stored)
        self.assertNoResult(found)
        stored.callback(Reply(NONE))
        self.assertEqual(self.successResultOf(found), {A: NONE, B: NONE})
        self.assertEqual(self.coordinator.calls, 1)
        lost: Deferred[Reply] = Deferred()
        found = self.verify(True, lost)
        lost.errback(RequestError(ErrorCode.NOT_COORDINATOR))
        self.assertEqual(self.successResultOf(found), dict.fromkeys((A, B), ErrorCode.NOT_COORDINATOR))

    def test_ending(self) -> None:
        """While the transaction before is ending the coordinator is asked again, not for ever."""
        found = self.verify(True, CONCURRENT, CONCURRENT, NONE)
        self.assertNoResult(found)
        self.clock.advance(AGAIN_S)
        self.assertEqual(self.successResultOf(found), {A: NONE, B: NONE})
        found = self.verify(False, *[CONCURRENT] * 100)
        for _ in range(ATTEMPTS):
            self.clock.advance(AGAIN_S)
        self.assertEqual(self.successResultOf(found), dict.fromkeys((A, B), CONCURRENT))

    def test_elsewhere(self) -> None:
        """Another broker is asked to look, or to add."""
        self.coordinator.leader = 2
        for adds in (False, True):
            found = self.verify(adds)
            (request, answer) = self.asked.pop()
            (asked,) = request.transactions
            self.assertEqual((asked.transactional_id, asked.producer_id, asked.producer_epoch), ("tx", 7, 3))
            self.assertEqual((asked.verify_only, asked.topics[0].partitions), (not adds, [0, 1]))
            results = [
                AddPartitionsToTxnPartitionResult(0, 0),
                AddPartitionsToTxnPartitionResult(1, ABORTABLE),
            ]
            topics = [AddPartitionsToTxnTopicResult("t", results)]
            answer.callback(
                AddPartitionsToTxnResponse(results_by_transaction=[AddPartitionsToTxnResult("tx", topics)])
            )
            self.assertEqual(self.successResultOf(found), {A: NONE, B: ABORTABLE})

    def test_lost(self) -> None:
        """Without an answer, or with one that lacks the partitions, the client is to try again."""
        self.coordinator.leader = 2
        found = self.verify()
        self.asked.pop()[1].errback(KafkaTXError("no connection"))
        self.assertEqual(self.successResultOf(found), {A: LOST, B: LOST})
        found = self.verify()
        self.asked.pop()[1].callback(AddPartitionsToTxnResponse())
        self.assertEqual(self.successResultOf(found), {A: LOST, B: LOST})
        found = self.verify()
        self.asked.pop()[1].callback(AddPartitionsToTxnResponse(error_code=ErrorCode.NOT_COORDINATOR))
        self.assertEqual(self.successResultOf(found), dict.fromkeys((A, B), ErrorCode.NOT_COORDINATOR))
