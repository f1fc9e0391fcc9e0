"""Interfaces of storage: a partition's log, the store of all logs, and retention policies.

A Deferred must not be cancelled unless its method says what cancelling does. The attributes are annotated
with their types, which mypy checks where an interface is used.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from zope.interface import Attribute, Interface

from kafkatx.interfaces.retention import IRetentionPolicy as IRetentionPolicy
from kafkatx.interfaces.retention import ISegmentFacts as ISegmentFacts

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

    from kafkatx.config.broker_config import BrokerConfig
    from kafkatx.config.log_config import LogConfig
    from kafkatx.types import ActiveProducer, DirectoryChanges, Expected, Marker, Records, TopicPartition


NEEDS_VALIDATION = -2
"""The ``error`` of an append whose records must be validated in a worker first."""

NO_LIMIT = 2**63 - 1
"""The ``deletable_end`` of a log of which everything may be deleted."""

TRUSTED = object()
"""Passed as ``validated``: the records are the broker's own and are not validated."""

DEFER_VALIDATION = object()
"""Passed as ``validated``: validate nothing at once, not even small batches; the request has more of them."""


class IAppended(Interface):
    """The result of one call of :meth:`IPartitionLog.append`.

    If ``error`` is :data:`NEEDS_VALIDATION` nothing was staged and the result provides
    :class:`INeedsValidation`.
    """

    error: int = Attribute("0, or the protocol's error code; then nothing was staged.")
    message: str | None = Attribute("The reason of the error, for people.")
    base_offset: int = Attribute("Offset of the first record; for a duplicate the original's; -1 on error.")
    last_offset: int = Attribute("Offset of the last record, inclusive; -1 on error.")
    log_append_time_ms: int = Attribute("The broker's time if the topic has LogAppendTime, else -1.")
    record_errors: Sequence[tuple[int, str]] = Attribute(
        "(index in the batch, message) of the records at fault, if known."
    )


class INeedsValidation(IAppended):
    """The result of an append with the error :data:`NEEDS_VALIDATION`.

    Call ``validate`` in a worker and pass its result to a second append.
    """

    validate: Callable[[], object] = Attribute("Validates the records; blocks, so it is called in a worker.")


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


class IIncomingLog(Interface):
    """A log that is being moved into a log dir."""

    size_bytes: int = Attribute("Size of the part that is copied.")
    offset_lag: int = Attribute("Number of offsets that the copy lacks.")


class ILogDir(Interface):
    """One of the directories in which a store keeps its logs."""

    path: str = Attribute("The absolute path, as in DescribeLogDirs.")
    directory_id: str = Attribute("Its lasting id, which does not change with the path (KIP-858).")
    error: OSError | None = Attribute(
        "The reason why the dir is offline; nothing in it can be used until a restart."
    )
    logs: Mapping[TopicPartition, IPartitionLog] = Attribute("The logs that are, or were, in it.")
    incoming: Mapping[TopicPartition, IIncomingLog] = Attribute("The logs that are being moved into it.")


