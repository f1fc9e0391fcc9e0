"""Committing offsets and reading them back, through a group's coordinator."""

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

LANE = "group"
"""Coordinators are asked over a connection of their own, as by Apache Kafka's clients: a JoinGroup may wait
for minutes, and a broker answers the requests of one connection in their order."""

_ELSEWHERE = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT}
)
_OUT = MEMBERSHIP_LOST | {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.FENCED_INSTANCE_ID}


class OffsetCommits:
    """The offsets of one group.

    :param committer: in whose name to commit now; may raise CommitFailed.
    :param refused: told of the errors that say something about the member, with whom they were for.
    """

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        committer: Callable[[], ConsumerGroupMetadata],
        refused: Callable[[ErrorCode, ConsumerGroupMetadata], None],
    ) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._group_metadata = committer
        self._on_member_error = refused
        self._lock = DeferredLock()

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit; again after errors that pass, for as long as a call may take.

        Commits are made one after the other, so that one that is tried again never undoes a later one.
        Cancelling it may leave the offsets committed.

        :raises CommitFailed: the member is out of its generation, or joins the next one.
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
        """Wait until every commit that was begun before is done, or has failed."""
        await self._lock.acquire()
        self._lock.release()

    async def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        committer = self._group_metadata()
        response = await self._ask(commit_request(committer, offsets))
        for at, code in commit_errors(response).items():
            words = f"offset {offsets[at].offset if at in offsets else '?'} of {at.topic} [{at.partition}]"
            if code in _OUT:
                self._on_member_error(code, committer)
                raise CommitFailed(code, f"{words} was not committed: {describe(code)}")
            self._failed(RequestError(code, f"{words} was not committed: {describe(code)}"))

    async def fetch(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What is committed for each partition, None where nothing is; tried again as :meth:`commit` is.

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

    async def _ask(self, request: Any) -> Any:
        node_id = await self._cluster.coordinator(self._group_id)
        try:
            return await self._cluster.request(node_id, request, lane=LANE)
        except ConnectionFailed:
            self._cluster.forget_coordinator(self._group_id)
            raise

    def _failed(self, error: RequestError) -> None:
        """Raise it; and look for the coordinator elsewhere, if it may be there."""
        if error.code in _ELSEWHERE:
            self._cluster.forget_coordinator(self._group_id)
        raise error
