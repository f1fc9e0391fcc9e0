"""OffsetCommit and OffsetFetch requests to a group's coordinator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from twisted.internet.defer import DeferredLock

from kafkatx.clientcore.errors import CommitFailed, ConnectionFailed, describe
from kafkatx.clientcore.group.membership.coordinator_errors import MEMBERSHIP_LOST
from kafkatx.clientcore.group.offsets import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    commit_errors,
    commit_request,
    committed_offsets,
    fetch_request,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition
from kafkatx.wire.schema import Message

LANE = "group"
"""Coordinators are asked over a connection of their own, as by Apache Kafka's clients: a JoinGroup may wait
for minutes, and a broker answers the requests of a connection in order."""

_COORDINATOR_MOVED = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT}
)
_MEMBER_ERRORS = MEMBERSHIP_LOST | {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.FENCED_INSTANCE_ID}


class OffsetCommits:
    """Commits and reads the offsets of one group.

    :param group_metadata: returns the identity to commit with; may raise CommitFailed.
    :param on_member_error: called with errors that concern the membership, and the identity that was used.
    """

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        group_metadata: Callable[[], ConsumerGroupMetadata],
        on_member_error: Callable[[ErrorCode, ConsumerGroupMetadata], None],
    ) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._group_metadata = group_metadata
        self._on_member_error = on_member_error
        self._lock = DeferredLock()

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit offsets; retry after retriable errors for as long as a call may take.

        Commits are made one after another, so a retry never overwrites a later commit. If it is cancelled,
        the offsets may be committed nevertheless.

        :raises CommitFailed: the member is not in the generation any more, or is joining the next one.
        :raises RequestError: a partition's error: OFFSET_METADATA_TOO_LARGE, TOPIC_AUTHORIZATION_FAILED, ...
        :raises ConnectionFailed: no coordinator could be reached.
        """
        if not offsets:
            return
        await self._lock.acquire()
        try:
            await self._cluster.retrying(lambda: self._commit(offsets))
        finally:
            self._lock.release()

    async def wait_idle(self) -> None:
        """Wait until all commits that were started before have ended."""
        await self._lock.acquire()
        self._lock.release()

    async def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        metadata = self._group_metadata()
        response = await self._ask(commit_request(metadata, offsets))
        for at, code in commit_errors(response).items():
            words = f"offset {offsets[at].offset if at in offsets else '?'} of {at.topic} [{at.partition}]"
            if code in _MEMBER_ERRORS:
                self._on_member_error(code, metadata)
                raise CommitFailed(code, f"{words} was not committed: {describe(code)}")
            self._failed(RequestError(code, f"{words} was not committed: {describe(code)}"))

    async def fetch(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return each partition's committed offset, None if there is none; retries as :meth:`commit` does.

        :raises RequestError: GROUP_AUTHORIZATION_FAILED, ...
        :raises ConnectionFailed: no coordinator could be reached.
        """
        if not partitions:
            return {}
        found = await self._cluster.retrying(lambda: self._fetch(partitions))
        return {at: found.get(at) for at in partitions}

    async def _fetch(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        response = await self._ask(fetch_request(self._group_id, partitions))
        try:
            return committed_offsets(self._group_id, response)
        except RequestError as error:
            self._failed(error)
            raise

    async def _ask(self, request: Message) -> Any:
        node_id = await self._cluster.coordinator(self._group_id)
        try:
            return await self._cluster.request(node_id, request, lane=LANE)
        except ConnectionFailed:
            self._cluster.forget_coordinator(self._group_id)
            raise

    def _failed(self, error: RequestError) -> None:
        """Raise the error; forget the coordinator if it may have moved."""
        if error.code in _COORDINATOR_MOVED:
            self._cluster.forget_coordinator(self._group_id)
        raise error
