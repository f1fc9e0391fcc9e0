"""Reading ahead: to each leader that has something for the consumer, one fetch is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.consumer.fetch_requests import Asked, Fetches, Refusal, by_node
from kafkatx.clientcore.consumer.partition_state import NO_NODE, Position
from kafkatx.clientcore.consumer.subscription_state import Positions
from kafkatx.clientcore.errors import ClientClosed, CorruptBatch, describe, retriable
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster

LANE = "fetch"
"""A fetch waits at the broker for records, and nothing else is to wait behind it."""


class Fetching:
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
        positions: Positions,
        fetches: Fetches,
        arrived: Callable[[], None],
        out_of_range: Callable[[Position], None],
        compare: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._reactor = cluster.reactor
        self._positions = positions
        self._fetches = fetches
        self._arrived = arrived
        self._out_of_range = out_of_range
        self._compare = compare
        self._timeout_s = (settings[common.REQUEST_TIMEOUT_MS] + settings[consumer.FETCH_MAX_WAIT_MS]) / 1000
        self._backoff = Backoff(
            first_ms=settings[common.RETRY_BACKOFF_MS],
            longest_ms=settings[common.RETRY_BACKOFF_MAX_MS],
            jitter=JITTER,
        )
        self._groups: dict[int, list[Position]] | None = None
        self._parked: set[Position] = set()
        self._under_way: dict[int, Deferred[Any]] = {}
        self._not_before: dict[int, float] = {}
        self._idle_until: dict[int, float] = {}
        self._failures: dict[int, int] = {}
        self._wake_up: IDelayedCall | None = None
        self._refresh: Deferred[None] | None = None
        self._unlisten: Callable[[], None] | None = None
        positions.shelf.on_room = self._room

    @property
    def under_way(self) -> int:
        """How many fetches are under way."""
        return len(self._under_way)

    def start(self) -> None:
        """Begin."""
        self._unlisten = self._cluster.on_metadata(self._metadata_changed)
        self.changed()

    def stop(self) -> None:
        """End; what is under way is dropped."""
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        self._positions.shelf.on_room = lambda: None
        self._cancel_wake_up()
        for waiting in (*self._under_way.values(), self._refresh):
            if waiting is not None:
                waiting.cancel()

    def changed(self) -> None:
        """Other positions are there, or they want other things than before."""
        self._groups = None
        self._idle_until.clear()
        self._wake(0)

    # -- when to ask

    def _room(self) -> None:
        self._idle_until.clear()
        self._wake(0)

    def _metadata_changed(self, old: ClusterMetadata, new: ClusterMetadata) -> None:
        self._parked.clear()
        self.changed()

    def _wake(self, seconds: float) -> None:
        """Look again then, if not before."""
        if self._unlisten is None:
            return
        wake_up = self._wake_up
        if wake_up is not None and wake_up.active():
            if wake_up.getTime() <= self._reactor.seconds() + seconds:
                return
            wake_up.cancel()
        self._wake_up = self._reactor.callLater(seconds, self._look)

    def _cancel_wake_up(self) -> None:
        if self._wake_up is not None and self._wake_up.active():
            self._wake_up.cancel()
        self._wake_up = None

    def _look(self) -> None:
        """Ask every leader that has no fetch under way, if it has something that is wanted."""
        if self._unlisten is None:
            return
        now = self._reactor.seconds()
        soonest = float("inf")
        for node, positions in self._grouped().items():
            if node in self._under_way:
                continue
            if node == NO_NODE:
                self._refresh_metadata()
                continue
            due = max(self._not_before.get(node, 0.0), self._idle_until.get(node, 0.0))
            if due > now:
                soonest = min(soonest, due)
                continue
            asked = self._fetches.ask(positions, self._cluster.metadata)
            if asked is not None:
                self._send(node, asked)
        if soonest < float("inf"):
            self._wake(soonest - now)
        if self._fetches.doubtful:
            self._fetches.doubtful = False
            self._compare()

    def _grouped(self) -> dict[int, list[Position]]:
        if self._groups is None:
            open_ = [position for position in self._positions if position not in self._parked]
            self._groups = by_node(open_, self._cluster.metadata)
        return self._groups

    def _refresh_metadata(self) -> None:
        """Have metadata refreshed, and then look again."""
        if self._refresh is not None:
            return

        def refreshed(_: None) -> None:
            self._refresh = None
            self._parked.clear()
            self.changed()

        self._refresh = Deferred()  # it may fire at once
        refresh = self._cluster.refreshed()
        self._refresh = refresh
        refresh.addCallback(refreshed)
        refresh.addErrback(lambda failure: failure.trap(ClientClosed, CancelledError) and None)

    # -- asking

    def _send(self, node: int, asked: Asked) -> None:
        answer = self._cluster.request(
            node, asked.message, lane=LANE, at_most=asked.at_most, timeout_s=self._timeout_s
        )
        self._under_way[node] = answer
        answer.addCallbacks(self._answered, self._failed, (node, asked), {}, (node, asked))
        answer.addErrback(lambda failure: self._log.failure("taking a fetch reply", failure))

    def _ended(self, node: int, asked: Asked) -> None:
        self._under_way.pop(node, None)
        self._fetches.done(asked)

    def _answered(self, response: Any, node: int, asked: Asked) -> None:
        self._ended(node, asked)
        self._failures.pop(node, None)
        now = self._reactor.seconds()
        if response.throttle_time_ms:
            self._not_before[node] = now + response.throttle_time_ms / 1000
        try:
            got, refused = self._fetches.take(asked, response)
        except RequestError as error:
            self._refused_all(node, asked, error)
            return
        if self._fetches.moved:
            self._fetches.moved = False
            self._groups = None
        if got:
            self._move_back(node, got)
        elif asked.pause_ms:
            self._idle_until[node] = now + asked.pause_ms / 1000
        for refusal in refused:
            self._refused(refusal)
        # More is asked for before the application has what came: the broker works while it does.
        self._look()
        if got or refused:
            self._arrived()

    def _move_back(self, node: int, got: list[Position]) -> None:
        """Let the others be the first in the next request."""
        group = (self._groups or {}).get(node)
        if group is not None and len(group) > 1:
            served = set(got)
            group.sort(key=served.__contains__)

    def _failed(self, failure: Failure, node: int, asked: Asked) -> None:
        self._ended(node, asked)
        if failure.check(CancelledError, ClientClosed):
            return
        if failure.check(KafkaTXError) is None:
            self._log.failure("fetching", failure)
        self._refused_all(node, asked, failure.value or KafkaTXError("fetching"))

    def _refused_all(self, node: int, asked: Asked, error: BaseException) -> None:
        if retriable(error) or not isinstance(error, KafkaTXError):
            failures = self._failures.get(node, 0)
            self._failures[node] = failures + 1
            self._not_before[node] = self._reactor.seconds() + self._backoff.pause_s(failures)
            self._cluster.stale()
        else:
            for position in asked.positions():
                position.fail(error)
            self._arrived()
        self._look()

    def _refused(self, refusal: Refusal) -> None:
        position, code = refusal
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._outside(position)
        elif code is ErrorCode.CORRUPT_MESSAGE:
            at = position.fetch_offset
            position.fail(CorruptBatch(*position.place, at, at + 1, f"the broker says: {describe(code)}"))
        elif code.retriable or code is ErrorCode.UNKNOWN_SERVER_ERROR:
            self._log.debug("fetch from {place}: {code}", place=position.place, code=code.name)
            position.replica = NO_NODE
            self._parked.add(position)
            self._groups = None
            self._refresh_metadata()
        else:
            position.fail(RequestError(code, f"fetch from {position.place}: {describe(code)}"))

    def _outside(self, position: Position) -> None:
        if position.replica != NO_NODE:  # a follower may be behind: the leader knows (KIP-392)
            position.replica = NO_NODE
            self._groups = None
        else:
            self._out_of_range(position)
