"""The broker's requests for the audit: announcements to the leaders of the audit topic, positions to the
coordinator of a group.

The positions are committed offsets of the group ``kafkatx-audit``: any tool that shows groups shows how far
the audit is in each partition. The metadata of an offset is the topic's id. Leaders and addresses are those
of the cluster's state; this broker asks itself over a connection, too. It touches connections
(:mod:`kafkatx.networkclient.connection`) and creates the audit topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.audit.auditor import Position, Positions
from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.bootstrap import Address
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.networkclient.connection import BrokerConnection, MakeEndpoint
from kafkatx.networkclient.protocol import ConnectionLimits
from kafkatx.records.keyed import build_keyed
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import Message

GROUP = "kafkatx-audit"
"""The group whose committed offsets are the positions."""

BATCH_BYTES = 512 << 10
"""Announcements of this size go into one batch."""

REQUEST_S = 30.0
CONNECT_S = 10.0
IDLE_S = 120.0
BACKOFF = Backoff(first_ms=100, longest_ms=5000)

COMMIT_VERSION = 8
FETCH_VERSION = 8


class AuditChannel:
    """Requests of one broker's audit; see :class:`kafkatx.broker.audit.auditor.Channel`.

    :param topic: the audit topic.
    :param own_address: host and port of this broker's own listener.
    """

    def __init__(
        self,
        topic: str,
        broker_id: int,
        own_address: Address,
        metadata: IMetadataStore,
        topic_commands: TopicCommands,
        offsets: InternalTopic,
        clock: IReactorTime,
        now_ms: Callable[[], int],
        make_endpoint: MakeEndpoint | None = None,
    ) -> None:
        self._topic = topic
        self._broker_id = broker_id
        self._own_address = own_address
        self._metadata = metadata
        self._topic_commands = topic_commands
        self._offsets = offsets
        self._clock = clock
        self._now_ms = now_ms
        self._make_endpoint = make_endpoint
        self._connections: dict[Address, BrokerConnection] = {}

    def announce(self, events: Sequence[RangeAnnouncement]) -> Deferred[None]:
        """Write announcements; see the interface."""
        return Deferred.fromCoroutine(self._announce(events))

    def load(self, partitions: Sequence[TopicPartition]) -> Deferred[Positions]:
        """Return committed positions; see the interface."""
        return Deferred.fromCoroutine(self._load(partitions))

    def commit(self, positions: Positions) -> Deferred[None]:
        """Commit positions; see the interface."""
        return Deferred.fromCoroutine(self._commit(positions))

    def close(self) -> Deferred[None]:
        """Close all connections; fires when they are closed."""
        connections, self._connections = list(self._connections.values()), {}
        return gatherResults([one.close() for one in connections]).addCallback(lambda _: None)

    # --- announcements

    async def _announce(self, events: Sequence[RangeAnnouncement]) -> None:
        await self._topic_commands.ensure(self._topic)
        topic = self._metadata.state.topics.get(self._topic)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self._topic} is not known here yet")
        records: dict[int, list[tuple[bytes, bytes]]] = {}
        for event in events:
            key = event.topic.encode()
            records.setdefault(crc32(key) % len(topic.partitions), []).append((key, event.encode()))
        for number, pairs in records.items():
            for piece in _pieces(pairs):
                await self._produce(topic.partitions[number].leader, number, piece)

    async def _produce(self, leader: int, number: int, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        batch = build_keyed(pairs, self._now_ms())
        request = ProduceRequest(
            acks=-1,
            timeout_ms=int(REQUEST_S * 1000),
            topic_data=[TopicProduceData(self._topic, [PartitionProduceData(number, batch)])],
        )
        reply = await self._ask(self._node(leader, f"{self._topic}-{number}"), request)
        for topic in reply.responses:
            for partition in topic.partition_responses:
                _check(partition.error_code, f"{self._topic}-{number}")

    # --- positions

    async def _load(self, partitions: Sequence[TopicPartition]) -> Positions:
        if not partitions:
            return {}
        topics = [OffsetFetchRequestTopics(name, numbers) for name, numbers in _by_topic(partitions)]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=topics)])
        reply = await self._ask(await self._coordinator(), request, FETCH_VERSION)
        found = {}
        for group in reply.groups:
            _check(group.error_code, f"the offsets of {GROUP}")
            for topic in group.topics:
                for one in topic.partitions:
                    _check(one.error_code, f"the offsets of {GROUP}")
                    if one.committed_offset >= 0:
                        at = TopicPartition(topic.name, one.partition_index)
                        found[at] = Position(
                            one.committed_offset, one.committed_leader_epoch, one.metadata or ""
                        )
        return found

    async def _commit(self, positions: Positions) -> None:
        if not positions:
            return
        topics = [
            OffsetCommitRequestTopic(
                name,
                [
                    OffsetCommitRequestPartition(
                        number,
                        positions[TopicPartition(name, number)].offset,
                        positions[TopicPartition(name, number)].leader_epoch,
                        committed_metadata=positions[TopicPartition(name, number)].topic_id,
                    )
                    for number in numbers
                ],
            )
            for name, numbers in _by_topic(positions)
        ]
        reply = await self._ask(
            await self._coordinator(), OffsetCommitRequest(GROUP, topics=topics), COMMIT_VERSION
        )
        for topic in reply.topics:
            for one in topic.partitions:
                if one.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # it was deleted meanwhile
                    _check(one.error_code, f"the offsets of {GROUP}")

    async def _coordinator(self) -> BrokerNode:
        if not self._offsets.exists:
            await self._offsets.ensure()
        return self._offsets.leader_of(GROUP)

    # --- connections

    def _node(self, broker_id: int, what: str) -> BrokerNode:
        node: BrokerNode | None = self._metadata.state.brokers.get(broker_id)
        if node is None:
            raise RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"{what} has no leader now")
        return node

    async def _ask(self, node: BrokerNode, request: Message, version: int | None = None) -> Any:
        address = self._address(node)
        brokers = self._metadata.state.brokers.values()
        for gone in self._connections.keys() - {address, *map(self._address, brokers)}:
            self._connections.pop(gone).close()
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = BrokerConnection(
                self._clock,
                address,
                client_id=f"broker-{self._broker_id}-audit",
                limits=ConnectionLimits(request_s=REQUEST_S, idle_s=IDLE_S),
                connect_s=CONNECT_S,
                backoff=BACKOFF,
                make_endpoint=self._make_endpoint,
            )
        return await connection.request(request, version=version)

    def _address(self, node: BrokerNode) -> Address:
        if node.id == self._broker_id:
            return self._own_address
        return node.internal or (node.host, node.port)


def _check(error_code: int, what: str) -> None:
    if error_code:
        raise RequestError(ErrorCode.of(error_code), what)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    numbers: dict[str, list[int]] = {}
    for name, number in partitions:
        numbers.setdefault(name, []).append(number)
    return list(numbers.items())


def _pieces(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[list[tuple[bytes, bytes]]]:
    """Split records into batches of about :data:`BATCH_BYTES`."""
    piece: list[tuple[bytes, bytes]] = []
    size = 0
    for pair in pairs:
        if piece and size + len(pair[1]) > BATCH_BYTES:
            yield piece
            piece, size = [], 0
        piece.append(pair)
        size += len(pair[1])
    if piece:
        yield piece
