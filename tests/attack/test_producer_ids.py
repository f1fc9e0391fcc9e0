"""More idempotent producers than anyone has, and segments that end at every batch."""

from __future__ import annotations

import time
from typing import ClassVar

from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import request_frame

IDS = 300_000 if FULL else 3000
AT_ONCE = 100
ROLLS = 20 if FULL else 3


class ProducerIdTests(AttackCase):
    settings: ClassVar = {"kafkatx.producer.ids.max": "100000" if FULL else "1000"}

    def produce(self, producer_id: int, size: int = 1) -> bytes:
        """The frame of a produce request of a producer of its own."""
        batch = build_values([bytes(size)], int(time.time() * 1000), Codec.NONE, producer_id, 0, 0)
        data = [TopicProduceData("ids", [PartitionProduceData(0, batch)])]
        return request_frame(0, 9, ProduceRequest(None, -1, 30_000, data))

    def test_rolls(self) -> None:
        """Segments end while as many producers are known as the broker remembers."""
        client = self.connect()
        configs = [CreatableTopicConfig("segment.bytes", "2000000")]
        client.ask(19, 4, CreateTopicsRequest([CreatableTopic("ids", 1, 1, configs=configs)]))
        with self.beside():
            for start in range(0, IDS, AT_ONCE):
                client.send(b"".join(self.produce(start + n) for n in range(AT_ONCE)))
                for _ in range(AT_ONCE):
                    client.receive()
            for number in range(ROLLS * 2):
                client.send(self.produce(IDS + number, 1_000_000))
                client.receive()
