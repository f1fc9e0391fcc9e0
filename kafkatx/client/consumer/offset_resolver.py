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

from kafkatx.client.consumer.epoch_validator import EpochValidator
from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.consumer.fetch_requests import leader_epoch
from kafkatx.clientcore.consumer.partition_state import COMMITTED, OUT_OF_RANGE, RESETS, TopicPartitionState
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
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


class OffsetResolver:
    """Finds the offset of each position that has none, and tries until it has it.

    :param committed: reads what the group has committed; None where there is no group.
    :param located: called when positions have got an offset, or an error.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        positions: SubscriptionState,
        committed: FetchCommitted | None,
        located: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._subscriptions = positions
        self._committed = committed
        self._on_resolved = located
        self._reset = RESETS.get(settings[consumer.AUTO_OFFSET_RESET])
        self._isolation_level = int(settings[consumer.ISOLATION_LEVEL] == "read_committed")
        self._backoff = Backoff(
            first_ms=settings[common.RETRY_BACKOFF_MS],
            longest_ms=settings[common.RETRY_BACKOFF_MAX_MS],
            jitter=JITTER,
        )
        self._epoch_validator = EpochValidator(cluster, self._reset)
        self._unlisten: Callable[[], None] = _nothing
        self._running: Deferred[None] | None = None
        self._round_ended: Waiters[None] = Waiters()
        self._closed = False

    def start(self) -> None:
        """From now on positions are compared with the log of each leader that is new."""
        self._unlisten = self._cluster.on_metadata(lambda old, new: self.validate_positions())

    def validate_positions(self) -> None:
        """Have those positions checked that were read from another leader than there is now."""
        for position in self._subscriptions:
            position.maybe_validate(leader_epoch(self._cluster.metadata, position.topic_partition))
        self.resolve()

    def resolve(self) -> None:
        """See to it that all positions come to have an offset; nothing happens if that is under way."""
        if self._running is None and not self._closed and self._unresolved():
            self._running = Deferred()  # the coroutine may end before its Deferred is there
            running = Deferred.fromCoroutine(self._run())
            running.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed) and None)
            running.addErrback(lambda failure: self._log.failure("locating positions", failure))
            if self._running is not None:
                self._running = running

    async def wait_resolved(self, position: TopicPartitionState) -> None:
        """Wait until a position has its offset.

        :raises KafkaTXError: it has got none.
        """
        while position.unresolved:
            if position.error is not None:
                raise position.error
            waiting = self._round_ended.wait()
            self.resolve()
            await waiting

    def close(self) -> None:
        """End; who waits gets ClientClosed."""
        self._closed = True
        self._unlisten()
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
        self._round_ended.fail(ClientClosed("the consumer was closed"))

    def out_of_range(self, position: TopicPartitionState) -> None:
        """The log does not have a position's offset: begin elsewhere if settings say where, else fail."""
        if self._reset is None:
            position.start_at = OUT_OF_RANGE  # nothing is fetched before the leader has said what it has
        else:
            self._log.warn(
                "{place}: the log does not have offset {offset}; going on from the {reset}",
                place=position.topic_partition,
                offset=position.fetch_offset,
                reset="earliest" if self._reset == EARLIEST else "latest",
            )
            position.request_offset_reset(self._reset)
        self.resolve()

    def _unresolved(self) -> list[TopicPartitionState]:
        return [position for position in self._subscriptions if position.unresolved and not position.error]

    async def _run(self) -> None:
        failures = 0
        try:
            while lost := self._unresolved():
                before = len(lost)
                await self._resolve_once(lost)
                self._on_resolved()
                self._round_ended.fire(None)
                left = self._unresolved()
                if left:
                    failures = failures + 1 if len(left) == before else 0
                    self._cluster.stale()
                    await deferLater(self._cluster.reactor, self._backoff.pause_s(failures))
        finally:
            self._running = None

    async def _resolve_once(self, lost: list[TopicPartitionState]) -> None:
        """Ask once for all of them."""
        turns = {position.topic_partition: position.revision for position in lost}
        committed = [position for position in lost if position.start_at == COMMITTED]
        if committed:
            await self._resolve_committed(committed, turns)
        outside = [position for position in lost if position.start_at == OUT_OF_RANGE]
        if outside:
            await self._fail_out_of_range(outside, turns)
        ends = {
            position.topic_partition: position.start_at
            for position in lost
            if position.start_at not in (None, COMMITTED, OUT_OF_RANGE)
            and position.revision == turns[position.topic_partition]
        }
        if ends:
            await self._resolve_by_timestamp(lost, ends, turns)
        await self._validate([position for position in self._unresolved() if position.awaiting_validation])

    async def _resolve_committed(
        self, wanted: list[TopicPartitionState], turns: Mapping[TopicPartition, int]
    ) -> None:
        found: Mapping[TopicPartition, OffsetAndMetadata | None] = {}
        if self._committed is not None:
            try:
                found = await self._committed([position.topic_partition for position in wanted])
            except KafkaTXError as error:
                self._failed(wanted, error, turns)
                return
        for position in wanted:
            if position.revision != turns[position.topic_partition]:
                continue
            offset = found.get(position.topic_partition)
            if offset is not None:
                position.set_position(offset.offset, offset.leader_epoch)
                position.maybe_validate(leader_epoch(self._cluster.metadata, position.topic_partition))
            elif self._reset is None:
                position.fail(NoOffset(*position.topic_partition))
            else:
                position.start_at = self._reset

    async def _resolve_by_timestamp(
        self,
        lost: list[TopicPartitionState],
        ends: Mapping[TopicPartition, Any],
        turns: Mapping[TopicPartition, int],
    ) -> None:
        found = await look_up(self._cluster, ends, self._isolation_level)
        for position in lost:
            outcome = found.get(position.topic_partition)
            if isinstance(outcome, KafkaTXError):
                self._failed([position], outcome, turns)
            elif (
                outcome is not None
                and outcome.offset >= 0
                and position.revision == turns[position.topic_partition]
            ):
                position.set_position(outcome.offset)

    async def _fail_out_of_range(
        self, outside: list[TopicPartitionState], turns: Mapping[TopicPartition, int]
    ) -> None:
        """Fail positions that are outside of their logs, with what the logs have."""
        ends: list[dict[TopicPartition, Any]] = []
        for end in (EARLIEST, LATEST):
            ends.append(
                await look_up(
                    self._cluster, {one.topic_partition: end for one in outside}, self._isolation_level
                )
            )
        for position in outside:
            if position.revision != turns[position.topic_partition] or position.start_at != OUT_OF_RANGE:
                continue
            earliest, latest = (found.get(position.topic_partition) for found in ends)
            failed = next((end for end in (earliest, latest) if isinstance(end, KafkaTXError)), None)
            if failed is not None:
                self._failed([position], failed, turns)
                continue
            position.start_at = None
            known = [-1 if end is None else end.offset for end in (earliest, latest)]
            position.fail(OffsetOutOfRange(*position.topic_partition, position.fetch_offset, *known))

    async def _validate(self, doubtful: list[TopicPartitionState]) -> None:
        """Ask new leaders whether they have what was read; more than once where read-ahead has to go."""
        while doubtful:
            turns = {position.topic_partition: position.revision for position in doubtful}
            for position, error in (await self._epoch_validator.validate(doubtful)).items():
                self._failed([position], error, turns)
            doubtful = [
                one
                for one in doubtful
                if one.awaiting_validation and one.revision != turns[one.topic_partition]
            ]

    def _failed(
        self, wanted: list[TopicPartitionState], error: KafkaTXError, turns: Mapping[TopicPartition, int]
    ) -> None:
        """What may pass is tried again, the application gets the rest."""
        if isinstance(error, ClientClosed):
            raise error
        if not retriable(error):
            for position in wanted:
                if position.revision == turns[position.topic_partition]:
                    position.fail(error)


def _nothing() -> None:
    pass
