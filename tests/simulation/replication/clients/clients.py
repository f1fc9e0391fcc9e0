"""All clients of the simulated cluster, and the connections over which they ask.

They talk to the brokers over the network, in Kafka's protocol, and find leaders in the metadata of any broker
that runs. :mod:`.producer`, :mod:`.reader` and :mod:`.group` are the clients.
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
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.schema import Message
from tests.simulation.replication.clients.group import Group
from tests.simulation.replication.clients.producer import Producer
from tests.simulation.replication.clients.reader import Reader
from tests.simulation.replication.machine import PORT
from tests.simulation.replication.truth import PartitionTruth

if TYPE_CHECKING:
    from tests.simulation.replication.world import World

HOST = "c"
REQUEST_S = 4.0


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
