"""Producers of the simulated cluster: each value is unique."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkatx.errors import KafkaTXError
from kafkatx.records.builder import BatchBuilder
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.simulation.replication.truth import PartitionTruth, committed_check
from tests.simulation.transactions import Violation

if TYPE_CHECKING:
    from tests.simulation.replication.clients.clients import Clients

ALL, LEADER = -1, 1
NOT_ENOUGH_REPLICAS, OUT_OF_ORDER, UNKNOWN_PRODUCER = 19, 45, 59


class Producer:
    """Produces unique values.

    One with an even number is idempotent: it sends a batch again until it knows that it is there.
    """

    def __init__(self, clients: Clients, number: int) -> None:
        self.name = f"producer {number}"
        self._clients = clients
        self._random = clients.world.random
        self._number = number
        self._idempotent = number % 2 == 0
        self._sequences: dict[PartitionTruth, int] = {}
        self._ids: dict[PartitionTruth, int] = {}
        self._losses: dict[PartitionTruth, int] = {}
        self._offsets: dict[PartitionTruth, int] = {}
        self._epochs: dict[PartitionTruth, int] = {}
        self._values = 0
        self.acknowledged = 0

    async def run(self) -> None:
        """Produce until the end."""
        clients, random = self._clients, self._random
        while not clients.ending:
            await clients.pause(random.choice((0.0, 0.02, 0.1, 0.4)))
            truth = clients.partition()
            if truth is not None:
                acks = ALL if self._idempotent or random.random() < 0.7 else LEADER
                await self._produce(truth, acks)

    async def _produce(self, truth: PartitionTruth, acks: int) -> None:
        values = []
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            self._values += 1
            values.append(f"{'i' if self._idempotent else 'p'}{self._number}.{self._values}".encode())
        losses = truth.losses
        if self._losses.get(truth, 0) != losses:
            self._losses[truth] = losses
            self._ids.pop(truth, None)  # the producer's state may be lost with records
        while self._exists(truth):
            if truth.losses != losses and self._idempotent:
                return
            error, base_offset = await self._send(truth, values, acks)
            if error == 0:
                if acks == ALL and truth.losses == losses and self._exists(truth) and not truth.remade:
                    self.acknowledged += 1
                    self._offsets[truth] = base_offset
                    for number, value in enumerate(values):
                        what = f"{self.name} was told that it has appended"
                        committed_check(truth, base_offset + number, value, what)
                if self._idempotent:
                    self._sequences[truth] = self._sequences.get(truth, 0) + len(values)
                return
            if truth.remade and error in (OUT_OF_ORDER, UNKNOWN_PRODUCER):
                self._ids.pop(truth, None)
                return
            if error == NOT_ENOUGH_REPLICAS and not truth.remade:
                self._check_refused(truth, values, losses)
            if error in (OUT_OF_ORDER, UNKNOWN_PRODUCER) and truth.losses == losses and self._exists(truth):
                if self._offsets.get(truth, 0) < truth.start:
                    self._ids.pop(truth, None)  # the brokers know the producer from records that are deleted
                    return
                raise Violation(f"{self.name} is told {error} for {values} in {truth.name}")
            if not self._idempotent or self._clients.ending:
                return
            await self._clients.pause(self._random.choice((0.02, 0.2)))

    def _exists(self, truth: PartitionTruth) -> bool:
        return self._clients.world.truth.partitions.get(truth.name) is truth

    def _check_refused(self, truth: PartitionTruth, values: list[bytes], losses: int) -> None:
        if not self._idempotent and truth.losses == losses and values[0] in truth.values:
            raise Violation(f"{self.name} was told that {values[0]!r} was not appended to {truth.name}")

    async def _send(self, truth: PartitionTruth, values: list[bytes], acks: int) -> tuple[int, int]:
        """Send a batch; return the error and the base offset; -1 if there is no answer."""
        leader = self._clients.leader(truth.name, self._epochs.get(truth, -1))
        if leader is None:
            return -1, -1
        self._epochs[truth] = leader[1]
        if self._idempotent:
            if truth not in self._ids:
                self._clients.world.producer_ids += 1
                self._ids[truth], self._sequences[truth] = self._clients.world.producer_ids, 0
            builder = BatchBuilder(
                producer_id=self._ids[truth], producer_epoch=0, base_sequence=self._sequences[truth]
            )
        else:
            builder = BatchBuilder()
        for value in values:
            builder.append(None, value, self._clients.world.now_ms())
        data = PartitionProduceData(truth.name.partition, builder.build())
        timeout_ms = self._clients.world.plan.produce_ms
        request = ProduceRequest(None, acks, timeout_ms, [TopicProduceData(truth.name.topic, [data])])
        try:
            response = await self._clients.ask(leader[0], 9, request)
        except KafkaTXError:
            return -1, -1
        (answer,) = response.responses[0].partition_responses
        return answer.error_code, answer.base_offset
