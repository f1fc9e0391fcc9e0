"""Clients of the simulated cluster: producers, readers, groups that commit offsets, and deletions.

They talk to the brokers over the network, in Kafka's protocol, and find leaders in the metadata of any broker
that runs. Each compares what it is told with the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.protocol import Factory
from twisted.internet.task import Clock, deferLater
from twisted.python.failure import Failure

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.protocol import BrokerProtocol, ConnectionLimits
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.conversion import iter_any
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import Message
from tests.simulation.replication.machine import PORT
from tests.simulation.replication.truth import PartitionTruth, committed_check
from tests.simulation.transactions import Violation

if TYPE_CHECKING:
    from tests.simulation.replication.world import World

HOST = "c"
REQUEST_S = 4.0
KEPT = "t0"
"""The topic that is never deleted: groups commit offsets of it."""
ALL, LEADER = -1, 1
NOT_ENOUGH_REPLICAS, OUT_OF_RANGE, OUT_OF_ORDER, UNKNOWN_PRODUCER = 19, 1, 45, 59


class Clients:
    """All clients, which are one process that never fails.

    :ivar ending: clients end when they have the outcome of what they do.
    :ivar running: the names of the clients that have not ended.
    :ivar last: all that were begun.
    """

    machine = HOST
    alive = True

    def __init__(self, world: World) -> None:
        self.world = world
        self.clock = Clock()
        self.arrivals = Clock()
        self.ending = False
        self.running: dict[str, None] = {}
        self.last: list[Reader | Producer | Group] = []
        self._connections: dict[int, BrokerProtocol] = {}

    def begin(self, producers: int, readers: int, groups: int) -> None:
        """Start clients."""
        for number in range(producers):
            self._begin(Producer(self, number))
        for number in range(readers):
            self._begin(Reader(self, number))
        for number in range(groups):
            self._begin(Group(self, number))

    def _begin(self, client: Reader | Producer | Group) -> None:
        self.last.append(client)
        self.run(client.name, client.run())

    def run(self, name: str, coroutine: Any) -> None:
        """Run a client to its end; a failure is a violation."""

        def ended(result: object) -> None:
            self.running.pop(name, None)
            if isinstance(result, Failure) and not self.world.over:
                self.world.failed(result)

        self.running[name] = None
        Deferred.fromCoroutine(coroutine).addBoth(ended)

    # --- for the clients

    def pause(self, seconds: float) -> Deferred[None]:
        """Wait."""
        return deferLater(self.clock, seconds)

    async def ask(self, broker_id: int, version: int, message: Message) -> Any:
        """Ask a broker; return the response.

        :raises KafkaTXError: there was none.
        """
        connection = self._connections.get(broker_id)
        if connection is None or connection.error is not None:
            connection = self._connections[broker_id] = await self._connect(broker_id)
        return await connection.request(message, version=version)

    async def _connect(self, broker_id: int) -> BrokerProtocol:
        host = f"b{broker_id}"
        clock: Any = self.clock

        def make() -> BrokerProtocol:
            return BrokerProtocol(clock, host, HOST, ConnectionLimits(request_s=REQUEST_S))

        factory: Any = Factory.forProtocol(make)
        factory.noisy = False
        connecting: Deferred[Any] = self.world.network.endpoint(self, host, PORT).connect(factory)
        connecting.addTimeout(1.0, clock)
        try:
            made: BrokerProtocol = await connecting
        except (CancelledError, Exception) as error:
            raise ConnectionFailed(f"no answer from {host}") from error
        return made

    def leader(self, partition: TopicPartition, epoch: int = -1) -> tuple[int, int] | None:
        """Return the leader of a partition and its epoch, by the state of any broker that runs.

        :param epoch: None is returned for an earlier epoch, and where there is no leader.
        """
        able = [machine.life for machine in self.world.machines.values() if machine.life.ready]
        if not able:
            return None
        topic = self.world.random.choice(able).store.state.topics.get(partition.topic)
        if topic is None or len(topic.partitions) <= partition.partition:
            return None
        state = topic.partitions[partition.partition]
        return (
            (state.leader, state.leader_epoch) if min(state.leader, state.leader_epoch - epoch) >= 0 else None
        )

    def partition(self) -> PartitionTruth | None:
        """Return a partition by chance."""
        found = [each for name, each in self.world.truth.partitions.items() if name.topic[0] == "t"]
        return self.world.random.choice(found) if found else None


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
        request = ProduceRequest(None, acks, 1500, [TopicProduceData(truth.name.topic, [data])])
        try:
            response = await self._clients.ask(leader[0], 9, request)
        except KafkaTXError:
            return -1, -1
        (answer,) = response.responses[0].partition_responses
        return answer.error_code, answer.base_offset


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


class Group:
    """Commits growing offsets of a group, and fetches them: what it is told never goes back.

    :ivar acknowledged: the last offset that was acknowledged.
    """

    def __init__(self, clients: Clients, number: int) -> None:
        self.name = f"g{number}"
        self._clients = clients
        self._random = clients.world.random
        self._coordinator: int | None = None
        self._next = 1
        self.acknowledged = -1
        self._seen = -1
        self._losses = 0

    def _total_losses(self) -> int:
        partitions = self._clients.world.truth.partitions.items()
        return sum(each.losses for name, each in partitions if name.topic[0] == "_")

    async def run(self) -> None:
        """Commit and fetch until the end."""
        clients, random = self._clients, self._random
        while not clients.ending:
            await clients.pause(random.choice((0.02, 0.2, 0.5)))
            await (self.commit() if random.random() < 0.6 else self.fetch())

    async def _find(self) -> int | None:
        able = [machine.broker_id for machine in self._clients.world.machines.values() if machine.life.ready]
        if self._coordinator is None and able:
            request = FindCoordinatorRequest(self.name, 0)
            response = await self._clients.ask(self._random.choice(able), 3, request)
            if not response.error_code:
                self._coordinator = response.node_id
        return self._coordinator

    async def commit(self) -> None:
        """Commit the next offset."""
        losses = self._total_losses()
        offset = self._next
        try:
            coordinator = await self._find()
            if coordinator is None:
                return
            self._next += 1
            partition = OffsetCommitRequestPartition(0, offset, -1, committed_metadata="")
            topic = OffsetCommitRequestTopic(KEPT, [partition])
            response = await self._clients.ask(coordinator, 8, OffsetCommitRequest(self.name, topics=[topic]))
        except KafkaTXError:
            self._coordinator = None
            return
        error = response.topics[0].partitions[0].error_code
        if error:
            self._coordinator = None
        elif self._total_losses() == losses:
            self.acknowledged = offset

    async def fetch(self) -> None:
        """Fetch the committed offset, and compare it."""
        losses, acknowledged, seen = self._total_losses(), self.acknowledged, self._seen
        try:
            coordinator = await self._find()
            if coordinator is None:
                return
            request = OffsetFetchRequest(self.name, [OffsetFetchRequestTopic(KEPT, [0])])
            response = await self._clients.ask(coordinator, 7, request)
        except KafkaTXError:
            self._coordinator = None
            return
        answer = response.topics[0].partitions[0] if response.topics else None
        if response.error_code or answer is None or answer.error_code:
            self._coordinator = None
            return
        if self._total_losses() != self._losses:
            self._losses = self._total_losses()
            self.acknowledged = self._seen = -1
        elif losses == self._losses:
            if answer.committed_offset < max(acknowledged, seen):
                raise Violation(
                    f"{self.name} fetches the offset {answer.committed_offset}; {acknowledged} was"
                    f" acknowledged, and {seen} fetched before"
                )
            self._seen = answer.committed_offset


async def delete_records(clients: Clients, truth: PartitionTruth, offset: int) -> None:
    """Delete the records of a partition below an offset; note it when that is acknowledged."""
    leader = clients.leader(truth.name)
    if leader is None:
        return
    losses = truth.losses
    topic = DeleteRecordsTopic(truth.name.topic, [DeleteRecordsPartition(truth.name.partition, offset)])
    try:
        response = await clients.ask(leader[0], 2, DeleteRecordsRequest([topic], 2000))
    except KafkaTXError:
        return
    answer = response.topics[0].partitions[0]
    if not answer.error_code and truth.losses == losses:
        truth.deleted_to = max(truth.deleted_to, answer.low_watermark)
