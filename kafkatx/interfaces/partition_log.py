"""The interface of a partition's log.

A Deferred must not be cancelled unless its method says what cancelling does. The attributes are annotated
with their types, which mypy checks where an interface is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zope.interface import Attribute, Interface

from kafkatx.interfaces.appends import IAppended
from kafkatx.interfaces.retention import ISegmentFacts

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

    from kafkatx.config.log_config import LogConfig
    from kafkatx.counts import WriteCounts
    from kafkatx.types import ActiveProducer, Marker, Records, TopicPartition

NO_LIMIT = 2**63 - 1
"""The ``deletable_end`` of a log of which everything may be deleted."""


class IPartitionLog(Interface):
    """The records of one partition.

    Offsets are dense and increasing. ``append`` stages records and ``write`` writes them: several appends
    before one write cost one system call. Staged records are neither visible to ``read`` nor counted in
    ``log_end_offset``. A log is used from the reactor thread only; blocking calls run in the store's workers.
    """

    topic_partition: TopicPartition = Attribute("The partition.")
    config: LogConfig = Attribute("The settings; replaced by configure().")
    log_start_offset: int = Attribute("The first offset that can be read.")
    log_end_offset: int = Attribute("The offset of the next record; only written records count.")
    flushed_offset: int = Attribute("All records below it are known to be synced to the disk.")
    size_bytes: int = Attribute("Size of all segments.")
    written: WriteCounts = Attribute("Counts of what was written since the log was opened.")
    segments: Sequence[ISegmentFacts] = Attribute("The segments, oldest first; the last is the active one.")
    latest_epoch: int = Attribute(
        "The latest leader epoch that the log knows, by batch or begin_epoch(); or -1."
    )
    deletable_end: int = Attribute(
        "Retention and compaction touch no offset from here on (exclusive); NO_LIMIT at first. The owner of "
        "the log sets it to the high watermark, where a record above that may still be truncated."
    )
    on_flushed: Callable[[], None] | None = Attribute(
        "Called after a sync has moved flushed_offset, but not if write() itself moves it. The owner of the "
        "log sets it."
    )

    def append(
        records: bytes | memoryview,
        leader_epoch: int,
        now_ms: int,
        one_batch: bool,
        validated: object = None,
        verified: bool = False,
    ) -> IAppended:
        """Validate and stage the records of one produce request for this partition.

        Offsets and leader epoch are set without copying the records: *records* must not change until
        :meth:`write`. Records are not decoded, except where the format requires it: magic 0 and 1, a
        compacted topic (keys), a topic whose compression.type differs from the batch's, and where
        kafkatx.records.validation demands it.

        :param one_batch: True for Produce v3+: exactly one magic-2 batch, else INVALID_RECORD. False for
            Produce v0-2: one or more messages of magic 0 or 1, stored unchanged but for their offsets.
        :param validated: the value that ``validate`` of an earlier append of the same records returned (the
            result may be NEEDS_VALIDATION again if the log has changed since), :data:`TRUSTED` or
            :data:`DEFER_VALIDATION`.
        :param verified: the batch may be part of a transaction: the transaction coordinator knows that the
            producer's transaction has this partition (KIP-890), or :meth:`has_transaction` is true. Without
            it such a batch is refused with INVALID_TXN_STATE. So is any other batch of a producer with an
            open transaction.
        :return: :class:`IAppended`. Errors of the input are codes in it, never exceptions:
            CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP,
            OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, UNSUPPORTED_COMPRESSION_TYPE,
            INVALID_TXN_STATE.
            A duplicate of one of the producer's last five batches succeeds with the original offsets and
            stages nothing.
        """

    def append_marker(
        producer_id: int,
        producer_epoch: int,
        marker: Marker,
        leader_epoch: int,
        now_ms: int,
        bumps_epoch: bool = False,
    ) -> IAppended:
        """Stage the marker that ends a producer's transaction here, if it has one open.

        :param producer_epoch: the marker's; see *bumps_epoch*.
        :param marker: the outcome, and the coordinator's epoch.
        :param bumps_epoch: the transaction is of version 2 (KIP-890): the epoch is above that of its batches.
        :return: with the error TRANSACTION_COORDINATOR_FENCED if a later coordinator has written a marker of
            the producer, INVALID_PRODUCER_EPOCH if the epoch is an earlier one.
        """

    def has_transaction(producer_id: int, producer_epoch: int) -> bool:
        """Return True if a producer has an open transaction here, in this epoch; staged batches count."""

    def last_stable_offset(high_watermark: int) -> int:
        """Return the end for readers of committed records, exclusive.

        It is the least of the high watermark and the first offsets of all transactions without a marker below
        it, but not below the log's start.

        :param high_watermark: may not go back behind the marker of a transaction.
        """

    def aborted_transactions(offset: int, end_offset: int, most: int) -> tuple[int, list[tuple[int, int]]]:
        """Return the aborted transactions that a reader from *offset* to *end_offset* must know.

        If there are more than *most*, the range is made shorter; it is never empty.

        :param end_offset: exclusive; at most the last stable offset.
        :return: the end of the range, and (producer id, first offset) of each, by first offset.
        """

    def begin_epoch(leader_epoch: int) -> None:
        """Note that a leader epoch begins at the log's end; do nothing if it is not above the latest.

        A broker calls it when it becomes leader, so that followers find an answer before the first record of
        the epoch (KAFKA-7415). A log that outlives the process keeps the note, except over a power cut
        before the next flush; a store may forget a note without records at a restart.

        :raises OSError: it cannot be written; the log is as before.
        :raises RuntimeError: records are staged.
        """

    def append_as_follower(records: bytes | memoryview, leader_epoch: int) -> int:
        """Stage the batches of a fetch reply as they are: offsets, leader epochs, timestamps, every byte.

        Nothing is decompressed or copied: *records* must not change until :meth:`write`. Batches may be of
        any magic. A partial batch at the end, as Fetch may send it, is left out. The state of producers and
        their transactions is updated without a check of sequences and epochs.

        A gap before a batch is what compaction has left on the leader. The first batch of an empty log may
        also begin below the log's end if it reaches there: the log then begins with that batch
        (``UnexpectedAppendOffsetException`` in Apache Kafka).

        Records of magic 0 and 1 name no leader epoch. The log forgets all epochs when it gets them, as Apache
        Kafka's does, and ``latest_epoch`` is -1 until a batch names one.

        :param leader_epoch: the epoch of the leader that the records come from.
        :return: the number of bytes staged.
        :raises CorruptRecords: nothing of *records* is staged. A checksum, a length or a magic is wrong; an
            offset is below the end of what is before it; or a batch names an epoch above *leader_epoch* or
            below an earlier one.
        """

    def write() -> None:
        """Write all staged records, with one ``writev`` if the log is a file.

        :raises OSError: none of them is in the log (it was cut back), the staged appends are dropped, and the
            state of the producers is as before them. The caller answers KAFKA_STORAGE_ERROR.
        """

    def discard() -> None:
        """Drop all staged records, as if they had never been appended; the state of the producers as well."""

    def read(offset: int, max_bytes: int, end_offset: int, at_least_one: bool) -> Records:
        """Return batches, starting with the one that holds *offset*; empty at the end of the log.

        :param max_bytes: the maximum size, except for *at_least_one*. All batches are whole; the last one may
            be cut off only if finding its end would mean waiting for the disk.
        :param end_offset: exclusive; no batch with an offset at or above it is returned.
        :param at_least_one: return the first batch whole, however large it is.
        :raises RequestError: OFFSET_OUT_OF_RANGE unless log_start_offset <= offset <= log_end_offset.
        """

    def readable_bytes(offset: int, end_offset: int) -> int:
        """Return the approximate size of the records from *offset* to *end_offset* (exclusive); cheap."""

    def warm(offset: int, max_bytes: int) -> Deferred[None] | None:
        """Load records into the page cache, so that a read of *max_bytes* at *offset* does not block.

        :return: None if such a read does not block now. Otherwise a Deferred that fires with None when it
            does not block any more. It never fails: the read reports errors. Cancelling it ends the waiting
            only.
        """

    def offset_for_timestamp(timestamp_ms: int) -> Deferred[tuple[int, int, int] | None]:
        """Find the first record, by offset, with this timestamp or a later one.

        :return: fires with its (offset, timestamp, leader epoch), or None if there is none; fails with
            OSError, and with CorruptRecords if a batch that may hold it is damaged. Cancelling it ends the
            search.
        """

    def max_timestamp() -> Deferred[tuple[int, int, int] | None]:
        """Find the record with the largest timestamp.

        :return: as :meth:`offset_for_timestamp`; None if the log is empty.
        """

    def epoch_at(offset: int) -> int:
        """Return the leader epoch that wrote *offset*; for the log end the latest; -1 if there is none."""

    def end_offset_for_epoch(leader_epoch: int) -> tuple[int, int]:
        """Return (epoch, exclusive end offset) of the largest epoch not above *leader_epoch*.

        (-1, -1) if there is none. An epoch before the first known one ends where that begins (KIP-320).
        """

    def active_producers() -> Sequence[ActiveProducer]:
        """Return the idempotent producers that the log knows."""

    def configure(config: LogConfig) -> None:
        """Replace the settings."""

    def flush() -> Deferred[int]:
        """Sync the log to the disk in a worker.

        Calls during a sync share the next one (group commit).

        :return: fires with the offset up to which (exclusive) all records are synced; fails with OSError.
        """

    def truncate_to(offset: int) -> None:
        """Cut the log, so that *offset* is the next one to be appended; staged records are dropped.

        A batch that holds *offset* is removed whole. At or beyond the log's end no record is removed, but an
        epoch that begins at the end is forgotten: a leader may have noted it and written nothing. What is
        appended later goes to a new file: a reply that is still reading the removed bytes ends early, and
        never continues with other ones.

        :raises OSError: the log could not be cut, or only in part.
        """

    def restart_at(offset: int) -> None:
        """Remove all records and epochs; the log is empty, and begins and ends at *offset*.

        Staged records are dropped. What is appended later goes to a new file, as after :meth:`truncate_to`.

        :param offset: any, also below the log's start or above its end.
        :raises OSError: the log could not be emptied, or only in part.
        """

    def advance_log_start(offset: int) -> None:
        """Hide the records below *offset* from readers, and delete whole segments below it."""

    def retain(now_ms: int) -> int:
        """Delete segments by the log's ``IRetentionPolicy``; return their number.

        A segment with an offset at or above ``deletable_end`` stays.
        Their files are renamed at once and unlinked later, in a worker.
        """

    def roll_if_due(now_ms: int) -> None:
        """Roll to a new segment if the active one is older than segment.ms."""
