"""WriteTxnMarkers to other brokers: one request at a time for each, with all markers that wait for it.

It touches the connections to other brokers. Results go to the sender of markers, which repeats what failed
(:mod:`~kafkatx.broker.coordinator.transactions.markers`); so there is nothing here that is kept for long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from twisted.internet.defer import CancelledError, Deferred, succeed

from kafkatx.broker.peers import Peers
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.transactions.actions import Marker
from kafkatx.transactions.records import by_topic
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

MOST_MARKERS = 500
"""The most transactions in one request."""

Settle = Callable[[TopicPartition, ErrorCode], None]


class _Waiting(NamedTuple):
    """One marker for partitions of one broker."""

    partitions: list[TopicPartition]
    marker: Marker
    coordinator_epoch: int
    settle: Settle

    def message(self) -> WritableTxnMarker:
        """Return the marker as it is in a request."""
        producer, commit, version = self.marker
        topics = [WritableTxnMarkerTopic(topic, numbers) for topic, numbers in by_topic(self.partitions)]
        return WritableTxnMarker(producer.id, producer.epoch, commit, topics, self.coordinator_epoch, version)


class MarkerRequests:
    """Sends markers to other brokers."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._waiting: dict[int, deque[_Waiting]] = {}
        self._under_way: dict[int, Deferred[None]] = {}

    def send(
        self,
        node: BrokerNode,
        partitions: list[TopicPartition],
        marker: Marker,
        coordinator_epoch: int,
        settle: Settle,
    ) -> None:
        """Send a marker as soon as the request before is answered; *settle* is called for each partition."""
        waiting = _Waiting(partitions, marker, coordinator_epoch, settle)
        self._waiting.setdefault(node.id, deque()).append(waiting)
        if node.id not in self._under_way:
            self._under_way[node.id] = Deferred()  # the coroutine may end before it is assigned
            running = Deferred.fromCoroutine(self._run(node))
            if node.id in self._under_way:
                self._under_way[node.id] = running

    async def _run(self, node: BrokerNode) -> None:
        """Send requests to one broker until nothing waits for it."""
        try:
            while waiting := self._waiting.get(node.id):
                batch = [waiting.popleft() for _ in range(min(len(waiting), MOST_MARKERS))]
                await self._request(node, batch)
        finally:
            self._under_way.pop(node.id, None)
            self._waiting.pop(node.id, None)

    async def _request(self, node: BrokerNode, batch: list[_Waiting]) -> None:
        request = WriteTxnMarkersRequest([one.message() for one in batch])
        try:
            response: WriteTxnMarkersResponse | None = await self._peers.request(node, request)
        except CancelledError:
            raise
        except (KafkaTXError, ValueError):
            response = None
        results = {} if response is None else _results(response)
        for one in batch:
            for partition in one.partitions:
                result = results.get((one.marker.producer.id, partition), ErrorCode.NETWORK_EXCEPTION)
                one.settle(partition, result)

    def stop(self) -> Deferred[None]:
        """End the sending; nothing is settled any more. Fires at once."""
        self._waiting.clear()
        for running in list(self._under_way.values()):
            running.addErrback(lambda failure: failure.trap(CancelledError) and None)
            running.cancel()
        return succeed(None)


def _results(response: WriteTxnMarkersResponse) -> dict[tuple[int, TopicPartition], ErrorCode]:
    """Return the results by producer id and partition; a producer has one transaction at a time."""
    return {
        (marker.producer_id, TopicPartition(topic.name, result.partition_index)): ErrorCode.of(
            result.error_code
        )
        for marker in response.markers
        for topic in marker.topics
        for result in topic.partitions
    }
