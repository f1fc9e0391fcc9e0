"""The simulated cluster of this simulation: its clients, its tree, and what is checked in the end."""

from __future__ import annotations

from copy import deepcopy

from kafkatx.errors import KafkaTXError
from kafkatx.metadata.tree.nodes import Node
from kafkatx.records.builder import BatchBuilder
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.simulation.replication.machine import Life, Machine
from tests.simulation.replication.plan import Plan, TopicPlan
from tests.simulation.replication.world import World
from tests.simulation.transactions import Violation

BROKERS = (1, 2, 3)
TOPICS = {name: TopicPlan(name, 2, 3, {"min.insync.replicas": "2"}) for name in ("t0", "t1")}
DIRECTED = 3
"""Each run of so many is directed."""
OUT_OF_ORDER = 45
PARTITIONS = [TopicPartition(name, number) for name in TOPICS for number in range(2)]


class RestoredWorld(World):
    """A cluster whose tree can be put back to an earlier copy.

    :ivar acknowledged: the value at each offset that a producer was told.
    :ivar lagging: in a directed run, the broker that leads nothing when the tree is copied, dies after that,
        and starts first in the end; no leader changes.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.acknowledged: dict[tuple[TopicPartition, int], bytes] = {}
        self._copy: dict[str, Node] = {}
        self._ids = 0
        self.lagging: Machine | None = None
        if seed % DIRECTED == 0:
            self.lagging = self.machines[self.random.choice(BROKERS)]

    def make_plan(self, seed: int) -> Plan:
        """Return the same topics for each seed: what happens to them is left to chance."""
        return Plan(BROKERS, {"controlled.shutdown.retry.backoff.ms": "100"}, TOPICS)

    def check(self, touched: list[Life]) -> None:
        """Raise the first violation. What brokers believe is not compared: the truth itself goes back."""
        if self._violation is not None:
            raise self._violation

    def copy_tree(self) -> None:
        """Copy the tree, as a backup does."""
        self.tell("the tree is copied")
        self._copy = {path: deepcopy(node) for path, node in self.server.nodes.items() if not node.owner}
        for path, node in self._copy.items():
            prefix = path.rstrip("/") + "/"
            node.children = {one for one in node.children if prefix + one in self._copy}

    def put_back(self) -> None:
        """Put the copy back; no broker runs."""
        self.tell("the copy of the tree is put back")
        self.server.nodes.clear()
        self.server.nodes.update(deepcopy(self._copy))
        self.server.zxid = max(node.mzxid for node in self._copy.values())
        self.truth.follow = lambda transaction: None  # type: ignore[method-assign]

    # --- clients

    def produce(self, count: int, seconds: float) -> None:
        """Start some new idempotent producers, which write for a while."""
        end_s = self.now_s + seconds
        for _ in range(count):
            self._ids += 1
            self.clients.run(f"writer {self._ids}", self._write(self._ids, end_s))

    async def _write(self, number: int, end_s: float) -> None:
        partition = self.random.choice(PARTITIONS)
        producer_id = await self._producer_id(end_s)
        sequence = 0
        while producer_id is not None and self.now_s < end_s:
            value = f"{number}.{sequence}".encode()
            offset = await self._send(partition, producer_id, sequence, value)
            if offset >= 0:
                known = self.acknowledged.setdefault((partition, offset), value)
                if known != value:
                    raise Violation(
                        f"{value!r} is acknowledged at offset {offset} of {partition}, which has {known!r}"
                    )
                sequence += 1
            await self.clients.pause(self.random.choice((0.01, 0.05, 0.2)))

    async def _producer_id(self, end_s: float) -> int | None:
        while self.now_s < end_s:
            ready = [machine.broker_id for machine in self.machines.values() if machine.life.ready]
            if ready:
                request = InitProducerIdRequest(None, 1000)
                try:
                    response = await self.clients.ask(self.random.choice(ready), 4, request)
                except KafkaTXError:
                    pass
                else:
                    if not response.error_code:
                        return int(response.producer_id)
            await self.clients.pause(0.1)
        return None

    async def _send(self, partition: TopicPartition, producer_id: int, sequence: int, value: bytes) -> int:
        """Send a record; return its offset; -1 if that is not known."""
        leader = self.clients.leader(partition)
        if leader is None:
            return -1
        builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        builder.append(None, value, self.now_ms())
        data = PartitionProduceData(partition.partition, builder.build())
        request = ProduceRequest(None, -1, 1500, [TopicProduceData(partition.topic, [data])])
        try:
            response = await self.clients.ask(leader[0], 9, request)
        except KafkaTXError:
            return -1
        (answer,) = response.responses[0].partition_responses
        if answer.error_code == OUT_OF_ORDER:
            raise Violation(f"{value!r} of producer {producer_id} is refused in {partition}: out of order")
        return -1 if answer.error_code else int(answer.base_offset)

    # --- the end

    def check_rest(self) -> None:
        """Check that all partitions are led, all replicas in sync, and all acknowledged records in them.

        :raises Violation: something is not as it should be.
        """
        for partition in PARTITIONS:
            state = self.machines[1].life.store.state.topics[partition.topic].partitions[partition.partition]
            if state.leader < 0 or sorted(state.isr) != list(BROKERS):
                raise Violation(f"{partition} is at rest with {state}")
        for (partition, offset), value in self.acknowledged.items():
            for machine in self.machines.values():
                found = machine.disk.logs[partition].records.get(offset)
                if found is None or found.value != value:
                    raise Violation(
                        f"{machine.name} has {found} at offset {offset} of {partition}, where {value!r} was"
                        " acknowledged"
                    )
