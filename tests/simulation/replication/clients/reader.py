"""Readers of the simulated cluster: what they read is committed, and nothing is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkatx.errors import KafkaTXError
from kafkatx.records.conversion import iter_any
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.simulation.replication.truth import PartitionTruth, committed_check
from tests.simulation.transactions import Violation

if TYPE_CHECKING:
    from tests.simulation.replication.clients.clients import Clients

OUT_OF_RANGE = 1


class Reader:
    """Reads partitions from the beginning, one after the other a little; each position only grows.

    :ivar positions: the next offset of each partition.
    """

    def __init__(self, clients: Clients, number: int) -> None:
        self.name = f"reader {number}"
        self._clients = clients
        self._random = clients.world.random
        self.positions: dict[PartitionTruth, int] = {}
        self._epochs: dict[PartitionTruth, int] = {}
        self._losses: dict[PartitionTruth, int] = {}

    async def run(self) -> None:
        """Read until the end."""
        clients, random = self._clients, self._random
        while not clients.ending:
            await clients.pause(random.choice((0.02, 0.1, 0.4)))
            truth = clients.partition()
            if truth is not None:
                await self.read(truth)

    async def read(self, truth: PartitionTruth) -> None:
        """Fetch once from a partition."""
        leader = self._clients.leader(truth.name, self._epochs.get(truth, -1))
        if leader is None:
            return
        self._epochs[truth] = leader[1]
        if self._losses.get(truth, 0) != truth.losses:
            self._losses[truth] = truth.losses
            self.positions[truth] = min(self.positions.get(truth, 0), truth.end)
        losses = truth.losses
        position = self.positions.get(truth, 0)
        wanted = FetchPartition(truth.name.partition, leader[1], position, partition_max_bytes=1 << 16)
        request = FetchRequest(
            max_wait_ms=200, min_bytes=1, topics=[FetchTopic("", truth.topic_id, [wanted])]
        )
        try:
            response = await self._clients.ask(leader[0], 13, request)
        except KafkaTXError:
            return
        if truth.losses != losses or self._clients.world.truth.partitions.get(truth.name) is not truth:
            return
        (answer,) = response.responses[0].partitions
        if answer.error_code == OUT_OF_RANGE:
            start = truth.start
            if position >= start:
                raise Violation(f"{self.name} is told that {truth.name}@{position} is out of range")
            self.positions[truth] = start
        elif not answer.error_code:
            for record in iter_any(memoryview(answer.records or b"")):
                if record.offset < position:
                    continue
                start = truth.start
                if record.offset > position >= start:
                    raise Violation(f"{self.name} skips from {truth.name}@{position} to {record.offset}")
                assert record.value is not None
                committed_check(truth, record.offset, bytes(record.value), f"{self.name} reads")
                position = record.offset + 1
            self.positions[truth] = max(position, self.positions.get(truth, 0))
