"""A cluster for a producer's parts, without connections: the test answers each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkatx.clientcore.leader_hints import LeaderHints
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.clientcore.producer.accumulator import AccumulatorLimits, RecordAccumulator
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, ProducerIdAndEpoch
from kafkatx.records.batch import iter_records
from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
from kafkatx.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

LIMITS = AccumulatorLimits(batch_bytes=200, max_bytes=1000, linger_s=1.0, buffer_bytes=5000, delivery_s=30.0)


class Sent:
    """A produce request that the test answers."""

    def __init__(self, node_id: int, request: ProduceRequest, version: int, expect_reply: bool) -> None:
        self.node_id = node_id
        self.request = request
        self.version = version
        self.expect_reply = expect_reply
        self.cancelled = False
        self.reply: Deferred[Any] = Deferred(self._cancel)

    def _cancel(self, _: object) -> None:
        self.cancelled = True

    @property
    def partitions(self) -> list[int]:
        """Return the partitions in it."""
        return [part.index for topic in self.request.topic_data for part in topic.partition_data]

    @property
    def values(self) -> list[bytes | None]:
        """Return the values in it."""
        found: list[bytes | None] = []
        for topic in self.request.topic_data:
            for part in topic.partition_data:
                records: Any = part.records
                found += [record.value for record in iter_records(memoryview(records))]
        return found

    def answer(
        self,
        code: int = 0,
        base_offset: int = 10,
        throttle_time_ms: int = 0,
        leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        """Answer all partitions alike; *leader* is named as the new one."""
        topics = [
            TopicProduceResponse(
                topic.name,
                [
                    PartitionProduceResponse(
                        part.index, error_code=code, base_offset=base_offset, current_leader=leader
                    )
                    for part in topic.partition_data
                ],
            )
            for topic in self.request.topic_data
        ]
        endpoints = [] if leader is None else [NodeEndpoint(leader.leader_id, "new", 9092)]
        self.reply.callback(
            ProduceResponse(topics, throttle_time_ms=throttle_time_ms, node_endpoints=endpoints)
        )


class FakeCluster:
    """The part of a cluster that a producer uses; topic t has three partitions at node 1.

    :ivar leaders: node ids by partition.
    :ivar sent: all produce requests so far.
    :ivar lookups: the Deferreds of topics that were looked up.
    """

    api_timeout_s = 60.0

    def __init__(self) -> None:
        self.reactor = Clock()
        self.reactor.advance(1000)
        self.leaders = {0: 1, 1: 1, 2: 1}
        self.sent: list[Sent] = []
        self.versions: list[Deferred[int]] = []
        self.refreshes: list[Deferred[None]] = []
        self.stale_calls = 0
        self.lookups: dict[str, Deferred[TopicMetadata]] = {}
        self.known_version: int | None = 9
        self.listener: Callable[[ClusterMetadata, ClusterMetadata], None] | None = None

    def leader(self, topic: str, partition: int) -> int:
        """Return the leader of a partition."""
        return self.leaders[partition]

    def request(
        self, node_id: int, request: ProduceRequest, *, version: int, expect_reply: bool
    ) -> Deferred[Any]:
        """Record a request."""
        self.sent.append(Sent(node_id, request, version, expect_reply))
        return self.sent[-1].reply

    def version_for(self, node_id: int, request_type: type[Any], at_most: int | None = None) -> Deferred[int]:
        """Return the known version, or a Deferred that the test fires."""
        waiting: Deferred[int] = Deferred()
        self.versions.append(waiting)
        if self.known_version is not None:
            waiting.callback(self.known_version)
        return waiting

    def take_leaders(self, hints: LeaderHints) -> None:
        """Take over the leaders, whatever their epochs."""
        self.leaders.update({place.partition: leader for place, (leader, _) in hints.leaders.items()})

    def stale(self) -> None:
        """Count the calls."""
        self.stale_calls += 1

    def refreshed(self) -> Deferred[None]:
        """Return a Deferred that the test fires."""
        self.refreshes.append(Deferred())
        return self.refreshes[-1]

    async def topic(self, name: str) -> TopicMetadata:
        """Return the topic when the test answers."""
        self.lookups[name] = Deferred()
        return await self.lookups[name]

    def on_metadata(self, listener: Callable[[ClusterMetadata, ClusterMetadata], None]) -> Callable[[], None]:
        """Keep the listener."""
        self.listener = listener
        return lambda: None

    async def retrying(self, attempt: Callable[[], Awaitable[Any]]) -> Any:
        """Try once."""
        return await attempt()

    def learn(self, name: str, partitions: int) -> None:
        """Answer a lookup."""
        self.lookups[name].callback(topic_metadata(name, partitions))


def topic_metadata(name: str, partitions: int) -> TopicMetadata:
    """Return a topic with partitions at node 1."""
    return TopicMetadata(name, {number: PartitionMetadata(number, 1) for number in range(partitions)})


def accumulator(
    limits: AccumulatorLimits = LIMITS, id_and_epoch: ProducerIdAndEpoch = NOT_IDEMPOTENT
) -> RecordAccumulator:
    """Return an accumulator that may send."""
    return RecordAccumulator(limits, id_and_epoch=id_and_epoch)
