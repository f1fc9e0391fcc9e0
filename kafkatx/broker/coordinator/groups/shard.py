"""The groups of one partition of ``__consumer_offsets``, with all that belongs to them.

:mod:`kafkatx.broker.coordinator.groups.coordinator` makes a shard when a partition is loaded, and drops it as
a whole when this broker leads the partition no more. It touches nothing.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.groups.record_store import RecordStore
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Group
from kafkatx.group.offsets import Offsets
from kafkatx.wire.schema import Message

ResponseT = TypeVar("ResponseT", bound=Message)


class PendingRequest(Generic[ResponseT]):
    """The token of one request: it holds the response, or the Deferred that waits for it."""

    __slots__ = ("_shard", "response", "waiting")

    def __init__(self) -> None:
        self.response: ResponseT | None = None
        self.waiting: Deferred[ResponseT] | None = None
        self._shard: GroupShard | None = None

    def wait(self, shard: GroupShard) -> Deferred[ResponseT]:
        """Return a Deferred of the response, which fails if *shard* is dropped; cancelling it drops it."""
        self.waiting = Deferred(self._cancelled)
        self._shard = shard
        shard.requests[self] = None
        return self.waiting

    def _cancelled(self, _: Deferred[ResponseT]) -> None:
        self.leave()
        self.waiting = None

    def leave(self) -> None:
        """Wait no more."""
        if self._shard is not None:
            self._shard.requests.pop(self, None)


class GroupShard:
    """The groups of one partition.

    :ivar number: the number of the partition.
    :ivar groups: the groups by id.
    :ivar offsets: the committed offsets of these groups.
    :ivar records: stores the groups' records.
    :ivar requests: the requests that wait for an answer of a group.
    :ivar dropped: True if the partition is coordinated no more, or again from its records.
    """

    __slots__ = ("dropped", "groups", "number", "offsets", "partition", "records", "requests")

    def __init__(self, partition: Partition, records: RecordStore) -> None:
        self.number: int = partition.topic_partition.partition
        self.partition = partition
        self.records = records
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.requests: dict[PendingRequest[Any], None] = {}
        self.dropped = False

    def drop(self) -> None:
        """Report no store any more, and answer the waiting requests with NOT_COORDINATOR."""
        self.dropped = True
        self.records.stop()
        requests, self.requests = self.requests, {}
        for request in requests:
            assert request.waiting is not None
            request.waiting.errback(RequestError(ErrorCode.NOT_COORDINATOR))
