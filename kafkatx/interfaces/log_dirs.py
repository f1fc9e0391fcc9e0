"""Values that a log store and the metadata store exchange about log dirs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

import attrs

from kafkatx.types import LogDirRecord, Placement, TopicPartition


@attrs.frozen
class Expected:
    """The logs that a log store must find in its log dirs, from the metadata store.

    :ivar empty: the state has no topics.
    :ivar generation: returns the store's current ``IMetadataStore.generation``.
    :ivar topic_id: returns the id of a partition's topic; None if there is no such partition on this broker.
    :ivar anew: put aside logs that do not belong to this state, even if the store would not open otherwise.
    :ivar heals: a state that is older than what the log dirs have noted is no reason to refuse them: it heals
        when the broker registers.
    :ivar moved_away: returns True if the topic of this id has the partition, on other brokers alone.
    :ivar copied: other brokers may have copies: a dir whose logs are gone is used, and its logs are copied.
    """

    cluster_id: str
    empty: bool
    generation: Callable[[], int]
    topic_id: Callable[[TopicPartition], uuid.UUID | None]
    recorded: LogDirRecord
    anew: bool = False
    moved_away: Callable[[TopicPartition, uuid.UUID], bool] = lambda name, topic_id: False
    copied: bool = False
    heals: bool = False


@attrs.frozen
class DirectoryChanges:
    """The changes of directories that a log store has synced to the disk since the last call.

    :ivar placed: logs whose new directories are on the disk.
    :ivar gone: ids of deleted topics of which no directory is left.
    """

    placed: Sequence[Placement] = ()
    gone: Sequence[uuid.UUID] = ()

    def __bool__(self) -> bool:
        return bool(self.placed or self.gone)
