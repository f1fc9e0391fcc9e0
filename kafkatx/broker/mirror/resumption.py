"""The comparison of mirrors' logs with those of their source's leader, before the first fetch from it.

It touches the connection to one broker of the source, by a function that it is handed, and the logs.

A source may have lost records that were copied: by an unclean election, or with its disk. Their leader epochs
tell: the source is asked where its log ends the last epoch of the copy. If it ends there earlier, the copy is
cut to the offset where both agree (:mod:`kafkatx.broker.replica.fetcher.truncation`), also below its high
watermark: a mirror is what its source is. The leader epoch is raised before, so that followers compare their
logs, too, and nothing counts that they have told of the lost records.

The source's log start is asked for as well: a copy that ends before it begins anew there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from twisted.logger import Logger

from kafkatx.broker.mirror.leader_epochs import LeaderEpochs
from kafkatx.broker.mirror.mirrored_partition import MOVED, MirroredPartition
from kafkatx.broker.replica.fetcher.truncation import truncation_offset
from kafkatx.broker.replica.partition import Partition
from kafkatx.clientcore import list_offsets
from kafkatx.clientcore.consumer import leader_epochs
from kafkatx.clientcore.consumer.leader_epochs import EpochEndOffset, EpochQuery
from kafkatx.clientcore.metadata import NO_TOPIC_ID
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition
from kafkatx.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafkatx.wire.schema import Message

MOST_CHANGES = 20
"""Logs that are cut or emptied in one turn of the reactor."""

CONSUMERS = 0
"""The isolation level at which a log ends at its high watermark."""


Ask = Callable[[Message, "int | None"], Awaitable[Any]]
"""Sends a request in a version, None for the highest, and returns the reply."""


class Resumption:
    """One comparison of logs with those of one broker of the source, which leads the partitions.

    Leaders may change meanwhile, there and here; then nothing follows from an answer.

    :param version_for: returns the version of a request that the broker speaks.
    :param pause: waits for the next turn of the reactor.
    """

    _log = Logger()

    def __init__(
        self,
        mirrored: Collection[MirroredPartition],
        epochs: LeaderEpochs,
        ask: Ask,
        version_for: Callable[[type[Message]], int],
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        self._sources = {one: one.source for one in mirrored if one.source is not None}
        self._led: dict[MirroredPartition, int] = {}
        self._epochs = epochs
        self._ask = ask
        self._version_for = version_for
        self._pause = pause
        self._changes = 0

    async def run(self) -> None:
        """Make the partitions agree with the source; those that do not yet are to be resumed again.

        A pause, or a reason for people, tells what hinders one.

        :raises KafkaTXError: the broker does not answer.
        """
        ready = await self._raise_epochs({one: _least_epoch(one) for one in self._sources})
        ready = await self._agree(ready)
        starts = await self._starts(ready)
        for one in ready:
            start = starts.get(one.partition.topic_partition)
            if start is None or not self._is_current(one):
                continue
            if isinstance(start, RequestError):
                _failed(one, start)
            elif self._start_at(one, start.offset):
                await self._changed_file()

    async def _changed_file(self) -> None:
        """Give the broker's other work its turn after some changes of files."""
        self._changes += 1
        if self._changes % MOST_CHANGES == 0:
            await self._pause()

    def _is_current(self, one: MirroredPartition) -> bool:
        """Return True if neither leader has changed."""
        return (
            one.may_append
            and one.source == self._sources[one]
            and one.partition.leader_epoch == self._led[one]
        )

    # --- leader epochs

    async def _raise_epochs(self, wanted: dict[MirroredPartition, int]) -> list[MirroredPartition]:
        """Lead partitions in these epochs, or later ones; return those where that is so."""
        refused = await self._epochs.raise_to({one.partition: epoch for one, epoch in wanted.items()})
        ready = []
        for one, epoch in wanted.items():
            code = refused.get(one.partition)
            if code is not None:
                one.pause(f"its leader epoch could not be raised to {epoch}: {code.name}", patient=True)
            elif one.partition.leader_epoch >= epoch and one.may_append:
                self._led[one] = one.partition.leader_epoch
                ready.append(one)
        return ready

    # --- the end

    async def _agree(self, mirrored: Sequence[MirroredPartition]) -> list[MirroredPartition]:
        """Cut the logs to where they agree with the source; return those that do."""
        queries = {
            one.partition.topic_partition: EpochQuery(
                self._sources[one].leader_epoch, one.partition.log.latest_epoch
            )
            for one in mirrored
            if one.partition.log.latest_epoch != NO_LEADER_EPOCH
        }
        version = self._epochs_version()
        if not queries or version < leader_epochs.FIRST_VERSION:
            return list(mirrored)
        ends = leader_epochs.results(await self._ask(leader_epochs.request(queries), version))
        agreeing, cuts = [], {}
        for one in mirrored:
            name = one.partition.topic_partition
            end = ends.get(name)
            if not self._is_current(one):
                continue
            if name not in queries:
                agreeing.append(one)
            elif end is None:
                one.pause("the source's reply about leader epochs leaves it out")
            elif isinstance(end, RequestError):
                _failed(one, end)
            else:
                offset = _agreed_offset(one.partition, end)
                if offset < one.partition.log.log_end_offset:
                    cuts[one] = offset
                else:
                    agreeing.append(one)
        if cuts:
            await self._cut(cuts)
        return agreeing

    def _epochs_version(self) -> int:
        """Return the version in which the source tells of leader epochs; -1 if it does not."""
        try:
            return self._version_for(OffsetForLeaderEpochRequest)
        except RequestError:
            return -1

    async def _cut(self, cuts: dict[MirroredPartition, int]) -> None:
        """Cut logs; they are compared again, as the source may have diverged in an earlier epoch."""
        for one in [one for one, offset in cuts.items() if _looks_like_another(one, offset)]:
            del cuts[one]
            one.pause(
                "nothing in it agrees with the source's log, whose topic has no id: it may be another topic"
                " of this name; promote it to keep what is here, or delete it to mirror it anew"
            )
        raised = await self._raise_epochs({one: one.partition.leader_epoch + 1 for one in cuts})
        for one in raised:
            if self._is_current(one):
                self._cut_one(one, cuts[one])
                await self._changed_file()

    def _cut_one(self, one: MirroredPartition, offset: int) -> None:
        partition = one.partition
        end_offset, high_watermark = partition.log.log_end_offset, partition.high_watermark
        try:
            partition.log.truncate_to(offset)
        except OSError as error:
            one.pause(f"its log failed: {error}")
            return
        partition.moved_back(min(high_watermark, offset))
        one.note_cut(offset, end_offset)
        self._log.error(
            "{partition} was cut from offset {end_offset} to {offset}, its high watermark was"
            " {high_watermark}: the source of the mirror link {link} has lost these records, as by an unclean"
            " election",
            partition=partition.topic_partition,
            end_offset=end_offset,
            offset=offset,
            high_watermark=high_watermark,
            link=one.record.link,
        )

    # --- the start

    async def _starts(
        self, mirrored: Sequence[MirroredPartition]
    ) -> dict[TopicPartition, list_offsets.OffsetAndTimestamp | RequestError]:
        wanted = {one.partition.topic_partition: list_offsets.EARLIEST for one in mirrored}
        if not wanted:
            return {}
        return list_offsets.results(await self._ask(list_offsets.request(wanted, CONSUMERS), None))

    def _start_at(self, one: MirroredPartition, start: int) -> bool:
        """Begin at the source's log start, if this log ends before it; then the partition is resumed.

        Return True if the log was emptied.
        """
        partition = one.partition
        end_offset = partition.log.log_end_offset
        if end_offset < start:
            try:
                partition.log.restart_at(start)
            except OSError as error:
                one.pause(f"its log failed: {error}")
                return False
            partition.moved_back(start)
            self._log.info(
                "{partition} begins at offset {offset}, the start of the source's log; it had ended at {end}",
                partition=partition.topic_partition,
                offset=start,
                end=end_offset,
            )
        one.follow_start(start)
        one.resumed = (self._sources[one], self._led[one])
        return end_offset < start


def _least_epoch(one: MirroredPartition) -> int:
    """Return the leader epoch that a partition needs for all that its source may send."""
    wanted, one.wanted_epoch = one.wanted_epoch, -1
    return max(wanted, one.source.leader_epoch if one.source is not None else -1)


def _agreed_offset(partition: Partition, end: EpochEndOffset) -> int:
    """Return the offset to cut a log to; its end if it agrees.

    A source that knows no epoch up to the asked one cannot tell.
    """
    if end.leader_epoch == NO_LEADER_EPOCH or end.end_offset < 0:
        return int(partition.log.log_end_offset)
    return truncation_offset(partition.log, end.leader_epoch, end.end_offset)


def _looks_like_another(one: MirroredPartition, offset: int) -> bool:
    """Return True if a log without a topic's id at the source would lose all that it has."""
    return one.record.source_id == NO_TOPIC_ID and offset <= one.partition.log.log_start_offset


def _failed(one: MirroredPartition, error: RequestError) -> None:
    if error.code in MOVED:
        one.moved(error.code)
    else:
        one.pause(f"the source answers {ErrorCode.of(error.code).name}")
