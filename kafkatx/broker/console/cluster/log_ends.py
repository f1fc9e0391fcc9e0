"""Begin, end and size of logs: of those of this broker at once, of others' as their leaders tell.

It asks other brokers, as this broker: their answers are for all users, and are kept for some seconds. Who may
see them is decided where they are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.turns import chunks
from kafkatx.broker.peers import Peers
from kafkatx.errors import KafkaTXError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

KEPT_S, FORGOTTEN_S = 3.0, 60.0
"""Seconds for which an answer of another broker is not asked for again, and after which it is forgotten."""

CHUNK = 300
"""Partitions in one request: the answer is decoded within some milliseconds."""

PATIENCE_S = 3.0
"""Seconds to wait for another broker; without its answer its partitions are unknown."""

CONSUMER, COMMITTED = -1, 1
LATEST, EARLIEST = -1, -2


class Ends(NamedTuple):
    """A log: its first offset, its end for readers of all and of committed records, and its size."""

    start: int
    end: int
    stable: int
    size_bytes: int


class _Told(NamedTuple):
    """An answer of another broker.

    :ivar since_s: the time of it.
    :ivar rate: bytes by which the log has grown in a second since the answer before; None for the first one.
    """

    since_s: float
    ends: Ends
    rate: float | None


class LogEnds:
    """The logs of the cluster.

    :param peers: connections to the other brokers.
    """

    _log = Logger()

    def __init__(self, broker: Broker, peers: Peers) -> None:
        self._broker = broker
        self._peers = peers
        self._known: dict[TopicPartition, _Told] = {}

    def find(self, topic: str, number: int) -> Ends | None:
        """Return a log of this broker, or what another one has told; None if nothing is known."""
        partition = self._broker.topics.find(topic, number)
        if partition is not None and not partition.offline:
            log, end = partition.log, partition.high_watermark
            return Ends(log.log_start_offset, end, partition.last_stable_offset, log.size_bytes)
        known = self._known.get(TopicPartition(topic, number))
        return None if known is None else known.ends

    def rate(self, topic: str, number: int) -> float | None:
        """Return the bytes that a log of another broker grows in a second; None if that is not known."""
        known = self._known.get(TopicPartition(topic, number))
        return None if known is None else known.rate

    def is_here(self, topic: str, number: int) -> bool:
        """Return True if this broker has the log."""
        partition = self._broker.topics.find(topic, number)
        return partition is not None and not partition.offline

    async def refresh(self, wanted: Iterable[TopicPartition]) -> None:
        """Ask the leaders of partitions of which nothing is known, or nothing new; never fails."""
        now_s, state = self._broker.clock.seconds(), self._broker.metadata.state
        by_leader: dict[int, list[TopicPartition]] = {}
        for name in wanted:
            known, topic = self._known.get(name), state.topics.get(name.topic)
            if (known is not None and now_s - known.since_s < KEPT_S) or topic is None:
                continue
            if name.partition < len(topic.partitions) and not self.is_here(*name):
                by_leader.setdefault(topic.partitions[name.partition].leader, []).append(name)
        asked = [
            Deferred.fromCoroutine(self._ask_all(node, names))
            for leader, names in by_leader.items()
            if (node := state.brokers.get(leader)) is not None and leader != self._broker.node_id
        ]
        await gatherResults(asked)
        if by_leader:
            for name, told in list(self._known.items()):
                if now_s - told.since_s > FORGOTTEN_S:
                    del self._known[name]

    async def _ask_all(self, node: BrokerNode, names: list[TopicPartition]) -> None:
        try:
            for some in chunks(names, CHUNK):
                await self._ask(node, some)
        except KafkaTXError as error:
            self._log.debug("broker {id} does not tell the ends of logs: {error}", id=node.id, error=error)

    async def _ask(self, node: BrokerNode, names: list[TopicPartition]) -> None:
        starts = await self._offsets(node, names, EARLIEST, 0)
        ends = await self._offsets(node, names, LATEST, 0)
        stable = await self._offsets(node, names, LATEST, COMMITTED)
        sizes = await self._sizes(node, names)
        now_s = self._broker.clock.seconds()
        for name in starts.keys() & ends.keys():
            found = Ends(starts[name], ends[name], stable.get(name, ends[name]), sizes.get(name, 0))
            old, rate = self._known.get(name), None
            if old is not None and now_s > old.since_s:
                rate = max(0, found.size_bytes - old.ends.size_bytes) / (now_s - old.since_s)
            self._known[name] = _Told(now_s, found, rate)

    async def _offsets(
        self, node: BrokerNode, names: list[TopicPartition], timestamp: int, isolation: int
    ) -> Mapping[TopicPartition, int]:
        topics = [
            ListOffsetsTopic(topic, [ListOffsetsPartition(each, timestamp=timestamp) for each in numbers])
            for topic, numbers in _by_topic(names).items()
        ]
        response = await self._request(node, ListOffsetsRequest(CONSUMER, isolation, topics))
        return {
            TopicPartition(topic.name, each.partition_index): each.offset
            for topic in response.topics
            for each in topic.partitions
            if not each.error_code
        }

    async def _sizes(self, node: BrokerNode, names: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        topics = [DescribableLogDirTopic(topic, numbers) for topic, numbers in _by_topic(names).items()]
        response = await self._request(node, DescribeLogDirsRequest(topics))
        return {
            TopicPartition(topic.name, each.partition_index): each.partition_size
            for result in response.results
            for topic in result.topics
            for each in topic.partitions
            if not each.is_future_key
        }

    async def _request(self, node: BrokerNode, message: Any) -> Any:
        return await ask_patiently(self._broker.clock, self._peers, node, message)


async def ask_patiently(
    clock: IReactorTime, peers: Peers, node: BrokerNode, message: Any, version: int | None = None
) -> Any:
    """Return the response of another broker, which must come within :data:`PATIENCE_S`.

    :param version: as :meth:`Peers.request` has it.

    :raises KafkaTXError: it has not.
    """
    waiting: Deferred[Any] = Deferred()
    asked = peers.request(node, message, version)
    asked.addBoth(lambda result: None if waiting.called else waiting.callback(result))
    timer = clock.callLater(
        PATIENCE_S, lambda: waiting.errback(KafkaTXError(f"broker {node.id} does not answer"))
    )
    try:
        return await waiting
    finally:
        if timer.active():
            timer.cancel()


def _by_topic(names: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in names:
        topics.setdefault(topic, []).append(number)
    return topics
