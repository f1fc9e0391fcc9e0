"""The fetcher: keeps one fetch request in flight to each broker that has records for the consumer.

The requests themselves are made by :mod:`kafkatx.clientcore.consumer.fetch_requests`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.defer import TimeoutError as TimedOut
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
from kafkatx.clientcore.consumer.fetch_session import FetchSession
from kafkatx.clientcore.consumer.partition_state import NO_NODE, TopicPartitionState
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.errors import ClientClosed, CorruptBatch, describe, retriable
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.wire.messages.fetch import FetchResponse

END_SESSIONS_S = 1.0

LANE = "fetch"
"""Fetches have a connection of their own: they wait at the broker, and would delay other requests."""


class Fetcher:
    """Fetches records for all fetchable partitions.

    Retriable errors are retried; others are raised to the application in place of the partition's next
    record.

    :param on_records: called when records or errors have arrived, after the next fetch was sent.
    :param on_out_of_range: called with a partition whose log does not have the fetch offset.
    :param on_validation_needed: called when positions have to be validated against the logs of their leaders.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        subscriptions: SubscriptionState,
        requests: FetchRequests,
        on_records: Callable[[], None],
        on_out_of_range: Callable[[TopicPartitionState], None],
        on_validation_needed: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._reactor = cluster.reactor
        self._subscriptions = subscriptions
        self._requests = requests
        self._on_records = on_records
        self._out_of_range = on_out_of_range
        self._on_validation_needed = on_validation_needed
        self._timeout_s = (settings[common.REQUEST_TIMEOUT_MS] + settings[consumer.FETCH_MAX_WAIT_MS]) / 1000
        self._backoff = Backoff(
            first_ms=settings[common.RETRY_BACKOFF_MS],
            longest_ms=settings[common.RETRY_BACKOFF_MAX_MS],
            jitter=JITTER,
        )
        self._by_node: dict[int, list[TopicPartitionState]] | None = None
        self._awaiting_metadata: set[TopicPartitionState] = set()
        self._in_flight: dict[int, Deferred[FetchResponse]] = {}
        self._sessions: defaultdict[int, FetchSession] = defaultdict(FetchSession)
        self._backoff_until: dict[int, float] = {}
        self._idle_until: dict[int, float] = {}
        self._failures: dict[int, int] = {}
        self._wake_up: IDelayedCall | None = None
        self._refresh: Deferred[None] | None = None
        self._unlisten: Callable[[], None] | None = None
        self._at_followers: IDelayedCall | None = None
        self._max_age_s = settings[common.METADATA_MAX_AGE_MS] / 1000
        subscriptions.buffer.on_space = self._on_space

    @property
    def in_flight(self) -> int:
        """The number of fetches in flight."""
        return len(self._in_flight)

    def start(self) -> None:
        """Start fetching."""
        self._unlisten = self._cluster.on_metadata(self._metadata_changed)
        self.partitions_changed()

    def stop(self) -> None:
        """Stop fetching and drop the fetches in flight."""
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        self._subscriptions.buffer.on_space = lambda: None
        self._cancel_wake_up()
        if self._at_followers is not None:
            self._at_followers.cancel()
            self._at_followers = None
        for waiting in (*self._in_flight.values(), self._refresh):
            if waiting is not None:
                waiting.cancel()

    async def end_sessions(self) -> None:
        """End the fetch sessions at the brokers, which keep only so many; call :meth:`stop` before.

        It ends within :data:`END_SESSIONS_S`, whatever the brokers do: they drop a session that is not used.
        """
        sessions, self._sessions = self._sessions, defaultdict(FetchSession)
        requests = [(node, session.end()) for node, session in sessions.items()]
        # Not in the lane of fetches: the broker would answer the fetch first that waits there.
        answers = [self._cluster.request(node, request) for node, request in requests if request is not None]
        ending: Deferred[Any] = DeferredList(answers, consumeErrors=True)
        with suppress(TimedOut):
            await ending.addTimeout(END_SESSIONS_S, self._reactor)

    def partitions_changed(self) -> None:
        """Fetch for partitions that were assigned, unassigned, sought, paused or resumed."""
        self._by_node = None
        self._idle_until.clear()
        self._wake(0)

    # -- when to fetch

    def _on_space(self) -> None:
        self._idle_until.clear()
        self._wake(0)

    def _metadata_changed(self, old: ClusterMetadata, new: ClusterMetadata) -> None:
        self._awaiting_metadata.clear()
        self.partitions_changed()

    def _wake(self, seconds: float) -> None:
        """Call :meth:`_send_fetches` after *seconds*, unless it is called earlier."""
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
        """Send a fetch to every broker that has none in flight and has partitions to fetch."""
        if self._unlisten is None:
            return
        now = self._reactor.seconds()
        next_due = float("inf")
        for node, positions in self._grouped().items():
            if node in self._in_flight:
                continue
            if node == NO_NODE:
                self._refresh_metadata()
                continue
            due = max(self._backoff_until.get(node, 0.0), self._idle_until.get(node, 0.0))
            if due > now:
                next_due = min(next_due, due)
                continue
            fetch = self._requests.build(positions, self._cluster.metadata)
            if fetch is not None:
                self._send(node, fetch)
        if next_due < float("inf"):
            self._wake(next_due - now)
        if self._requests.validation_needed:
            self._requests.validation_needed = False
            self._on_validation_needed()

    def _grouped(self) -> dict[int, list[TopicPartitionState]]:
        if self._by_node is None:
            open_ = [state for state in self._subscriptions if state not in self._awaiting_metadata]
            self._by_node = group_by_node(open_, self._cluster.metadata)
        return self._by_node

    def _refresh_metadata(self) -> None:
        """Refresh metadata, then fetch."""
        if self._refresh is not None:
            return

        def refreshed(_: None) -> None:
            self._refresh = None
            self._awaiting_metadata.clear()
            self.partitions_changed()

        self._refresh = Deferred()  # refreshed() may fire at once
        refresh = self._cluster.refreshed()
        self._refresh = refresh
        refresh.addCallback(refreshed)
        refresh.addErrback(lambda failure: failure.trap(ClientClosed, CancelledError) and None)

    def _to_followers(self, states: list[TopicPartitionState]) -> None:
        """Fetch from the replicas that leaders have named, for a while (KIP-392)."""
        self._by_node = None
        for state in states:
            if state.preferred_read_replica not in (NO_NODE, *self._cluster.metadata.brokers):
                state.preferred_read_replica = NO_NODE
                self._awaiting_metadata.add(state)
                self._refresh_metadata()
        if self._at_followers is None:
            self._at_followers = self._reactor.callLater(self._max_age_s, self._ask_leaders)

    def _ask_leaders(self) -> None:
        """Fetch all partitions from their leaders, which may name other replicas now (KIP-392)."""
        self._at_followers = None
        for state in self._subscriptions:
            state.preferred_read_replica = NO_NODE
        self.partitions_changed()

    # -- requests and responses

    def _send(self, node: int, fetch: InFlightFetch) -> None:
        self._sessions[node].prepare(fetch.message)
        answer = self._cluster.request(
            node, fetch.message, lane=LANE, at_most=fetch.max_version, timeout_s=self._timeout_s
        )
        self._in_flight[node] = answer
        answer.addCallbacks(self._answered, self._failed, (node, fetch), {}, (node, fetch))
        answer.addErrback(lambda failure: self._log.failure("handling a fetch response", failure))

    def _ended(self, node: int, fetch: InFlightFetch) -> None:
        self._in_flight.pop(node, None)
        self._requests.release(fetch)

    def _answered(self, response: FetchResponse, node: int, fetch: InFlightFetch) -> None:
        self._ended(node, fetch)
        if not self._sessions[node].answered(response):  # all partitions are named now
            self._send_fetches()
            return
        self._failures.pop(node, None)
        now = self._reactor.seconds()
        if response.throttle_time_ms:
            self._backoff_until[node] = now + response.throttle_time_ms / 1000
        try:
            received, failed = self._requests.handle_response(fetch, response)
        except RequestError as error:
            self._request_failed(node, fetch, error)
            return
        if self._requests.replica_changed:
            self._requests.replica_changed = False
            self._to_followers(fetch.states())
        if received:
            self._move_back(node, received)
        elif fetch.pause_ms:
            self._idle_until[node] = now + fetch.pause_ms / 1000
        if failed:
            hints = fetch.leader_hints(response)
            if hints is not None:
                self._cluster.take_leaders(hints)
            for failed_partition in failed:
                self._partition_failed(failed_partition, node)
        # The next fetch is sent before the application gets these records: both work at the same time.
        self._send_fetches()
        if received or failed:
            self._on_records()

    def _move_back(self, node: int, received: list[TopicPartitionState]) -> None:
        """Move partitions that got records to the end of the next request."""
        group = (self._by_node or {}).get(node)
        if group is not None and len(group) > 1:
            served = set(received)
            group.sort(key=served.__contains__)

    def _failed(self, failure: Failure, node: int, fetch: InFlightFetch) -> None:
        self._ended(node, fetch)
        self._sessions[node].failed()
        if failure.check(CancelledError, ClientClosed):
            return
        if failure.check(KafkaTXError) is None:
            self._log.failure("fetching", failure)
        self._request_failed(node, fetch, failure.value or KafkaTXError("fetching"))

    def _request_failed(self, node: int, fetch: InFlightFetch, error: BaseException) -> None:
        if retriable(error) or not isinstance(error, KafkaTXError):
            failures = self._failures.get(node, 0)
            self._failures[node] = failures + 1
            self._backoff_until[node] = self._reactor.seconds() + self._backoff.pause_s(failures)
            self._cluster.stale()
            for state in fetch.states():
                if state.preferred_read_replica == node:  # its leader is asked instead
                    state.preferred_read_replica = NO_NODE
                    self._by_node = None
        else:
            for state in fetch.states():
                state.fail(error)
            self._on_records()
        self._send_fetches()

    def _partition_failed(self, failed_partition: FailedPartition, node: int) -> None:
        state, code = failed_partition
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._offset_out_of_range(state)
        elif code is ErrorCode.CORRUPT_MESSAGE:
            at = state.fetch_offset
            state.fail(CorruptBatch(*state.topic_partition, at, at + 1, f"broker: {describe(code)}"))
        elif code.retriable or code is ErrorCode.UNKNOWN_SERVER_ERROR:
            self._log.debug(
                "fetch from {topic_partition}: {code}", topic_partition=state.topic_partition, code=code.name
            )
            at_leader = state.preferred_read_replica == NO_NODE
            state.preferred_read_replica = NO_NODE
            self._by_node = None
            # A leader may name the same follower again, so there is a pause after an error of a follower.
            if not at_leader or self._cluster.leader(*state.topic_partition) in (NO_NODE, node):
                self._awaiting_metadata.add(state)
                self._refresh_metadata()
        else:
            state.fail(RequestError(code, f"fetch from {state.topic_partition}: {describe(code)}"))

    def _offset_out_of_range(self, state: TopicPartitionState) -> None:
        if state.preferred_read_replica != NO_NODE:  # a follower may lag behind: ask the leader (KIP-392)
            state.preferred_read_replica = NO_NODE
            self._by_node = None
        else:
            self._out_of_range(state)
