"""APIs about transactions: all partitions or none, and filtered lists."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest
from tests.broker.authorization.authorized import ADMIN, TOPIC, TRANSACTION, AuthorizedTestCase

_O, _R = AclOperation, ResourceType


class TransactionsTests(AuthorizedTestCase):
    def test_all_or_none(self) -> None:
        """No partition is added if one topic may not be written to, and the others say so."""
        self.grant(_O.WRITE, _R.TRANSACTIONAL_ID)
        self.grant(_O.WRITE, _R.TOPIC)
        topics = [AddPartitionsToTxnTopic(name, [0]) for name in (TOPIC, "other")]
        request = AddPartitionsToTxnRequest([], TRANSACTION, *self.producer, topics)
        found = self.ask_late(24, 3, request).results_by_topic_v3_and_below
        codes = {one.name: one.results_by_partition[0].partition_error_code for one in found}
        self.assertEqual(
            codes,
            {TOPIC: ErrorCode.OPERATION_NOT_ATTEMPTED, "other": ErrorCode.TOPIC_AUTHORIZATION_FAILED},
        )
        transaction = self.broker.transactions.find(TRANSACTION)
        assert transaction is not None
        self.assertEqual({one.partition for one in transaction.metadata.partitions}, {1})

    def test_listed(self) -> None:
        """A list has the transactional ids that the client may describe."""
        self.assertEqual(self.ask(66, 1, ListTransactionsRequest()).transaction_states, [])
        self.grant(_O.WRITE, _R.TRANSACTIONAL_ID)
        (one,) = self.ask(66, 1, ListTransactionsRequest()).transaction_states
        self.assertEqual(one.transactional_id, TRANSACTION)
        self.use(ADMIN)
        self.assertEqual(len(self.ask(66, 1, ListTransactionsRequest()).transaction_states), 1)
