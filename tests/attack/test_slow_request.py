"""Connections that announce large requests and hardly send them: memory that others wait for."""

from __future__ import annotations

import struct
import threading
import time
from typing import ClassVar

from kafkatx.records.builder import build_values
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.attack.case import FULL, AttackCase
from tests.measured import check_below

MIB = 1 << 20
MANY = 300 if FULL else 30
LARGE_BYTES = 900_000
ANSWERED_S = 10.0


class SlowRequestTests(AttackCase):
    settings: ClassVar[dict[str, str]] = {"queued.max.request.bytes": str(64 * MIB if FULL else 4 * MIB)}

    def setUp(self) -> None:
        """Start a broker with a topic."""
        super().setUp()
        self.honest = self.connect()
        self.honest.ask(19, 4, CreateTopicsRequest([CreatableTopic("large", 1, 1)]))
        self.limit = int(self.settings["queued.max.request.bytes"])

    def produce_large(self) -> float:
        """Produce one large batch; return how many seconds its answer took."""
        batch = build_values([b"x" * LARGE_BYTES], int(time.time() * 1000))
        request = ProduceRequest(
            None, -1, 30_000, [TopicProduceData("large", [PartitionProduceData(0, batch)])]
        )
        started_s = time.perf_counter()
        response = self.honest.ask(0, 9, request)
        self.assertEqual(response.responses[0].partition_responses[0].error_code, 0)
        return time.perf_counter() - started_s

    def test_one_slow_request(self) -> None:
        """One connection that announces 100 MiB, sends more than the pool has and then trickles."""
        with self.beside():
            slow = self.connect()
            slow.send(struct.pack(">i", 100 * MIB) + bytes(self.limit + 4 * MIB))
            for _ in range(3):
                check_below(self, self.produce_large(), ANSWERED_S, "seconds of a large request")
                slow.send(b"x")

    def test_many_slow_requests(self) -> None:
        """Many connections that together hold the pool: a large request is answered in bounded time."""
        share = self.limit // MANY + 1000
        ended = threading.Event()
        with self.beside():
            slow = [self.connect() for _ in range(MANY)]
            for client in slow:
                client.send(struct.pack(">i", 50 * MIB) + bytes(share))

            def trickle() -> None:
                while not ended.wait(1.0):
                    for client in slow:
                        client.send(b"x")

            trickling = threading.Thread(target=trickle, daemon=True)
            trickling.start()
            try:
                for _ in range(3):
                    check_below(self, self.produce_large(), ANSWERED_S, "seconds of a large request")
            finally:
                ended.set()
                trickling.join()
