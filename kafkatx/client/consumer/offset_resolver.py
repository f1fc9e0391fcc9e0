"""Where a consumer begins: at what the group has committed, or else at an end of the log.

And whether it may go on there when a partition has another leader: see
:mod:`kafkatx.client.consumer.epoch_validator`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeAlias

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.client.consumer.epoch_validator import Comparing
from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.consumer.fetch_requests import leader_epoch
from kafkatx.clientcore.consumer.partition_state import COMMITTED, OUTSIDE, RESETS, Position
from kafkatx.clientcore.consumer.subscription_state import Positions
from kafkatx.clientcore.errors import ClientClosed, NoOffset, OffsetOutOfRange, retriable
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.offsets import look_up
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import TopicPartition

FetchCommitted: TypeAlias = Callable[
    [Collection[TopicPartition]], Awaitable[Mapping[TopicPartition, OffsetAndMetadata | None]]
]


class Locating:
    """Finds the offset of each position that has none, and tries until it has it.

    :param committed: reads what the group has committed; None where there is no group.
    :param located: called when positions have got an offset, or an error.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        positions: Positions,
        committed: FetchCommitted | None,
        located: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._positions = positions
        self._committed = committed
        self._located = located
        self._reset = RESETS.get(settings[consumer.AUTO_OFFSET_RESET])
        self._isolation_level = int(settings[consumer.ISOLATION_LEVEL] == "read_committed")
        self._backoff = Backoff(
            first_ms=settings[common.RETRY_BACKOFF_MS],
            longest_ms=settings[common.RETRY_BACKOFF_MAX_MS],
            jitter=JITTER,
        )
        self._comparing = Comparing(cluster, self._reset)
        self._unlisten: Callable[[], None] = _nothing
        self._running: Deferred[None] | None = None
        self._rounds: Waiters[None] = Waiters()
        self._closed = False

    def start(self) -> None:
        """From now on positions are compared with the log of each leader that is new."""
        self._unlisten = self._cluster.on_metadata(lambda old, new: self.compare())

    def compare(self) -> None:
        """Have those positions checked that were read from another leader than there is now."""
        for position in self._positions:
            position.doubt(leader_epoch(self._cluster.metadata, position.place))
        self.look()

    def look(self) -> None:
        """See to it that all positions come to have an offset; nothing happens if that is under way."""
        if self._running is None and not self._closed and self._lost():
            self._running = Deferred()  # the coroutine may end before its Deferred is there
            running = Deferred.fromCoroutine(self._run())
            running.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed) and None)
            running.addErrback(lambda failure: self._log.failure("locating positions", failure))
            if self._running is not None:
                self._running = running

    async def known(self, position: Position) -> None:
        """Wait until a position has its offset.

        :raises KafkaTXError: it has got none.
        """
        while position.sought:
            if position.error is not None:
                raise position.error
            waiting = self._rounds.wait()
            self.look()
            await waiting

    def close(self) -> None:
        """End; who waits gets ClientClosed."""
        self._closed = True
        self._unlisten()
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
        self._rounds.fail(ClientClosed("the consumer was closed"))

    def out_of_range(self, position: Position) -> None:
        """The log does not have a position's offset: begin elsewhere if settings say where, else fail."""
        if self._reset is None:
            position.begin = OUTSIDE  # nothing is fetched before the leader has said what it has
        else:
            self._log.warn(
                "{place}: the log does not have offset {offset}; going on from the {reset}",
                place=position.place,
                offset=position.fetch_offset,
                reset="earliest" if self._reset == EARLIEST else "latest",
            )
            position.seek_to(self._reset)
        self.look()

    def _lost(self) -> list[Position]:
        return [position for position in self._positions if position.sought and not position.error]

    async def _run(self) -> None:
        failures = 0
        try:
            while lost := self._lost():
                before = len(lost)
                await self._round(lost)
                self._located()
                self._rounds.fire(None)
                left = self._lost()
                if left:
                    failures = failures + 1 if len(left) == before else 0
                    self._cluster.stale()
                    await deferLater(self._cluster.reactor, self._backoff.pause_s(failures))
        finally:
            self._running = None

    async def _round(self, lost: list[Position]) -> None:
        """Ask once for all of them."""
        turns = {position.place: position.turn for position in lost}
        committed = [position for position in lost if position.begin == COMMITTED]
        if committed:
            await self._ask_group(committed, turns)
        outside = [position for position in lost if position.begin == OUTSIDE]
        if outside:
            await self._tell_range(outside, turns)
        ends = {
            position.place: position.begin
            for position in lost
            if position.begin not in (None, COMMITTED, OUTSIDE) and position.turn == turns[position.place]
        }
        if ends:
            await self._ask_leaders(lost, ends, turns)
        await self._compare([position for position in self._lost() if position.unchecked])

    async def _ask_group(self, wanted: list[Position], turns: Mapping[TopicPartition, int]) -> None:
        found: Mapping[TopicPartition, OffsetAndMetadata | None] = {}
        if self._committed is not None:
            try:
                found = await self._committed([position.place for position in wanted])
            except KafkaTXError as error:
                self._failed(wanted, error, turns)
                return
        for position in wanted:
            if position.turn != turns[position.place]:
                continue
            offset = found.get(position.place)
            if offset is not None:
                position.found(offset.offset, offset.leader_epoch)
                position.doubt(leader_epoch(self._cluster.metadata, position.place))
            elif self._reset is None:
                position.fail(NoOffset(*position.place))
            else:
                position.begin = self._reset

    async def _ask_leaders(
        self, lost: list[Position], ends: Mapping[TopicPartition, Any], turns: Mapping[TopicPartition, int]
    ) -> None:
        found = await look_up(self._cluster, ends, self._isolation_level)
        for position in lost:
            outcome = found.get(position.place)
            if isinstance(outcome, KafkaTXError):
                self._failed([position], outcome, turns)
            elif outcome is not None and outcome.offset >= 0 and position.turn == turns[position.place]:
                position.found(outcome.offset)

    async def _tell_range(self, outside: list[Position], turns: Mapping[TopicPartition, int]) -> None:
        """Fail positions that are outside of their logs, with what the logs have."""
        ends: list[dict[TopicPartition, Any]] = []
        for end in (EARLIEST, LATEST):
            ends.append(
                await look_up(self._cluster, {one.place: end for one in outside}, self._isolation_level)
            )
        for position in outside:
            if position.turn != turns[position.place] or position.begin != OUTSIDE:
                continue
            earliest, latest = (found.get(position.place) for found in ends)
            failed = next((end for end in (earliest, latest) if isinstance(end, KafkaTXError)), None)
            if failed is not None:
                self._failed([position], failed, turns)
                continue
            position.begin = None
            known = [-1 if end is None else end.offset for end in (earliest, latest)]
            position.fail(OffsetOutOfRange(*position.place, position.fetch_offset, *known))

    async def _compare(self, doubtful: list[Position]) -> None:
        """Ask new leaders whether they have what was read; more than once where read-ahead has to go."""
        while doubtful:
            turns = {position.place: position.turn for position in doubtful}
            for position, error in (await self._comparing.ask(doubtful)).items():
                self._failed([position], error, turns)
            doubtful = [one for one in doubtful if one.unchecked and one.turn != turns[one.place]]

    def _failed(
        self, wanted: list[Position], error: KafkaTXError, turns: Mapping[TopicPartition, int]
    ) -> None:
        """What may pass is tried again, the application gets the rest."""
        if isinstance(error, ClientClosed):
            raise error
        if not retriable(error):
            for position in wanted:
                if position.turn == turns[position.place]:
                    position.fail(error)


def _nothing() -> None:
    pass
