"""Reading ahead: to each leader that has something for the consumer, one fetch is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.consumer.fetch_requests import (
    FailedPartition,
    FetchRequests,
    InFlightFetch,
    group_by_node,
)
from kafkatx.clientcore.consumer.partition_state import NO_NODE, TopicPartitionState
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.errors import ClientClosed, CorruptBatch, describe, retriable
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster

LANE = "fetch"
"""A fetch waits at the broker for records, and nothing else is to wait behind it."""


class Fetcher:
    """Asks leaders for records of the positions that want them, and gives those what comes.

    What goes wrong and may pass is tried again, other errors become the positions'.

    :param arrived: called when something has come, after more has been asked for.
    :param out_of_range: called with a position whose offset the log does not have.
    :param compare: called when positions have to be compared with the logs of their leaders.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        positions: SubscriptionState,
        fetches: FetchRequests,
        arrived: Callable[[], None],
        out_of_range: Callable[[TopicPartitionState], None],
        compare: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._reactor = cluster.reactor
        self._subscriptions = positions
        self._requests = fetches
        self._on_records = arrived
        self._out_of_range = out_of_range
        self._on_validation_needed = compare
        self._timeout_s = (settings[common.REQUEST_TIMEOUT_MS] + settings[consumer.FETCH_MAX_WAIT_MS]) / 1000
        self._backoff = Backoff(
            first_ms=settings[common.RETRY_BACKOFF_MS],
            longest_ms=settings[common.RETRY_BACKOFF_MAX_MS],
            jitter=JITTER,
        )
        self._by_node: dict[int, list[TopicPartitionState]] | None = None
        self._awaiting_metadata: set[TopicPartitionState] = set()
        self._in_flight: dict[int, Deferred[Any]] = {}
        self._backoff_until: dict[int, float] = {}
        self._idle_until: dict[int, float] = {}
        self._failures: dict[int, int] = {}
        self._wake_up: IDelayedCall | None = None
        self._refresh: Deferred[None] | None = None
        self._unlisten: Callable[[], None] | None = None
        positions.buffer.on_space = self._on_space

    @property
    def in_flight(self) -> int:
        """How many fetches are under way."""
        return len(self._in_flight)

    def start(self) -> None:
        """Begin."""
        self._unlisten = self._cluster.on_metadata(self._metadata_changed)
        self.partitions_changed()

    def stop(self) -> None:
        """End; what is under way is dropped."""
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        self._subscriptions.buffer.on_space = lambda: None
        self._cancel_wake_up()
        for waiting in (*self._in_flight.values(), self._refresh):
            if waiting is not None:
                waiting.cancel()

    def partitions_changed(self) -> None:
        """Other positions are there, or they want other things than before."""
        self._by_node = None
        self._idle_until.clear()
        self._wake(0)

    # -- when to ask

    def _on_space(self) -> None:
        self._idle_until.clear()
        self._wake(0)

    def _metadata_changed(self, old: ClusterMetadata, new: ClusterMetadata) -> None:
        self._awaiting_metadata.clear()
        self.partitions_changed()

    def _wake(self, seconds: float) -> None:
        """Look again then, if not before."""
        if self._unlisten is None:
            return
        wake_up = self._wake_up
        if wake_up is not None and wake_up.active():
            if wake_up.getTime() <= self._reactor.seconds() + seconds:
                return
            wake_up.cancel()
        self._wake_up = self._reactor.callLater(seconds, self._send_fetches)

    def _cancel_wake_up(self) -> None:
        if self._wake_up is not None and self._wake_up.active():
            self._wake_up.cancel()
        self._wake_up = None

    def _send_fetches(self) -> None:
        """Ask every leader that has no fetch under way, if it has something that is wanted."""
        if self._unlisten is None:
            return
        now = self._reactor.seconds()
        soonest = float("inf")
        for node, positions in self._grouped().items():
            if node in self._in_flight:
                continue
            if node == NO_NODE:
                self._refresh_metadata()
                continue
            due = max(self._backoff_until.get(node, 0.0), self._idle_until.get(node, 0.0))
            if due > now:
                soonest = min(soonest, due)
                continue
            asked = self._requests.build(positions, self._cluster.metadata)
            if asked is not None:
                self._send(node, asked)
        if soonest < float("inf"):
            self._wake(soonest - now)
        if self._requests.validation_needed:
            self._requests.validation_needed = False
            self._on_validation_needed()

    def _grouped(self) -> dict[int, list[TopicPartitionState]]:
        if self._by_node is None:
            open_ = [position for position in self._subscriptions if position not in self._awaiting_metadata]
            self._by_node = group_by_node(open_, self._cluster.metadata)
        return self._by_node

    def _refresh_metadata(self) -> None:
        """Have metadata refreshed, and then look again."""
        if self._refresh is not None:
            return

        def refreshed(_: None) -> None:
            self._refresh = None
            self._awaiting_metadata.clear()
            self.partitions_changed()

        self._refresh = Deferred()  # it may fire at once
        refresh = self._cluster.refreshed()
        self._refresh = refresh
        refresh.addCallback(refreshed)
        refresh.addErrback(lambda failure: failure.trap(ClientClosed, CancelledError) and None)

    # -- asking

    def _send(self, node: int, asked: InFlightFetch) -> None:
        answer = self._cluster.request(
            node, asked.message, lane=LANE, at_most=asked.max_version, timeout_s=self._timeout_s
        )
        self._in_flight[node] = answer
        answer.addCallbacks(self._answered, self._failed, (node, asked), {}, (node, asked))
        answer.addErrback(lambda failure: self._log.failure("taking a fetch reply", failure))

    def _ended(self, node: int, asked: InFlightFetch) -> None:
        self._in_flight.pop(node, None)
        self._requests.release(asked)

    def _answered(self, response: Any, node: int, asked: InFlightFetch) -> None:
        self._ended(node, asked)
        self._failures.pop(node, None)
        now = self._reactor.seconds()
        if response.throttle_time_ms:
            self._backoff_until[node] = now + response.throttle_time_ms / 1000
        try:
            got, refused = self._requests.handle_response(asked, response)
        except RequestError as error:
            self._request_failed(node, asked, error)
            return
        if self._requests.replica_changed:
            self._requests.replica_changed = False
            self._by_node = None
        if got:
            self._move_back(node, got)
        elif asked.pause_ms:
            self._idle_until[node] = now + asked.pause_ms / 1000
        for refusal in refused:
            self._partition_failed(refusal)
        # More is asked for before the application has what came: the broker works while it does.
        self._send_fetches()
        if got or refused:
            self._on_records()

    def _move_back(self, node: int, got: list[TopicPartitionState]) -> None:
        """Let the others be the first in the next request."""
        group = (self._by_node or {}).get(node)
        if group is not None and len(group) > 1:
            served = set(got)
            group.sort(key=served.__contains__)

    def _failed(self, failure: Failure, node: int, asked: InFlightFetch) -> None:
        self._ended(node, asked)
        if failure.check(CancelledError, ClientClosed):
            return
        if failure.check(KafkaTXError) is None:
            self._log.failure("fetching", failure)
        self._request_failed(node, asked, failure.value or KafkaTXError("fetching"))

    def _request_failed(self, node: int, asked: InFlightFetch, error: BaseException) -> None:
        if retriable(error) or not isinstance(error, KafkaTXError):
            failures = self._failures.get(node, 0)
            self._failures[node] = failures + 1
            self._backoff_until[node] = self._reactor.seconds() + self._backoff.pause_s(failures)
            self._cluster.stale()
        else:
            for position in asked.states():
                position.fail(error)
            self._on_records()
        self._send_fetches()

    def _partition_failed(self, refusal: FailedPartition) -> None:
        position, code = refusal
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._offset_out_of_range(position)
        elif code is ErrorCode.CORRUPT_MESSAGE:
            at = position.fetch_offset
            position.fail(
                CorruptBatch(*position.topic_partition, at, at + 1, f"the broker says: {describe(code)}")
            )
        elif code.retriable or code is ErrorCode.UNKNOWN_SERVER_ERROR:
            self._log.debug("fetch from {place}: {code}", place=position.topic_partition, code=code.name)
            position.preferred_read_replica = NO_NODE
            self._awaiting_metadata.add(position)
            self._by_node = None
            self._refresh_metadata()
        else:
            position.fail(RequestError(code, f"fetch from {position.topic_partition}: {describe(code)}"))

    def _offset_out_of_range(self, position: TopicPartitionState) -> None:
        if position.preferred_read_replica != NO_NODE:  # a follower may be behind: the leader knows (KIP-392)
            position.preferred_read_replica = NO_NODE
            self._by_node = None
        else:
            self._out_of_range(position)