class ILogStore(Interface):
    """All partition logs of one broker.

    Factory: ``factory(config, workers, clock, find_retention)``: a ``config.BrokerConfig``,
    :data:`Workers`, an ``IReactorTime`` and a callable that returns the :class:`IRetentionPolicy` of a name.
    The clock's ``seconds()`` are those of the wall clock, for timestamps of segments; its delayed calls are
    not affected by changes of the wall clock.
    """

    logs: Mapping[TopicPartition, IPartitionLog] = Attribute(
        "Every open log, without those of a dir that is offline."
    )
    durable: bool = Attribute(
        "True if records outlive the process; the cluster's knowledge of topics must outlive it, too."
    )
    unavailable: Mapping[TopicPartition, str] = Attribute(
        "The partitions whose files cannot be used, with the reason; they are not in logs. create() fails "
        "with OSError for them, delete() removes them."
    )
    closed_cleanly: bool = Attribute(
        "True if every log dir had its clean-shutdown marker when it was opened, so that nothing was lost; "
        "False before that, for a new log dir, and where the store cannot know."
    )
    dirs: Sequence[ILogDir] = Attribute("The log dirs, in the order of log.dirs; empty if there are none.")
    on_offline: Callable[[ILogDir], None] | None = Attribute(
        "Called in the reactor thread when a dir has gone offline while the store is open. The owner of the "
        "store sets it."
    )

    def open(log_config: Callable[[str], LogConfig], expected: Expected | None = None) -> Deferred[None]:
        """Lock the directories, recover every log and open it.

        :param log_config: returns the ``LogConfig`` of a topic's name.
        :param expected: the expected logs. A log that is not among them is put aside and never removed; one
            of a topic in ``recorded.deleted`` is removed. None: every log found is expected.
        :return: fires with None; fails with StateLost if the directories are not those of the expected state,
            and with SettingError if a directory is locked by another broker, or none can be used. A directory
            that cannot be used is offline if others can.
        """

    def reconfigure(config: BrokerConfig) -> None:
        """Replace the settings of the store itself; those of logs are replaced by their ``configure``."""

    def check(config: LogConfig) -> None:
        """Check the settings of a log.

        :raises SettingError: they name a plugin that does not exist (``kafkatx.retention``).
        """

    def create(
        topic_partition: TopicPartition, topic_id: uuid.UUID, config: LogConfig
    ) -> Deferred[IPartitionLog]:
        """Create the log of a partition.

        A log of another topic id in its place is put aside first. That is removed only if :meth:`delete` was
        called for it.

        :return: fires with the new log, or with the existing one of this topic id; fails with OSError.
        """

    def sync_directories() -> Deferred[DirectoryChanges]:
        """Sync the directories of new and removed logs to the disk.

        After the result is stored elsewhere, a log that is missing at a start is lost, and is not created
        again.

        :return: fires with the changes since the last call; fails with OSError.
        """

    def topic_id(topic_partition: TopicPartition) -> uuid.UUID:
        """Return the topic id with which an open log was created."""

    def delete(topic_partition: TopicPartition) -> Deferred[None]:
        """Remove a log at once, and its files in a worker. Do nothing if there is none.

        :return: fires with None when the files are removed or renamed for removal.
        """

    def relocate(topic_partition: TopicPartition, path: str) -> None:
        """Start to move a log into the dir with this path; it can be read and written meanwhile.

        A log that is being moved to another dir goes to this one instead; one that is in this dir stays.

        :raises RequestError: LOG_DIR_NOT_FOUND; KAFKA_STORAGE_ERROR: the dir is offline;
            REPLICA_NOT_AVAILABLE: there is no such log.
        """

    def clean(now_ms: int) -> Deferred[bool]:
        """Compact the log that needs it most, of those with ``cleanup.policy=compact``.

        :return: fires with True if a log was compacted: then there may be more to do. It does not fail for a
            damaged log: that is written to the broker's log.
        """

    def checkpoint() -> Deferred[None]:
        """Write the recovery points and log start offsets, in a worker; fires with None."""

    def high_watermark(topic_partition: TopicPartition) -> int:
        """Return the high watermark of a log that was checkpointed last, in this life or an earlier one.

        It is at most the log's end. -1 if there is none: the log is new, or the checkpoint was damaged or
        lost. A high watermark that is too low is harmless, it rises again; see
        :meth:`checkpoint_high_watermarks`.
        """

    def checkpoint_high_watermarks(offsets: Mapping[TopicPartition, int]) -> Deferred[None]:
        """Write high watermarks in a worker, as Kafka's ``replication-offset-checkpoint`` of each log dir.

        Those of logs that *offsets* does not name stay as they were; those of unknown logs are ignored.
        :meth:`close` writes the last ones that were given once more.

        :return: fires with None; fails with OSError.
        """

    def checkpoint_log_start(topic_partition: TopicPartition) -> Deferred[None]:
        """Write the log start offset of one log.

        :return: fires with None when records before that offset cannot reappear; fails with OSError if it
            cannot be written, or there is no such log any more.
        """

    def close() -> Deferred[None]:
        """Flush every log, write the clean-shutdown markers and unlock the directories; fires with None."""
