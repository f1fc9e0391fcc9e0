"""Resolution of start offsets: the group's committed offset, or else an end of the log.

Positions are also validated here after a leader change, by :mod:`kafkatx.client.consumer.epoch_validator`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

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
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST, OffsetAndTimestamp
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
    """Finds the offset of each partition without one, and retries until it has it.

    :param committed: reads the group's committed offsets; None without a group.
    :param on_resolved: called when partitions have got an offset or an error.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        subscriptions: SubscriptionState,
        committed: FetchCommitted | None,
        on_resolved: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._committed = committed
        self._on_resolved = on_resolved
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
        """Start to validate positions after leader changes."""
        self._unlisten = self._cluster.on_metadata(lambda old, new: self.validate_positions())

    def validate_positions(self) -> None:
        """Validate the positions that were read from another leader than the current one."""
        for state in self._subscriptions:
            state.maybe_validate(leader_epoch(self._cluster.metadata, state.topic_partition))
        self.resolve()

    def resolve(self) -> None:
        """Start to resolve all positions, unless that is in progress."""
        if self._running is None and not self._closed and self._unresolved():
            self._running = Deferred()  # the coroutine may end before its Deferred is assigned
            running = Deferred.fromCoroutine(self._run())
            running.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed) and None)
            running.addErrback(lambda failure: self._log.failure("resolving offsets", failure))
            if self._running is not None:
                self._running = running

    async def wait_resolved(self, state: TopicPartitionState) -> None:
        """Wait until a partition's position is known.

        :raises KafkaTXError: it cannot be resolved.
        """
        while state.unresolved:
            if state.error is not None:
                raise state.error
            waiting = self._round_ended.wait()
            self.resolve()
            await waiting

    def close(self) -> None:
        """Stop; calls of :meth:`wait_resolved` fail with ClientClosed."""
        self._closed = True
        self._unlisten()
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
        self._round_ended.fail(ClientClosed("the consumer was closed"))

    def out_of_range(self, state: TopicPartitionState) -> None:
        """Reset a position that the log does not have; fail if ``auto.offset.reset`` is ``none``."""
        if self._reset is None:
            state.start_at = OUT_OF_RANGE  # fetch nothing until the log's range of offsets is known
        else:
            self._log.warn(
                "{topic_partition}: the log does not have offset {offset}; continuing from the {reset}",
                topic_partition=state.topic_partition,
                offset=state.fetch_offset,
                reset="earliest" if self._reset == EARLIEST else "latest",
            )
            state.request_offset_reset(self._reset)
        self.resolve()

    def _unresolved(self) -> list[TopicPartitionState]:
        return [state for state in self._subscriptions if state.unresolved and not state.error]

    async def _run(self) -> None:
        failures = 0
        try:
            while unresolved := self._unresolved():
                before = len(unresolved)
                await self._resolve_once(unresolved)
                self._on_resolved()
                self._round_ended.fire(None)
                left = self._unresolved()
                if left:
                    failures = failures + 1 if len(left) == before else 0
                    self._cluster.stale()
                    await deferLater(self._cluster.reactor, self._backoff.pause_s(failures))
        finally:
            self._running = None

    async def _resolve_once(self, unresolved: list[TopicPartitionState]) -> None:
        """Send one round of requests for all of *unresolved*."""
        revisions = {state.topic_partition: state.revision for state in unresolved}
        committed = [state for state in unresolved if state.start_at == COMMITTED]
        if committed:
            await self._resolve_committed(committed, revisions)
        out_of_range = [state for state in unresolved if state.start_at == OUT_OF_RANGE]
        if out_of_range:
            await self._fail_out_of_range(out_of_range, revisions)
        ends = {
            state.topic_partition: state.start_at
            for state in unresolved
            if state.start_at not in (None, COMMITTED, OUT_OF_RANGE)
            and state.revision == revisions[state.topic_partition]
        }
        if ends:
            await self._resolve_by_timestamp(unresolved, ends, revisions)
        await self._validate([state for state in self._unresolved() if state.awaiting_validation])

    async def _resolve_committed(
        self, wanted: list[TopicPartitionState], revisions: Mapping[TopicPartition, int]
    ) -> None:
        found: Mapping[TopicPartition, OffsetAndMetadata | None] = {}
        if self._committed is not None:
            try:
                found = await self._committed([state.topic_partition for state in wanted])
            except KafkaTXError as error:
                self._failed(wanted, error, revisions)
                return
        for state in wanted:
            if state.revision != revisions[state.topic_partition]:
                continue
            offset = found.get(state.topic_partition)
            if offset is not None:
                state.set_position(offset.offset, offset.leader_epoch)
                state.maybe_validate(leader_epoch(self._cluster.metadata, state.topic_partition))
            elif self._reset is None:
                state.fail(NoOffset(*state.topic_partition))
            else:
                state.start_at = self._reset

    async def _resolve_by_timestamp(
        self,
        unresolved: list[TopicPartitionState],
        ends: Mapping[TopicPartition, int],
        revisions: Mapping[TopicPartition, int],
    ) -> None:
        found = await look_up(self._cluster, ends, self._isolation_level)
        for state in unresolved:
            outcome = found.get(state.topic_partition)
            if isinstance(outcome, KafkaTXError):
                self._failed([state], outcome, revisions)
            elif (
                outcome is not None
                and outcome.offset >= 0
                and state.revision == revisions[state.topic_partition]
            ):
                state.set_position(outcome.offset)

    async def _fail_out_of_range(
        self, out_of_range: list[TopicPartitionState], revisions: Mapping[TopicPartition, int]
    ) -> None:
        """Raise OffsetOutOfRange to the application, with the range of offsets that the log has."""
        ends: list[dict[TopicPartition, OffsetAndTimestamp | KafkaTXError]] = []
        for end in (EARLIEST, LATEST):
            ends.append(
                await look_up(
                    self._cluster, {one.topic_partition: end for one in out_of_range}, self._isolation_level
                )
            )
        for state in out_of_range:
            if state.revision != revisions[state.topic_partition] or state.start_at != OUT_OF_RANGE:
                continue
            earliest, latest = (found.get(state.topic_partition) for found in ends)
            failed = next((end for end in (earliest, latest) if isinstance(end, KafkaTXError)), None)
            if failed is not None:
                self._failed([state], failed, revisions)
                continue
            state.start_at = None
            known = [end.offset if isinstance(end, OffsetAndTimestamp) else -1 for end in (earliest, latest)]
            state.fail(OffsetOutOfRange(*state.topic_partition, state.fetch_offset, *known))

    async def _validate(self, states: list[TopicPartitionState]) -> None:
        """Validate positions; more than once if buffered records have to be dropped."""
        while states:
            revisions = {state.topic_partition: state.revision for state in states}
            for state, error in (await self._epoch_validator.validate(states)).items():
                self._failed([state], error, revisions)
            states = [
                one
                for one in states
                if one.awaiting_validation and one.revision != revisions[one.topic_partition]
            ]

    def _failed(
        self, wanted: list[TopicPartitionState], error: KafkaTXError, revisions: Mapping[TopicPartition, int]
    ) -> None:
        """Raise an error to the application unless it is retriable."""
        if isinstance(error, ClientClosed):
            raise error
        if not retriable(error):
            for state in wanted:
                if state.revision == revisions[state.topic_partition]:
                    state.fail(error)


def _nothing() -> None:
    pass
