"""Interfaces of storage: a partition's log, the store of all logs, and retention policies.

A Deferred must not be cancelled unless its method says what cancelling does. The attributes are annotated
with their types, which mypy checks where an interface is used.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from zope.interface import Attribute, Interface

from kafkatx.interfaces.appends import DEFER_VALIDATION as DEFER_VALIDATION
from kafkatx.interfaces.appends import NEEDS_VALIDATION as NEEDS_VALIDATION
from kafkatx.interfaces.appends import TRUSTED as TRUSTED
from kafkatx.interfaces.appends import IAppended as IAppended
from kafkatx.interfaces.appends import INeedsValidation as INeedsValidation
from kafkatx.interfaces.partition_log import NO_LIMIT as NO_LIMIT
from kafkatx.interfaces.partition_log import IPartitionLog as IPartitionLog
from kafkatx.interfaces.retention import IRetentionPolicy as IRetentionPolicy
from kafkatx.interfaces.retention import ISegmentFacts as ISegmentFacts

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

    from kafkatx.config.broker_config import BrokerConfig
    from kafkatx.config.log_config import LogConfig
    from kafkatx.interfaces.log_dirs import DirectoryChanges, Expected
    from kafkatx.types import TopicPartition


class IIncomingLog(Interface):
    """A log that is being moved into a log dir."""

    size_bytes: int = Attribute("Size of the part that is copied.")
    offset_lag: int = Attribute("Number of offsets that the copy lacks.")


class ILogDir(Interface):
    """One of the directories in which a store keeps its logs."""

    path: str = Attribute("The absolute path, as in DescribeLogDirs.")
    directory_id: str = Attribute("Its lasting id, which does not change with the path (KIP-858).")
    noted: int = Attribute("The highest ``Expected.generation`` that it had noted when it was opened.")
    error: OSError | None = Attribute(
        "The reason why the dir is offline; nothing in it can be used until a restart."
    )
    logs: Mapping[TopicPartition, IPartitionLog] = Attribute("The logs that are, or were, in it.")
    incoming: Mapping[TopicPartition, IIncomingLog] = Attribute("The logs that are being moved into it.")
    lock: str = Attribute(
        "The file by whose lock this process has the dir, DEVICE:INODE; empty if it has not got it."
    )
    emptied: bool = Attribute("True if it had logs before, and nothing was found in it when it was opened.")


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

    def note_generation() -> Deferred[None]:
        """Note ``Expected.generation`` in each log dir, as :meth:`checkpoint` does; fires with None."""

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
