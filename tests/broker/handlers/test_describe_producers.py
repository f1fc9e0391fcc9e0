"""DescribeProducers: the idempotent producers of a partition."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.testing.contracts.log.transactions import in_transaction
from kafkatx.types import Marker
from kafkatx.wire.messages.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    ProducerState,
    TopicRequest,
)
from tests.broker.running import NOW_MS, BrokerTestCase


class DescribeProducersTests(BrokerTestCase):
    def describe(self, *numbers: int, topic: str = "t") -> list[PartitionResponse]:
        """Return the partitions' parts of the response."""
        (response,) = self.ask(61, 0, DescribeProducersRequest([TopicRequest(topic, list(numbers))])).topics
        self.assertEqual(response.name, topic)
        partitions: list[PartitionResponse] = response.partitions
        return partitions

    def test_producers(self) -> None:
        """Each producer has its epoch, last sequence and time, and no transaction."""
        self.make_topic("t", 2)
        for producer_id, epoch, first, count in ((7, 0, 0, 3), (7, 0, 3, 2), (9, 4, 0, 1)):
            self.now_ms += 1
            records = build_values(
                [b"v"] * count, NOW_MS, producer_id=producer_id, producer_epoch=epoch, base_sequence=first
            )
            self.assertEqual(self.produce(records).error_code, 0)
        self.fill(b"of nobody")
        written, empty = self.describe(0, 1)
        self.assertEqual((written.error_code, written.error_message), (0, None))
        self.assertEqual(
            written.active_producers,
            [ProducerState(7, 0, 4, NOW_MS + 2, -1, -1), ProducerState(9, 4, 0, NOW_MS + 3, -1, -1)],
        )
        self.assertEqual((empty.error_code, empty.active_producers), (0, []))

    def test_transactions(self) -> None:
        """A producer has the first offset of its open transaction, and the epoch of the last coordinator."""
        (partition,) = self.make_topic()
        self.fill(b"of nobody")
        log = partition.log
        for producer_id in (7, 8):
            log.append(in_transaction(2, producer_id), 0, NOW_MS, True, None, True)
        log.append_marker(8, 1, Marker(False, 5), 0, NOW_MS, True)
        log.write()
        (described,) = self.describe(0)
        self.assertEqual(
            described.active_producers,
            [ProducerState(7, 0, 1, NOW_MS, -1, 1), ProducerState(8, 1, -1, NOW_MS, 5, -1)],
        )

    def test_unknown(self) -> None:
        """Unknown partitions each have their own error."""
        self.make_topic()
        codes = [part.error_code for part in self.describe(0, 1, -1)]
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.assertEqual(codes, [0, unknown, unknown])
        self.assertEqual(self.describe(0, topic="u")[0].error_code, unknown)

    def test_offline(self) -> None:
        """A partition whose log dir has failed is an error; the others are described."""
        bad, _good = self.make_topic("t", 2)
        bad.go_offline()
        codes = [part.error_code for part in self.describe(0, 1)]
        self.assertEqual(codes, [ErrorCode.KAFKA_STORAGE_ERROR, 0])

    def test_described_once(self) -> None:
        """A partition that is named repeatedly is described once, so that the reply stays small."""
        self.make_topic()
        asked = [TopicRequest("t", [0] * 100)] * 100
        (topic,) = self.ask(61, 0, DescribeProducersRequest(asked)).topics
        self.assertEqual(len(topic.partitions), 1)
