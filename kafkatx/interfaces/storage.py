"""What a partition's log, the store of all logs and a retention policy promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted


NEEDS_VALIDATION = -2
"""The ``error`` of an append whose records must be looked into first, which takes its time."""


TRUSTED = object()
"""Given as ``validated``: the records are the broker's own, and nobody looks into them."""

DEFER_VALIDATION = object()
"""Given as ``validated``: nothing that takes time is to be done at once, for the request has more of it."""


class IAppended(Interface):
    """What became of one call to :meth:`IPartitionLog.append`.

    If ``error`` is :data:`NEEDS_VALIDATION` nothing was staged. Such a result has one more attribute,
    ``validate``: call it in a worker without arguments, and pass what it returns to a second append.
    """

    error = Attribute("0, or the protocol's error code (int); then nothing was staged.")
    message = Attribute("str or None: why, for a person.")
    base_offset = Attribute("int: offset of the first record; for a duplicate the original's; -1 on error.")
    last_offset = Attribute("int: offset of the last record, inclusive; -1 on error.")
    log_append_time_ms = Attribute("int: the broker's time if the topic says LogAppendTime, else -1.")
    record_errors = Attribute("Sequence of (index in the batch, message): the records at fault, if known.")


class IPartitionLog(Interface):
    """One partition's records.

    Offsets are dense and increasing. ``append`` stages, ``write`` makes it so: several appends between
    two writes cost one system call. Nothing staged is visible to ``read`` or in ``log_end_offset``.
    Used from the reactor thread only; what blocks runs in the store's workers.
    """

    topic_partition = Attribute("types.TopicPartition")
    config = Attribute("config.log_config.LogConfig; replaced by configure().")
    log_start_offset = Attribute("int: the first offset that can be read.")
    log_end_offset = Attribute("int: the offset that the next record gets, counting written records only.")
    flushed_offset = Attribute("int: all below it has been synced to the disk, as far as is known.")
    size_bytes = Attribute("int: bytes of all segments.")
    segments = Attribute("Sequence of ISegmentFacts, oldest first; the last is the active one.")
    on_flushed = Attribute(
        "Callable[[], None] or None: called after a sync moved flushed_offset; not where write() moves it at "
        "once. Whoever owns the log sets it."
    )

    def append(
        records: bytes | memoryview,
        leader_epoch: int,
        now_ms: int,
        one_batch: bool,
        validated: Any = None,
    ) -> IAppended:
        """Validate and stage the records of one produce request for this partition.

        Offsets and leader epoch are stamped without copying the records; *records* must stay unchanged
        until :meth:`write`. Records are not decoded, except where the format forces it: magic 0 and 1,
        a compacted topic (keys), a topic whose compression.type differs from the batch's, and where
        kafkatx.records.validation asks for it.

        :param validated: what ``validate`` of an earlier append of the same records returned (the result may
            be NEEDS_VALIDATION again if the log has changed since), :data:`TRUSTED` or
            :data:`DEFER_VALIDATION`.
        :param one_batch: Produce v3+: exactly one magic-2 batch, else INVALID_RECORD. False (Produce
            v0-2): one or more messages of magic 0 or 1, stored as they came with offsets assigned.
        :return: :class:`IAppended`. Errors of the input are codes in it, never exceptions:
            CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP,
            OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, UNSUPPORTED_COMPRESSION_TYPE.
            A duplicate of one of the producer's last five batches is success with the original offsets
            and stages nothing.
        """

    def write() -> None:
        """Write all that is staged, with one ``writev`` where a log is a file.

        :raises OSError: nothing of it is in the log (it was cut back), the staged appends are gone and
            the producers' state is what it was before them. The caller answers KAFKA_STORAGE_ERROR.
        """

    def read(offset: int, max_bytes: int, end_offset: int, at_least_one: bool) -> Any:
        """Return batches from the one that holds *offset* on, as ``types.Records``; empty at the end.

        :param max_bytes: not more than this, except as *at_least_one* says. Only whole batches: the last
            may be cut off only where to find its end would mean waiting for the disk.
        :param end_offset: exclusive; no batch with an offset at or above it is returned.
        :param at_least_one: the first batch is returned whole, however large.
        :raises RequestError: OFFSET_OUT_OF_RANGE unless log_start_offset <= offset <= log_end_offset.
        """

    def readable_bytes(offset: int, end_offset: int) -> int:
        """About how many bytes lie from *offset* to *end_offset* (exclusive); cheap, for min_bytes."""

    def warm(offset: int, max_bytes: int) -> Deferred[None] | None:
        """See to it that a read of *max_bytes* at *offset* does not wait for the disk.

        :return: None: it would not. Else fires when it would not any more; what fails meanwhile the read
            will tell. Cancelling it ends the waiting only.
        """

    def offset_for_timestamp(timestamp_ms: int) -> Deferred[tuple[int, int, int] | None]:
        """Find the first record, by offset, at or after a time.

        :return: fires with its (offset, timestamp, leader epoch), or None if there is none; fails with
            OSError, and with CorruptRecords where a batch that may hold it is damaged.
        """

    def max_timestamp() -> Deferred[tuple[int, int, int] | None]:
        """Find the record with the largest timestamp; as :meth:`offset_for_timestamp`, None when empty."""

    def epoch_at(offset: int) -> int:
        """The leader epoch that wrote *offset*; for the log end the latest; -1 when there is none."""

    def end_offset_for_epoch(leader_epoch: int) -> tuple[int, int]:
        """(epoch, exclusive end offset) of the largest epoch not above *leader_epoch*; (-1, -1) if none.

        One from before the first epoch that is known ends where that begins (KIP-320).
        """

    def active_producers() -> Any:
        """Sequence of ``types.ActiveProducer``: the idempotent producers that the log knows of."""

    def configure(config: Any) -> None:
        """Use another ``LogConfig`` from now on."""

    def flush() -> Deferred[int]:
        """Sync to the disk in a worker; fires with the offset up to which (exclusive) all is synced.

        Those who ask while a sync is under way share the one that follows it (group commit).
        """

    def truncate_to(offset: int) -> None:
        """Cut the log so that *offset* is the next to be appended."""

    def advance_log_start(offset: int) -> None:
        """Let no reader see what is below *offset*; whole segments below it go."""

    def retain(now_ms: int) -> int:
        """Let whole segments go as the log's ``IRetentionPolicy`` says; return how many went.

        Files are renamed at once and unlinked later, in a worker.
        """

    def roll_if_due(now_ms: int) -> None:
        """Start a new segment if the active one is older than segment.ms."""


