"""One partition that this broker copies from its leader: what to ask for, and what to do with an answer.

It touches the partition and its log, starts flushes, and reads the clock.
:mod:`~kafkatx.broker.replica.fetcher.replica_fetcher` has the connection and the loop,
:mod:`~kafkatx.broker.replica.fetcher.truncation` finds the offset where two logs agree.

======================================================  ==================================================
an answer                                               its effect
======================================================  ==================================================
to another leader epoch, or an offset that is not the   none: the log was cut, or the leader changed
log's end any more
OFFSET_OUT_OF_RANGE, the leader's log ends earlier      the log is cut to that end
OFFSET_OUT_OF_RANGE, the leader's log starts later      the log is emptied, and starts there
another error                                           a pause
``diverging_epoch``                                     the log is cut; nothing else of it is used
                                                        (KAFKA-14704)
the same cut for the third time and later, each after   the log is cut, and a pause: the leader's epochs
records were appended                                   contradict its own batches
records that begin within a batch, whose first offsets  the log is emptied, and starts where the leader's
the leader has deleted                                  does; they are appended whole
records that begin below the log's end, where this log  the log's end goes back to their first offset
has only the gap of a cut
records, or none                                        they are appended as they are; the high watermark
                                                        and the log start follow
======================================================  ==================================================

Where the leader's log starts within a batch, DeleteRecords was asked for an offset there. A log that ends at
that offset may end with other records: no leader epoch can tell, because the leader knows none from before.
Apache Kafka's follower fails then for good (``UnexpectedAppendOffsetException``) unless its log is empty.

The next fetch of the partition acknowledges what was appended, so it waits for the flush that
``flush.messages`` asks for. It also says that records below the log start are deleted here for good, so it
waits until a new log start is on the disk (DeleteRecords).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.fetcher.truncation import truncation_offset
from kafkatx.broker.replica.flushes import FlushScheduler
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import Following
from kafkatx.broker.replica.throttles import ReplicationThrottle
from kafkatx.clientcore.backoff import Backoff
from kafkatx.errors import CorruptRecords, ErrorCode
from kafkatx.net.limited_log import LimitedLog
from kafkatx.records.batch import HEADER_BYTES, MAGIC_AT, parse_header
from kafkatx.records.header import MAGIC
from kafkatx.types import NO_LEADER_EPOCH, FileSlice
from kafkatx.wire.messages.fetch import EpochEndOffset, FetchPartition, PartitionData

SAME_CUTS = 3
"""A cut at the same offset for this many times in a row is followed by a pause."""

THROTTLED_S = 1.0
"""The longest pause of a copy that is held back: the limit may change meanwhile."""

EXPECTED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""The errors of a leader that knows an older or a newer state than this broker, mostly for a moment."""


