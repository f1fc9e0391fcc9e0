"""Producers of partitions."""

from __future__ import annotations

from kafkatx.records.builder import build_values
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from tests.broker.console.case import ConsoleCase


class ProducersTests(ConsoleCase):
    def setUp(self) -> None:
        """Make a topic."""
        super().setUp()
        self.make_topic("b", 2)

    def test_producers(self) -> None:
        """The producers of a topic are those that have written to it."""
        producer = self.ask(22, 4, InitProducerIdRequest(None, 60_000))
        self.assertEqual(self.get("/topics/b/producers"), {"total": 0, "items": []})
        records = build_values(
            (b"a",), self.now_ms, producer_id=producer.producer_id, producer_epoch=0, base_sequence=0
        )
        self.produce(records, topic="b")
        (found,) = self.get("/topics/b/producers")["items"]
        self.assertEqual((found["partition"], found["producerId"]), (0, str(producer.producer_id)))
        self.assertEqual((found["lastSequence"], found["transactionStartOffset"]), (0, None))
