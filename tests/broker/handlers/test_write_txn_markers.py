"""WriteTxnMarkers: markers in this broker's partitions."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.transactional import TransactionsTestCase


class MarkersTests(TransactionsTestCase):
    def mark(
        self,
        producer: tuple[int, int],
        commit: bool = False,
        *partitions: int,
        topic: str = "t",
        coordinator_epoch: int = 0,
        version: int = 1,
        transaction_version: int = 0,
    ) -> list[int]:
        """Write one marker; return the errors of its partitions."""
        topics = [WritableTxnMarkerTopic(topic, list(partitions))]
        marker = WritableTxnMarker(*producer, commit, topics, coordinator_epoch, transaction_version)
        (result,) = self.ask(27, version, WriteTxnMarkersRequest([marker])).markers
        self.assertEqual((result.producer_id, result.topics[0].name), (producer[0], topic))
        return [one.error_code for one in result.topics[0].partitions]

    def begin(self) -> tuple[int, int]:
        """Begin a transaction in partition 0."""
        producer = self.producer()
        self.add(producer, 0)
        self.assertEqual(self.write(producer, b"x"), 0)
        return producer

    def test_abort(self) -> None:
        """A tool ends a transaction that hangs, in both versions; what follows is shown."""
        for version in (1, 2):
            producer = self.begin()
            stable = self.fetched()[1]
            self.assertEqual(self.mark(producer, False, 0, version=version), [0])
            self.assertGreater(self.fetched()[1], stable)

    def test_unknown(self) -> None:
        """Partitions that do not exist are UNKNOWN_TOPIC_OR_PARTITION; the others are written."""
        producer = self.begin()
        self.assertEqual(self.mark(producer, True, 0, 9), [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
        self.assertEqual(self.fetched()[1], 2)

    def test_old(self) -> None:
        """A marker of an older epoch of the producer or of the coordinator is refused."""
        producer = self.begin()
        self.assertEqual(self.mark((producer[0], producer[1] + 1), False, 0, coordinator_epoch=3), [0])
        self.assertEqual(
            self.mark(producer, True, 0, coordinator_epoch=3), [ErrorCode.INVALID_PRODUCER_EPOCH]
        )
        fenced = self.mark((producer[0], producer[1] + 1), False, 0, coordinator_epoch=2)
        self.assertEqual(fenced, [ErrorCode.TRANSACTION_COORDINATOR_FENCED])

    def test_raised_epoch(self) -> None:
        """A marker of version 2 must have a raised epoch while the transaction is open."""
        producer = self.begin()
        equal = self.mark(producer, True, 0, version=2, transaction_version=2)
        self.assertEqual(equal, [ErrorCode.INVALID_PRODUCER_EPOCH])
        raised = producer[0], producer[1] + 1
        for _ in range(2):  # a repeated marker is written again
            self.assertEqual(self.mark(raised, True, 0, version=2, transaction_version=2), [0])

    def test_offsets(self) -> None:
        """A marker in a partition of ``__consumer_offsets`` commits the offsets of the transaction."""
        producer = self.producer()
        self.add_offsets(producer)
        self.assertEqual(self.commit_offset(producer, 5), 0)
        number = self.offsets_partition().partition
        self.assertEqual(self.mark(producer, True, number, topic=CONSUMER_OFFSETS), [0])
        self.assertEqual(self.offset(), (5, 0))

    def test_offsets_loading(self) -> None:
        """A partition of ``__consumer_offsets`` that is not loaded is not led, for a coordinator."""
        producer = self.producer()
        number = self.offsets_partition().partition
        partition = self.broker.groups.topic.find(number)
        assert partition is not None
        self.broker.groups.runtime.role_changed(partition, False)
        refused = self.mark(producer, True, number, topic=CONSUMER_OFFSETS)
        self.assertEqual(refused, [ErrorCode.NOT_LEADER_OR_FOLLOWER])
        absent = self.mark(producer, True, 77, topic=CONSUMER_OFFSETS)
        self.assertEqual(absent, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
