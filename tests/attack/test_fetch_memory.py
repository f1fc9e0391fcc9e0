"""Consumers that ask for much and read nothing of it: what their replies cost."""

from __future__ import annotations

import time
from typing import ClassVar

from kafkatx.records.builder import build_values
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import RawClient, request_frame

CONNECTIONS = 500 if FULL else 20
MANY_CONNECTIONS = 100 if FULL else 10
PARTITIONS = 200 if FULL else 50
BATCHES = 60 if FULL else 5
BATCH_BYTES = 1_000_000
SHORT_BYTES = 30_000
SETTLE_S = 4.0 if FULL else 0.2
ALL = 50 << 20


class FetchMemoryTests(AttackCase):
    settings: ClassVar[dict[str, str]] = {"fetch.max.bytes": str(ALL)}

    def setUp(self) -> None:
        """Start a broker with one long partition, and many short ones."""
        super().setUp()
        self.producer = self.connect()
        self.producer.ask(
            19, 4, CreateTopicsRequest([CreatableTopic("long", 1, 1), CreatableTopic("many", PARTITIONS, 1)])
        )
        now_ms = int(time.time() * 1000)
        batch = build_values([b"x" * (BATCH_BYTES // 100)] * 100, now_ms)
        for _ in range(BATCHES):
            self.produce("long", {0: batch})
        self.produce("many", dict.fromkeys(range(PARTITIONS), build_values([b"y" * SHORT_BYTES], now_ms)))

    def produce(self, topic: str, batches: dict[int, bytes]) -> None:
        """Produce a batch to each of some partitions."""
        data = [PartitionProduceData(number, batch) for number, batch in batches.items()]
        self.producer.ask(0, 7, ProduceRequest(None, -1, 30_000, [TopicProduceData(topic, data)]))

    def attack(self, version: int, topic: str, partitions: int, connections: int = CONNECTIONS) -> None:
        """Ask for all of a topic on many connections, and read nothing."""
        asked = [FetchPartition(n, partition_max_bytes=ALL) for n in range(partitions)]
        request = FetchRequest(max_wait_ms=0, max_bytes=ALL, topics=[FetchTopic(topic, partitions=asked)])
        frame = request_frame(1, version, request)
        with self.beside():
            clients: list[RawClient] = []
            for _ in range(connections):
                clients.append(self.connect())
                clients[-1].send(frame)
            time.sleep(SETTLE_S)

    def test_converted(self) -> None:
        """Replies converted for old clients stay within their budget, also if they are not read."""
        self.attack(2, "long", 1)

    def test_unchanged_for_older_clients(self) -> None:
        """Versions that read what is stored get it from the file."""
        self.attack(4, "long", 1)

    def test_from_files(self) -> None:
        """Replies of a newer version that are not read cost no memory."""
        self.attack(11, "long", 1)

    def test_many_short_slices(self) -> None:
        """Nor do replies of many partitions with little in each."""
        self.attack(11, "many", PARTITIONS, MANY_CONNECTIONS)