class ILogDir(Interface):
    """One of the directories that a store keeps its logs in."""

    path = Attribute("str: the absolute path, as DescribeLogDirs tells it.")
    directory_id = Attribute("str: its lasting id, by which it is known at another path, too (KIP-858).")
    error = Attribute("OSError or None: why the dir is offline; nothing in it can be used until a restart.")
    logs = Attribute("Mapping[TopicPartition, IPartitionLog]: the logs that are, or were, in it.")
    incoming = Attribute(
        "Mapping[TopicPartition, Any]: the logs that are on their way into it: objects with size_bytes, of "
        "what is copied, and offset_lag, how many offsets the copy lacks."
    )


class ILogStore(Interface):
    """All partition logs of one broker.

    Factory: ``factory(config, workers, clock, find_retention)``: a ``config.BrokerConfig``,
    :data:`Workers`, an ``IReactorTime`` and a callable from a policy's name to an
    :class:`IRetentionPolicy`. The clock's ``seconds()`` are those of the wall clock, for timestamps of
    segments; its delayed calls come when they are due also if the wall clock is set meanwhile.
    """

    logs = Attribute("Mapping[TopicPartition, IPartitionLog]: every open log; none of a dir that is offline.")
    durable = Attribute("bool: records outlive the process, and so must what the cluster knows of topics.")
    unavailable = Attribute(
        "Mapping[TopicPartition, str]: the partitions whose files cannot be used, and why; they are not in "
        "logs. create() fails with OSError for one of them, delete() takes it away."
    )
    dirs = Attribute("Sequence of ILogDir, in the order of log.dirs; empty where there are none.")
    on_offline = Attribute(
        "Callable[[ILogDir], None] or None: called in the reactor thread when a dir has gone offline while "
        "the store is open. Whoever owns the store sets it."
    )

    def open(log_config: Callable[[str], Any], expected: Any = None) -> Deferred[None]:
        """Lock the directories, recover every log and open it.

        :param log_config: gives the ``LogConfig`` of a topic's name.
        :param expected: a ``types.Expected``. A log that it does not know is put aside and never removed; one
            of a topic in ``recorded.deleted`` is removed. None: every log that is there is good.
        :return: fails with StateLost where the directories are not those of the expected state, and with
            SettingError where a directory is locked by another broker, or none can be used. One that cannot
            be used is offline if others can.
        """

    def reconfigure(config: Any) -> None:
        """Use another ``BrokerConfig`` from now on, for what is not a log's own."""

    def check(config: Any) -> None:
        """See whether a log could have a ``LogConfig``.

        :raises SettingError: it names a part that there is not (``kafkatx.retention``).
        """

    def create(topic_partition: Any, topic_id: Any, config: Any) -> Deferred[IPartitionLog]:
        """Make the log of a partition, or give the one that is there for this topic id.

        What stands in its place from another topic id is put aside first. It is removed only where
        :meth:`delete` was called for a log of that id.
        """

    def sync_directories() -> Deferred[Any]:
        """Sync the directories of new and removed logs; fires with the new ``types.DirectoryChanges``.

        After it is written down, a log that is missing at a start was lost, and is not made anew.
        """

    def topic_id(topic_partition: Any) -> Any:
        """The ``uuid.UUID`` that an open log was created with."""

    def delete(topic_partition: Any) -> Deferred[None]:
        """Take a log away at once; its files go in a worker. Nothing happens if there is none."""

    def relocate(topic_partition: Any, path: str) -> None:
        """Begin to move a log into the dir with this path; it is read and written meanwhile.

        A log that is on its way to another dir goes to this one instead; one that is in this dir stays.

        :raises RequestError: LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR: the dir is offline;
            REPLICA_NOT_AVAILABLE: there is no such log.
        """

    def clean(now_ms: int) -> Deferred[bool]:
        """Compact the log that needs it most, of those with ``cleanup.policy=compact``.

        Fires with whether one was compacted: there may be more to do then. What is wrong with a log is told
        in the broker's log.
        """

    def checkpoint() -> Deferred[None]:
        """Write the recovery points and log starts down, in a worker."""

    def checkpoint_log_start(topic_partition: Any) -> Deferred[None]:
        """Write down where a log starts: after this fires, what lies before never comes back.

        Fails with OSError where that cannot be done, or there is no such log any more.
        """

    def close() -> Deferred[None]:
        """Flush every log, write the clean-shutdown markers and unlock the directories."""


class ISegmentFacts(Interface):
    """What a retention policy may look at."""

    base_offset = Attribute("int")
    size_bytes = Attribute("int")
    max_timestamp_ms = Attribute(
        "int: the largest timestamp of its records, or the file's mtime if none has one."
    )


class IRetentionPolicy(Interface):
    """Which of a log's old segments may go (``log.cleanup.policy``, ``kafkatx.retention``).

    Factory: ``factory()``. Pure: no I/O, no clock of its own.
    """

    def expired(segments: Any, config: Any, now_ms: int) -> int:
        """How many of *segments*, counted from the oldest, may go.

        :param segments: sequence of :class:`ISegmentFacts`, oldest first; the last one is the active one.
        :param config: the log's ``LogConfig``.
        """
