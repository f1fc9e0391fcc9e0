"""The lag of a group: its committed offsets and the log end offsets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkatx.blocking.admin.groups import Groups
from kafkatx.clientcore.admin import lag
from kafkatx.clientcore.admin.lag import Progress
from kafkatx.clientcore.list_offsets import LATEST
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.clientcore.admin.group_description import GroupDescription


def progress(cluster: Cluster, group: GroupDescription) -> list[Progress]:
    """Return the progress in every partition with a committed offset or an assigned member, in order.

    :raises RequestError: the offsets cannot be read.
    """
    committed = Groups(cluster).offsets(group.group_id)
    partitions = lag.partitions_of(group, committed)
    return lag.progress(partitions, committed, end_offsets(cluster, partitions))


def end_offsets(cluster: Cluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the log end offset of each partition that exists and has a leader."""
    wanted = list(partitions)
    if not wanted:
        return {}
    led = lag.with_leader(wanted, cluster.metadata(sorted({at.topic for at in wanted})))
    return {at: offset for at, (offset, _) in cluster.offsets_of(dict.fromkeys(led, LATEST)).items()}
