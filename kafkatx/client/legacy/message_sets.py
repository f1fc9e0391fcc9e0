"""The fetches of a SimpleConsumer: finds the leaders, sends requests in parallel, retries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import gather_by_key
from kafkatx.client.plugins import decoder
from kafkatx.clientcore.consumer.completed_fetch import DecodeSettings
from kafkatx.clientcore.errors import retriable
from kafkatx.clientcore.legacy.simple_consumer import (
    READ_COMMITTED,
    FetchRequest,
    MessageSet,
    Reader,
    fetch_request,
)
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition

LANE = "fetch"
"""A connection of its own: a fetch waits at the broker for records, and would delay other requests."""

LAST_VERSION_WITH_TOPIC_NAMES = 12
"""The last version of Fetch that names topics (KIP-516)."""

Wanted: TypeAlias = "dict[int, FetchRequest]"
"""Requests by their index in the call."""


class MessageSets:
    """Sends fetches to the leaders of their partitions, in parallel, and retries retriable errors."""

    def __init__(self, cluster: Cluster, settings: ClientSettings) -> None:
        """Read the settings.

        :raises SettingError: a deserializer is not installed.
        """
        self._cluster = cluster
        self._destinations = Destinations(cluster, lane="")
        self._partition_bytes = settings[consumer.MAX_PARTITION_FETCH_BYTES]
        self._max_bytes = settings[consumer.FETCH_MAX_BYTES]
        self._min_bytes = settings[consumer.FETCH_MIN_BYTES]
        self._max_wait_ms = settings[consumer.FETCH_MAX_WAIT_MS]
        self._timeout_ms = settings[common.REQUEST_TIMEOUT_MS]
        decoding = DecodeSettings(
            settings[consumer.CHECK_CRCS],
            decoder(settings, consumer.KEY_DESERIALIZER),
            decoder(settings, consumer.VALUE_DESERIALIZER),
        )
        committed = settings[consumer.ISOLATION_LEVEL] == "read_committed"
        self._reader = Reader(decoding, READ_COMMITTED if committed else 0)

    async def fetch(
        self, requests: Sequence[FetchRequest], min_bytes: int | None, max_wait_ms: int | None
    ) -> list[MessageSet]:
        """Return a message set for each request, in their order; its error is in the message set.

        :param min_bytes: None: ``fetch.min.bytes``.
        :param max_wait_ms: None: ``fetch.max.wait.ms``.
        """
        left: Wanted = {place: self._limited(request) for place, request in enumerate(requests)}
        found: dict[int, MessageSet] = {}

        async def attempt() -> None:
            retriable_error: KafkaTXError | None = None
            for place, answer in (await self._ask(left, min_bytes, max_wait_ms)).items():
                found[place] = answer
                if answer.error is not None and retriable(answer.error):
                    retriable_error = answer.error
                else:
                    del left[place]
            if retriable_error is not None:
                raise retriable_error

        try:
            await self._cluster.retrying(attempt)
        except KafkaTXError as error:
            if not retriable(error):
                raise
            found.update({place: _failed(request, error) for place, request in left.items()})
        return [found[place] for place in sorted(found)]

    def _limited(self, request: FetchRequest) -> FetchRequest:
        return request if request.max_bytes is not None else request._replace(max_bytes=self._partition_bytes)

    async def leader(self, at: TopicPartition) -> int:
        """Return the node id of a partition's leader, from memory or requested.

        :raises UnknownTopic: there is no such topic.
        :raises RequestError: there is no such partition, or it has no leader.
        """
        leader = self._cluster.leader(*at)
        if leader < 0:
            (leader,) = await self._destinations.leaders([at])
            self._cluster.stale()
        return leader

    async def _ask(
        self, wanted: Wanted, min_bytes: int | None, max_wait_ms: int | None
    ) -> dict[int, MessageSet]:
        """Send one round of requests; two fetches from one partition go into two requests."""
        found: dict[int, MessageSet] = {}
        asked: dict[tuple[int, int], Wanted] = {}
        times: Counter[TopicPartition] = Counter()
        for place, request in wanted.items():
            at = request.topic_partition
            try:
                leader = await self.leader(at)
            except KafkaTXError as error:
                found[place] = _failed(request, error)
            else:
                asked.setdefault((leader, times[at]), {})[place] = request
                times[at] += 1

        async def ask(key: tuple[int, int]) -> dict[int, MessageSet]:
            return await self._ask_leader(key[0], asked[key], min_bytes, max_wait_ms)

        for answers in (await gather_by_key(asked, ask)).values():
            found.update(answers)
        return found

    async def _ask_leader(
        self, leader: int, wanted: Wanted, min_bytes: int | None, max_wait_ms: int | None
    ) -> dict[int, MessageSet]:
        wait_ms = self._max_wait_ms if max_wait_ms is None else max_wait_ms
        message = fetch_request(
            wanted.values(),
            max_wait_ms=wait_ms,
            min_bytes=self._min_bytes if min_bytes is None else min_bytes,
            max_bytes=max(self._max_bytes, *(request.max_bytes or 0 for request in wanted.values())),
            isolation_level=self._reader.isolation_level,
        )
        asked = {request.topic_partition: request for request in wanted.values()}
        answers: Mapping[TopicPartition, MessageSet] = {}
        code = ErrorCode.UNKNOWN_SERVER_ERROR
        error: KafkaTXError = RequestError(code, "the broker's reply leaves the partition out")
        try:
            timeout_s = (self._timeout_ms + wait_ms) / 1000
            response = await self._cluster.request(
                leader, message, lane=LANE, at_most=LAST_VERSION_WITH_TOPIC_NAMES, timeout_s=timeout_s
            )
            answers = self._reader.read(response, asked)
        except KafkaTXError as failure:
            error = failure
        found = {}
        for place, request in wanted.items():
            answer = answers.get(request.topic_partition)
            found[place] = _failed(request, error) if answer is None else answer
        return found


def _failed(request: FetchRequest, error: KafkaTXError) -> MessageSet:
    return MessageSet(request, next_offset=request.offset, error=error)
