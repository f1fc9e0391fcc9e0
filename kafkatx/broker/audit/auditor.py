"""The broker's counts for the audit: the leader of a partition counts its committed records, in rounds.

The straight path of produce and fetch knows nothing of it. A round reads back what was committed since the
last one, up to the high watermark, and counts it in a worker, in pieces of a few milliseconds. What it has
counted it announces as ranges of offsets (:mod:`kafkatx.clientcore.audit.ranges`), and then commits the
offsets that it has reached, as a consumer group does, so that the next leader goes on there.

A crash or a change of leaders between the two costs work only: the next leader announces a longer range with
the same beginning, and readers count one of them. Nothing is left out, because a range begins where an
announced one ends, or at the start of the log. What retention or compaction removed before it was counted is
told in the announcement (``absent``) and in the broker's log.

It touches logs, a worker, the clock, and brokers by the :class:`Channel` that it is handed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.audit.tally import Tally
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.clientcore.audit.ranges import MOST_WINDOWS, RangeAnnouncement
from kafkatx.clientcore.audit.tiers import BROKER
from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as settings
from kafkatx.errors import CorruptRecords, KafkaTXError, RequestError
from kafkatx.interfaces import IMetadataStore, Worker
from kafkatx.net.limited_log import LimitedLog
from kafkatx.types import Records, TopicPartition

READ_BYTES = 128 << 10
"""The size of one piece of work of the worker: others of the process run in between."""

AT_ONCE = 200
"""The number of ranges that are announced together, and that wait in memory."""

LOADED_AT_ONCE = 1000
"""The number of partitions whose positions are asked for together."""

COMMIT_AGAIN_S = 86_400.0
"""All positions are committed after this time, so that those of idle partitions do not expire."""


@attrs.frozen
class Position:
    """The end of what was announced of one partition.

    :ivar offset: the next offset to count.
    :ivar leader_epoch: the epoch of the last batch that was counted; -1: not known.
    :ivar topic_id: the id of the topic, as text.
    """

    offset: int
    leader_epoch: int
    topic_id: str


Positions = Mapping[TopicPartition, Position]


class Channel(Protocol):
    """The way to the brokers that lead the audit topic, and that keep the positions."""

    def load(self, partitions: Sequence[TopicPartition]) -> Deferred[Positions]:
        """Return the committed positions; partitions without one are left out.

        :return: fails with KafkaTXError.
        """

    def announce(self, events: Sequence[RangeAnnouncement]) -> Deferred[None]:
        """Write announcements; fires when all of them are committed, fails with KafkaTXError."""

    def commit(self, positions: Positions) -> Deferred[None]:
        """Commit positions; fails with KafkaTXError."""

    def close(self) -> Deferred[None]:
        """Close all connections."""


class BrokerAuditor:
    """Counts the partitions that this broker leads.

    :ivar positions: what was announced of each of them, as far as it is known here.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        topics: Topics,
        channel: Channel,
        clock: IReactorTime,
        worker: Worker,
        now_ms: Callable[[], int],
        limited_log: LimitedLog,
    ) -> None:
        self.positions: dict[Partition, Position] = {}
        self._metadata = metadata
        self._topics = topics
        self._channel = channel
        self._clock = clock
        self._worker = worker
        self._now_ms = now_ms
        self._limited_log = limited_log
        self._window_ms = config[settings.KAFKATX_AUDIT_INTERVAL_MS]
        self._audit_topic = config[settings.KAFKATX_AUDIT_TOPIC]
        self._pattern = re.compile(config[settings.KAFKATX_AUDIT_TOPICS])
        self._place = config[settings.KAFKATX_AUDIT_PLACE]
        percent = config[settings.KAFKATX_AUDIT_WORKER_PERCENT]
        self._pause_share = (100 - percent) / percent
        self._server = f"broker-{config.get('broker.id')}"
        self._rounds = LoopingCall(self._round_logged)
        self._rounds.clock = clock
        self._running: Deferred[None] | None = None
        self._all_committed_s = clock.seconds()

    def start(self) -> None:
        """Begin the rounds, the first after one interval; and follow the roles."""
        self._topics.role_listeners.append(self._role_changed)
        self._rounds.start(self._window_ms / 1000, now=False).addErrback(
            lambda failure: self._log.failure("the audit of this broker has ended", failure)
        )

    def stop(self) -> Deferred[None]:
        """End the rounds; fires when every connection is closed. The next leader counts the rest."""
        if self._rounds.running:
            self._rounds.stop()
        if self._running is not None:
            self._running.cancel()
        return self._channel.close()

    def _role_changed(self, partition: Partition, leading: bool) -> None:
        """Forget how far a partition is: another broker may have gone on, or does so now."""
        self.positions.pop(partition, None)

    # --- rounds

    def _round_logged(self) -> Deferred[None]:
        self._running = Deferred.fromCoroutine(self.round()).addErrback(self._failed)
        return self._running

    def _failed(self, failure: Failure) -> None:
        if failure.check(CancelledError):
            return
        if failure.check(KafkaTXError, OSError):
            self._limited_log.warn(
                "the counts of this broker could not be announced in {topic}; they are counted and"
                " announced again in the next round: {error}",
                topic=self._audit_topic,
                error=failure.value,
            )
        else:
            self._log.failure("a round of the audit failed", failure)

    async def round(self) -> None:
        """Count and announce what was committed since the last round.

        :raises KafkaTXError: the audit topic or the positions cannot be reached; all of that is done again.
        """
        led = [partition for partition in self._led() if self._has_news(partition)]
        await self._load([partition for partition in led if partition not in self.positions])
        events: list[RangeAnnouncement] = []
        reached: dict[Partition, Position] = {}
        for partition in led:
            goal = partition.high_watermark
            while (counted := await self._count(partition, reached.get(partition), goal)) is not None:
                event, reached[partition] = counted
                events += [event] if len(event.windows) <= MOST_WINDOWS else []
                if len(events) >= AT_ONCE:
                    await self._announce(events, reached)
                    events, reached = [], {}
        if reached:
            await self._announce(events, reached)
        await self._commit_all_when_due()

    def _led(self) -> Iterator[Partition]:
        for name in list(self._topics.partitions):
            if name != self._audit_topic and self._pattern.fullmatch(name):
                for partition in self._topics.of(name):
                    if partition.leads and not partition.offline and not partition.internal:
                        yield partition

    def _has_news(self, partition: Partition) -> bool:
        known = self.positions.get(partition)
        return known is None or partition.high_watermark > known.offset

    async def _announce(
        self, events: Sequence[RangeAnnouncement], reached: Mapping[Partition, Position]
    ) -> None:
        if events:
            await self._channel.announce(events)
        for partition, position in reached.items():
            if partition in self.positions:  # it may be another broker's now
                self.positions[partition] = position
        await self._commit({partition.topic_partition: position for partition, position in reached.items()})

    async def _commit(self, positions: Positions) -> None:
        try:
            await self._channel.commit(positions)
        except KafkaTXError as error:
            self._limited_log.warn(
                "the positions of the audit could not be committed; a next leader counts again what is"
                " announced already, which does no harm: {error}",
                error=error,
            )

    async def _commit_all_when_due(self) -> None:
        now_s = self._clock.seconds()
        if now_s - self._all_committed_s < COMMIT_AGAIN_S:
            return
        self._all_committed_s = now_s
        known = list(self.positions.items())
        for first in range(0, len(known), LOADED_AT_ONCE):
            piece = known[first : first + LOADED_AT_ONCE]
            await self._commit({partition.topic_partition: position for partition, position in piece})

    # --- positions

    async def _load(self, partitions: Sequence[Partition]) -> None:
        """Find out where to go on in partitions that this broker leads since the last round."""
        for first in range(0, len(partitions), LOADED_AT_ONCE):
            piece = partitions[first : first + LOADED_AT_ONCE]
            epochs = {partition: partition.leader_epoch for partition in piece}
            found = await self._channel.load([partition.topic_partition for partition in piece])
            for partition in piece:
                topic = self._metadata.state.topics.get(partition.topic_partition.topic)
                if topic is None or not partition.leads or partition.offline:
                    continue
                if partition.leader_epoch == epochs[partition]:
                    position = found.get(partition.topic_partition)
                    self.positions[partition] = self._begin(partition, position, str(topic.topic_id))

    def _begin(self, partition: Partition, found: Position | None, topic_id: str) -> Position:
        """Return where to go on: where the last leader was, as far as this log has what that one counted."""
        log = partition.log
        if found is None or found.topic_id != topic_id:
            return Position(log.log_start_offset, -1, topic_id)
        end: int = log.log_end_offset
        if found.leader_epoch >= 0:
            epoch, epoch_end = log.end_offset_for_epoch(found.leader_epoch)
            end = min(end, epoch_end) if epoch >= 0 else end
        if found.offset <= end:
            return found
        self._log.warn(
            "the audit has counted {partition} up to offset {offset}, but the log of this leader went on at"
            " {end}: an unclean election has lost records that were announced",
            partition=partition.topic_partition,
            offset=found.offset,
            end=end,
        )
        return Position(end, -1, topic_id)

    # --- one partition

    async def _count(
        self, partition: Partition, reached: Position | None, goal: int
    ) -> tuple[RangeAnnouncement, Position] | None:
        """Count a range of a partition; None if there is nothing more, or this broker leads it no more.

        :param goal: the offset at which to stop, exclusive.
        """
        position = reached or self.positions.get(partition)
        if position is None or position.offset >= goal:
            return None
        tally = Tally(position.offset, self._window_ms)
        try:
            deleted = await self._read(partition, tally, goal)
        except (OSError, RequestError, CorruptRecords) as error:
            self._limited_log.warn(
                "{partition} cannot be counted for the audit from offset {offset} on: {error}",
                partition=partition.topic_partition,
                offset=tally.end,
                error=error,
            )
            return None
        if tally.end == tally.start or partition not in self.positions:
            return None
        self._tell_of_absent(partition, tally, deleted)
        event = RangeAnnouncement(
            BROKER,
            self._place or self._metadata.state.cluster_id,
            self._server,
            *(partition.topic_partition.topic, position.topic_id, partition.topic_partition.partition),
            tally.start,
            tally.end,
            self._window_ms,
            tuple(sorted(tally.windows.items())),
            tally.absent,
            self._now_ms(),
        )
        epoch = position.leader_epoch if tally.epoch < 0 else tally.epoch
        return event, Position(tally.end, epoch, position.topic_id)

    async def _read(self, partition: Partition, tally: Tally, goal: int) -> int:
        """Count up to an offset, or until the range is full; return the number of offsets below the log's
        start.

        :raises OSError: the log cannot be read.
        :raises RequestError: the log does not have these offsets.
        :raises CorruptRecords: the end of a batch cannot be found.
        """
        deleted = 0
        while tally.end < goal and not tally.is_full and partition in self.positions:
            log = partition.log
            offset = max(tally.end, log.log_start_offset)
            deleted += offset - tally.end
            tally.end = offset
            if offset >= goal:
                break
            warming = log.warm(offset, READ_BYTES)
            if warming is not None:
                await warming
                if offset < log.log_start_offset:
                    continue
            records = log.read(offset, READ_BYTES, goal, True)
            if not len(records):
                tally.end = goal  # compaction has removed the last offsets
                break
            await self._take(tally, records)
            if tally.end == offset and not tally.is_full:
                raise CorruptRecords(f"no whole batch at offset {offset}")
        return deleted

    async def _take(self, tally: Tally, records: Records) -> None:
        """Count a piece in the worker, and pause for a part of the time that this took."""
        began_s = self._clock.seconds()
        await self._worker(partial(tally.take, records))
        pause_s = (self._clock.seconds() - began_s) * self._pause_share
        if pause_s > 0:
            await deferLater(self._clock, pause_s)

    def _tell_of_absent(self, partition: Partition, tally: Tally, deleted: int) -> None:
        if not tally.absent:
            return
        self._limited_log.warn(
            "{absent} offsets of {partition} between {start} and {end} had no record when the audit counted"
            " them: {deleted} were deleted before, {damaged} batches are unreadable, compaction has removed"
            " the others",
            absent=tally.absent,
            partition=partition.topic_partition,
            start=tally.start,
            end=tally.end,
            deleted=deleted,
            damaged=tally.damaged,
        )
