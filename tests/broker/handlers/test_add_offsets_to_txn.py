"""AddOffsetsToTxn: the partition of a group's offsets is added to the transaction."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from tests.broker.transactional import TransactionsTestCase


class AddOffsetsTests(TransactionsTestCase):
    def test_add(self) -> None:
        """The group's partition is in the transaction, in every version."""
        producer = self.producer()
        for version in range(5):
            self.assertEqual(self.add_offsets(producer, version=version), 0)
        self.assertEqual(self.transaction().metadata.partitions, {self.offsets_partition()})
        self.assertEqual(self.state, "Ongoing")

    def test_refused(self) -> None:
        """An old epoch is told in the words of the version, an unknown id in the same in all."""
        producer = self.producer()
        self.assertEqual(self.add_offsets((99, 0)), ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        self.producer()
        self.assertEqual(self.add_offsets(producer, version=1), ErrorCode.INVALID_PRODUCER_EPOCH)
        self.assertEqual(self.add_offsets(producer, version=2), ErrorCode.PRODUCER_FENCED)


class NewTopicTests(TransactionsTestCase):
    def setUp(self) -> None:
        """Begin without the topic of offsets."""
        super(TransactionsTestCase, self).setUp()
        self.successResultOf(self.broker.transactions.topic.ensure())

    def test_first(self) -> None:
        """The first request of all creates ``__consumer_offsets``."""
        self.assertFalse(self.broker.groups.topic.exists)
        producer = self.producer()
        self.assertEqual(self.add_offsets(producer), 0)
        self.assertEqual(self.transaction().metadata.partitions, {self.offsets_partition()})
