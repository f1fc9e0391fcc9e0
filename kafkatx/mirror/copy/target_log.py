"""Reads of a target's logs as they are stored, batch by batch, at the leaders of their partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkatx.clientcore.consumer.fetch_requests import LAST_VERSION, LAST_VERSION_WITH_NAMES
from kafkatx.clientcore.errors import check
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.clientcore.metadata import NO_TOPIC_ID
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.offsets import offsets_of
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic

LANE = "mirror-read"
READ_BYTES = 4 << 20
WAIT_MS = 100


class TargetLog:
    """The logs of a cluster, up to their high watermarks.

    Retriable errors are retried until the cluster's ``default.api.timeout.ms`` is over.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def ends(self, place: TopicPartition) -> tuple[int, int]:
        """Return the first offset of a log, and its high watermark.

        :raises UnknownTopic: there is no such topic.
        :raises KafkaTXError: no broker answers in time.
        """
        earliest = await offsets_of(self._cluster, {place: EARLIEST})
        latest = await offsets_of(self._cluster, {place: LATEST})
        return earliest[place].offset, latest[place].offset

    async def starts(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the first offset of each log."""
        found = await offsets_of(self._cluster, dict.fromkeys(places, EARLIEST))
        return {place: at.offset for place, at in found.items()}

    async def read(self, place: TopicPartition, offset: int, max_bytes: int = READ_BYTES) -> memoryview:
        """Return batches from the one on that has *offset*; the last one may be cut off.

        :raises RequestError: OFFSET_OUT_OF_RANGE, for example.
        """
        await self._cluster.topic(place.topic)

        async def attempt() -> memoryview:
            leader = self._cluster.leader(*place)
            if leader < 0:
                raise RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"{place} has no leader")
            topic = self._cluster.metadata.topics[place.topic]
            request = FetchRequest(
                max_wait_ms=WAIT_MS,
                min_bytes=1,
                max_bytes=max_bytes,
                topics=[
                    FetchTopic(
                        place.topic,
                        topic.topic_id,
                        [
                            FetchPartition(
                                partition=place.partition, fetch_offset=offset, partition_max_bytes=max_bytes
                            )
                        ],
                    )
                ],
            )
            at_most = LAST_VERSION_WITH_NAMES if topic.topic_id == NO_TOPIC_ID else LAST_VERSION
            response: FetchResponse = await self._cluster.request(leader, request, lane=LANE, at_most=at_most)
            return _records(response, place)

        return await self._cluster.retrying(attempt)


def _records(response: FetchResponse, place: TopicPartition) -> memoryview:
    check(response.error_code, f"fetch from {place}")
    for topic in response.responses:
        for answer in topic.partitions:
            if answer.partition_index == place.partition:
                check(answer.error_code, f"fetch from {place}")
                return memoryview(answer.records or b"")  # type: ignore[arg-type]
    raise RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"the broker's reply leaves {place} out")
