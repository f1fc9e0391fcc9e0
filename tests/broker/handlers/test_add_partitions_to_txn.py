"""AddPartitionsToTxn: of clients, and of brokers."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tests.broker.transactional import TransactionsTestCase

NOT_ATTEMPTED, UNKNOWN = ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class ClientTests(TransactionsTestCase):
    """Versions 0-3."""

    def test_add(self) -> None:
        """Partitions are in the transaction, in every version; the first begins it."""
        producer = self.producer()
        for version in range(4):
            self.assertEqual(self.add(producer, version % 2, version=version), [0])
        self.assertEqual(self.state, "Ongoing")
        self.assertEqual(
            self.transaction().metadata.partitions, {TopicPartition("t", 0), TopicPartition("t", 1)}
        )

    def test_unknown(self) -> None:
        """No partition is added if one of them does not exist."""
        producer = self.producer()
        self.assertEqual(self.add(producer, 0, 7), [NOT_ATTEMPTED, UNKNOWN])
        self.assertEqual(self.add(producer, 0, topic="none"), [UNKNOWN])
        refused = self.add(producer, 0, topic="__transaction_state")
        self.assertEqual(refused, [ErrorCode.INVALID_TOPIC_EXCEPTION])
        self.assertEqual(self.state, "Empty")

    def test_refused(self) -> None:
        """Unknown ids, other producers and old epochs are refused, in the words of the version."""
        producer = self.producer()
        mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        self.assertEqual(self.add(producer, 0, name="other"), [mapping])
        self.assertEqual(self.add((producer[0] + 1, 0), 0), [mapping])
        self.producer()
        for version, error in ((1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)):
            self.assertEqual(self.add(producer, 0, version=version), [error])

    def test_memory(self) -> None:
        """Partitions are refused where they would take more memory than is allowed; known ones are not."""
        producer = self.producer()
        self.add(producer, 0)
        self.broker.transactions._max_bytes = self.broker.transactions.used_bytes
        self.assertEqual(self.add(producer, 1), [ErrorCode.POLICY_VIOLATION])
        self.assertEqual(self.add(producer, 0), [0])


class BrokerTests(TransactionsTestCase):
    """Versions 4 and 5."""

    def ask_for(
        self,
        producer: tuple[int, int],
        *partitions: int,
        verify: bool = False,
        name: str = "tx",
        version: int = 5,
    ) -> list[int]:
        """Ask as a broker does; return the errors."""
        topics = [AddPartitionsToTxnTopic("t", list(partitions))]
        transaction = AddPartitionsToTxnTransaction(name, *producer, verify, topics)
        response = self.ask(24, version, AddPartitionsToTxnRequest([transaction]))
        self.assertEqual(response.error_code, 0)
        (result,) = response.results_by_transaction
        self.assertEqual(result.transactional_id, name)
        return [one.partition_error_code for one in result.topic_results[0].results_by_partition]

    def test_verify(self) -> None:
        """Partitions are looked for, not added."""
        producer = self.producer()
        self.add(producer, 0)
        abortable = ErrorCode.TRANSACTION_ABORTABLE
        for version in (4, 5):
            found = self.ask_for(producer, 0, 1, verify=True, version=version)
            self.assertEqual(found, [0, abortable])
        self.assertEqual(self.transaction().metadata.partitions, {TopicPartition("t", 0)})

    def test_add(self) -> None:
        """Partitions are added, as a client of version 2 of transactions wants them."""
        producer = self.producer()
        self.assertEqual(self.ask_for(producer, 0, 1), [0, 0])
        self.assertEqual(self.transaction().metadata.client_version, 2)

    def test_refused(self) -> None:
        """The error of one transaction is that of each of its partitions."""
        producer = self.producer()
        mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        for verify in (True, False):
            self.assertEqual(self.ask_for(producer, 0, 1, verify=verify, name="other"), [mapping] * 2)
            self.assertEqual(self.ask_for((producer[0], 9), 0, verify=verify), [ErrorCode.PRODUCER_FENCED])

    def test_listener(self) -> None:
        """Only the listener for brokers takes such requests."""
        self.broker.inter_broker_port = self.peer.local_port + 1
        refused = self.ask(24, 4, AddPartitionsToTxnRequest([]))
        self.assertEqual(refused.error_code, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.broker.inter_broker_port = self.peer.local_port
        self.assertEqual(self.ask(24, 4, AddPartitionsToTxnRequest([])).error_code, 0)
