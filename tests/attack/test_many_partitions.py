"""Requests for very many partitions at once: others are served while they are worked on."""

from __future__ import annotations

import time

from kafkatx.records.builder import build_values
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import TIMEOUT_S

TOPICS = 10
PARTITIONS = 1000 if FULL else 50
"""Of each topic."""

ROUNDS = 3


class ManyPartitionsTests(AttackCase):
    def test_produce(self) -> None:
        """A produce request for thousands of partitions does not make others wait."""
        client = self.connect()
        client._socket.settimeout(3 * TIMEOUT_S)
        names = [f"wide-{number}" for number in range(TOPICS)]
        for name in names:
            client.ask(19, 4, CreateTopicsRequest([CreatableTopic(name, PARTITIONS, 1)]))
        batch = build_values([b"v" * 100], int(time.time() * 1000))
        data = [PartitionProduceData(number, batch) for number in range(PARTITIONS)]
        request = ProduceRequest(None, -1, 30_000, [TopicProduceData(name, data) for name in names])
        with self.beside():
            for offset in range(ROUNDS):
                response = client.ask(0, 9, request)
                self.assertEqual([topic.name for topic in response.responses], names)
                for topic in response.responses:
                    self.assertEqual(
                        [(r.index, r.error_code, r.base_offset) for r in topic.partition_responses],
                        [(number, 0, offset) for number in range(PARTITIONS)],
                    )
        self.broker.kill()  # to flush so many logs takes longer than the test waits
