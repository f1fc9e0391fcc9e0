"""The broker's requests for the audit: announcements to the leaders of the audit topic, positions to the
coordinator of a group.

The positions are committed offsets of the group ``kafkatx-audit``: any tool that shows groups shows how far
the audit is in each partition. The metadata of an offset is the topic's id. Leaders are those of the
cluster's state. It touches connections (:mod:`kafkatx.broker.live_brokers`) and creates the audit topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from zlib import crc32

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.audit.auditor import Position, Positions
from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.live_brokers import LiveBrokers, Patience
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.bootstrap import Address
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.networkclient.connection import MakeEndpoint
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

GROUP = "kafkatx-audit"
"""The group whose committed offsets are the positions."""

BATCH_BYTES = 512 << 10
"""Announcements of this size go into one batch."""

REQUEST_S = 30.0
PATIENCE = Patience(request_s=REQUEST_S, connect_s=10.0, backoff=Backoff(first_ms=100, longest_ms=5000))

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
        self._metadata = metadata
        self._topic_commands = topic_commands
        self._offsets = offsets
        self._now_ms = now_ms
        self._brokers = LiveBrokers(broker_id, own_address, metadata, clock, "audit", PATIENCE, make_endpoint)

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
        return self._brokers.close()

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
        reply = await self._brokers.ask(self._brokers.node(leader), request)
        for topic in reply.responses:
            for partition in topic.partition_responses:
                _check(partition.error_code, f"{self._topic}-{number}")

    # --- positions

    async def _load(self, partitions: Sequence[TopicPartition]) -> Positions:
        if not partitions:
            return {}
        topics = [OffsetFetchRequestTopics(name, numbers) for name, numbers in _by_topic(partitions)]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=topics)])
        reply = await self._brokers.ask(await self._coordinator(), request, FETCH_VERSION)
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
        reply = await self._brokers.ask(
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