class Follower:
    """A partition as it is copied from one leader in one leader epoch.

    :ivar role: the role for which it was made; the partition has another one when this is over.
    :ivar topic_id: the id of the topic to which the log belongs.
    :ivar not_before_s: the end of the pause after an error, by the clock.
    :ivar flushing: the flush, or the saving of the log start, for which the next fetch waits.
    :ivar has_new_start: True if the log start has moved and is not known to be on the disk.
    :param save_start: brings the log start to the disk.
    :param on_flushed: called when :attr:`flushing` has ended.
    """

    _log = Logger()

    def __init__(
        self,
        partition: Partition,
        role: Following,
        topic_id: uuid.UUID,
        clock: IReactorTime,
        flushes: FlushScheduler,
        backoff: Backoff,
        limited_log: LimitedLog,
        throttle: ReplicationThrottle,
        save_start: Callable[[], Deferred[None]],
        on_flushed: Callable[[], None],
    ) -> None:
        self.partition = partition
        self.role = role
        self.topic_id = topic_id
        self.not_before_s = 0.0
        self.flushing: Deferred[Any] | None = None
        self.has_new_start = False
        self._save_start = save_start
        self._clock = clock
        self._on_flushed = on_flushed
        self._flushes = flushes
        self._backoff = backoff
        self._limited_log = limited_log
        self._throttle = throttle
        self._failures = 0
        self._begun = False
        self._appended = True
        self._cut_at = -1
        self._same_cuts = 0

    def is_ready(self) -> bool:
        """Return True if the partition can be asked for now; begin what must be done to its log before."""
        if self.partition.offline or self.flushing is not None or self.not_before_s > self._clock.seconds():
            return False
        if not self._begun and not self._begin():
            return False
        if self._throttle.is_on and self._is_held_back():
            return False
        if self.has_new_start:
            self.has_new_start = False
            self._wait_for(self._save_start().addErrback(self._not_saved))
        if self.flushing is None and self.partition.must_flush:
            self._wait_for(self.partition.log.flush())
        return self.flushing is None and not self.has_new_start

    def _is_held_back(self) -> bool:
        """Return True if a throttle makes this copy wait for now: it is not in sync, and there are others."""
        throttle, partition = self._throttle, self.partition
        if throttle.broker_id in partition.isr or not throttle.holds_back(partition.topic_partition):
            return False
        self.not_before_s = self._clock.seconds() + min(throttle.pause_s(), THROTTLED_S)
        return True

    def _not_saved(self, failure: Failure) -> Failure:
        self.has_new_start = True
        return failure

    def ask(self, max_bytes: int) -> FetchPartition:
        """Return the part of a fetch request for this partition, which is ready.

        The last fetched epoch is read from the log each time (KAFKA-15510).
        """
        log = self.partition.log
        return FetchPartition(
            self.partition.topic_partition.partition,
            self.role.leader_epoch,
            log.log_end_offset,
            log.latest_epoch,
            self.partition.kept_start,
            max_bytes,
        )

    def _begin(self) -> bool:
        """Cut records whose leader epochs are unknown to the high watermark: no leader can compare them.

        Return False if the log could not be cut.
        """
        log = self.partition.log
        self._limited_log.info(
            "copies {partition} from broker {leader} in leader epoch {epoch}, from offset {offset} on",
            partition=self.partition.topic_partition,
            leader=self.role.leader,
            epoch=self.role.leader_epoch,
            offset=log.log_end_offset,
        )
        if log.latest_epoch == NO_LEADER_EPOCH:
            try:
                self._cut(max(self.partition.high_watermark, log.log_start_offset))
            except OSError as error:
                self._pause(f"its log failed: {error}")
                return False
        self._begun = True
        return True

    # --- answers

    def take(self, asked_offset: int, answer: PartitionData) -> int:
        """Take the answer to a fetch, by the table above; return the number of bytes appended.

        :param asked_offset: the fetch offset that it answers.
        """
        partition = self.partition
        if partition.role != self.role or partition.log.log_end_offset != asked_offset:
            return 0
        try:
            size = self._take(answer)
        except CorruptRecords as error:
            partition.log.discard()
            self._pause(f"what broker {self.role.leader} sent cannot be appended: {error}")
        except OSError as error:
            partition.log.discard()
            self._pause(f"its log failed: {error}")
        except Exception:
            partition.log.discard()
            self._limited_log.failure("copying {partition} failed", partition=partition.topic_partition)
            self._pause("see the failure before this line")
        else:
            return size
        return 0

    def _take(self, answer: PartitionData) -> int:
        log = self.partition.log
        found, code = answer.diverging_epoch, answer.error_code
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            end_offset = -1 if found is None else found.end_offset
            if 0 <= end_offset < log.log_end_offset:
                self._cut(end_offset)
            elif answer.log_start_offset > log.log_end_offset:
                self._restart(answer.log_start_offset)
            else:
                self._pause(f"offset {log.log_end_offset} is out of its leader's range")
        elif code:
            quiet = code in EXPECTED
            self._pause(None if quiet else f"broker {self.role.leader} answers {ErrorCode.of(code).name}")
        elif found is not None and found.end_offset >= 0:
            self._diverges(found)
        else:
            self._failures = 0
            return self._append(answer)
        return 0

    def _diverges(self, found: EpochEndOffset) -> None:
        """Cut the log to where it agrees with the leader's."""
        log = self.partition.log
        before = (log.log_end_offset, log.latest_epoch)
        offset = truncation_offset(log, found.epoch, found.end_offset)
        self._cut(offset)
        if (log.log_end_offset, log.latest_epoch) == before:
            self._pause(f"its log ends epoch {found.epoch} as broker {self.role.leader}'s does not")
        elif self._appended:
            # The leader had agreed with all before the records that it now says to cut off.
            self._appended = False
            self._same_cuts = self._same_cuts + 1 if offset == self._cut_at else 1
            self._cut_at = offset
            if self._same_cuts >= SAME_CUTS:
                self._failures = self._same_cuts - SAME_CUTS
                self._pause(
                    f"broker {self.role.leader} sends records from offset {offset} on, and then says to cut"
                    f" them off, {self._same_cuts} times by now: its leader-epoch-checkpoint and its batches"
                    f" contradict each other; run `kafkatx log verify` there"
                )

    def _append(self, answer: PartitionData) -> int:
        partition = self.partition
        log = partition.log
        records = answer.records
        size = 0
        if records:
            assert not isinstance(records, FileSlice)  # it was received
            if not self._make_room(memoryview(records), answer.log_start_offset):
                return 0
            size = log.append_as_follower(memoryview(records), self.role.leader_epoch)
            if not size:
                self._pause(f"broker {self.role.leader} sends less than one batch")
                return 0
            log.write()
            self._appended = True
            if self._throttle.is_on and self._throttle.broker_id not in partition.isr:
                self._throttle.count(partition.topic_partition, size)
        start = log.log_start_offset
        partition.followed(answer.high_watermark, answer.log_start_offset)
        if log.log_start_offset != start:
            self.has_new_start = True
        if size and partition.flush_s is not None and partition.flush_timer is None:
            self._flushes.schedule(partition)
        return size

    def _make_room(self, records: memoryview, leader_start: int) -> bool:
        """Cut the log if the first batch reaches from below its end to above it; False: ask again.

        A batch that would overwrite records stays refused, unless the leader has deleted all of them.
        """
        log = self.partition.log
        start, end_offset, base = log.log_start_offset, log.log_end_offset, int.from_bytes(records[:8], "big")
        if base >= end_offset or start == end_offset:
            return True  # an empty log takes such a batch
        if len(records) < HEADER_BYTES or records[MAGIC_AT] != MAGIC:
            return True
        if parse_header(records).last_offset < end_offset:
            return True
        if leader_start == end_offset:
            self._restart(end_offset)
        elif not log.read(max(base, start), 1, end_offset, True):
            self._cut(base)
            return False
        return True

    def _wait_for(self, flushing: Deferred[Any]) -> None:
        self.flushing = flushing
        flushing.addBoth(self._flushed)  # perhaps at once

    def _flushed(self, result: object) -> None:
        self.flushing = None
        if isinstance(result, Failure):
            if not result.check(OSError):
                self._log.failure("flushing {name} failed", result, name=self.partition.topic_partition)
            self._pause(None)  # the store takes the log dir offline, where the disk has failed
        self._on_flushed()

    # --- cuts

    def _cut(self, offset: int) -> None:
        """Remove the records from *offset* on, and what the log knows of epochs that begin there."""
        partition = self.partition
        log, high_watermark, end_offset = (
            partition.log,
            partition.high_watermark,
            partition.log.log_end_offset,
        )
        log.truncate_to(offset)
        partition.truncated()
        if offset >= end_offset:
            return
        values = {
            "partition": partition.topic_partition,
            "offset": offset,
            "end_offset": end_offset,
            "leader": self.role.leader,
            "epoch": self.role.leader_epoch,
            "high_watermark": high_watermark,
        }
        if offset < high_watermark:
            self._log.error(
                "{partition} was cut from offset {end_offset} to {offset}, below its high watermark"
                " {high_watermark}: broker {leader} leads it in epoch {epoch} without these records, by an"
                " unclean election",
                **values,
            )
        else:
            self._limited_log.info(
                "{partition} was cut from offset {end_offset} to {offset}, where it agrees with broker"
                " {leader}, the leader in epoch {epoch}; nothing of it was committed",
                **values,
            )

    def _restart(self, offset: int) -> None:
        """Empty the log: the leader has deleted the records that follow it."""
        partition = self.partition
        before = (partition.log.log_start_offset, partition.log.log_end_offset)
        log = partition.log
        log.restart_at(offset)
        partition.truncated()
        partition.followed(offset, offset)
        self.has_new_start = True
        self._limited_log.info(
            "{partition} was emptied and begins at offset {offset}, the start of its leader's log; it had"
            " offsets {first} to {end}",
            partition=partition.topic_partition,
            offset=offset,
            first=before[0],
            end=before[1],
        )

    def _pause(self, reason: str | None) -> None:
        """Ask again later; *reason* goes to the broker's log unless it is None."""
        self.not_before_s = self._clock.seconds() + self._backoff.pause_s(self._failures)
        self._failures += 1
        if reason is not None:
            self._limited_log.warn(
                "{partition} is not copied for now: {reason}",
                partition=self.partition.topic_partition,
                reason=reason,
            )
