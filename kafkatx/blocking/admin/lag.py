"""The lag of a group: its committed offsets and the log end offsets."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkatx.blocking.admin.groups import Groups
from kafkatx.clientcore.admin import lag
from kafkatx.clientcore.admin.lag import Progress
from kafkatx.clientcore.consumer.fetch_requests import LAST_VERSION_WITH_NAMES
from kafkatx.clientcore.list_offsets import LATEST
from kafkatx.errors import KafkaTXError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.fetch import FetchRequest

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.clientcore.admin.group_description import GroupDescription


def progress(cluster: Cluster, group: GroupDescription) -> list[Progress]:
    """Return the progress in every partition with a committed offset or an assigned member, in order.

    :raises RequestError: the offsets cannot be read.
    """
    committed = Groups(cluster).offsets(group.group_id)
    partitions = lag.partitions_of(group, committed)
    rows = lag.progress(partitions, committed, end_offsets(cluster, partitions))
    with suppress(KafkaTXError):  # the offsets are known without
        by_leader: dict[BrokerNode, list[TopicPartition]] = {}
        for at in lag.almost_read(rows):
            by_leader.setdefault(cluster.leader_node(*at), []).append(at)
        for node, led in by_leader.items():
            channel = cluster.connection_to(node)
            version = channel.version_for(FetchRequest, LAST_VERSION_WITH_NAMES)
            rows = lag.read_to_end(rows, channel.request(lag.tail_request(rows, led), version))
    return rows


def end_offsets(cluster: Cluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the log end offset of each partition that exists and has a leader."""
    wanted = list(partitions)
    if not wanted:
        return {}
    led = lag.with_leader(wanted, cluster.metadata(sorted({at.topic for at in wanted})))
    return {at: offset for at, (offset, _) in cluster.offsets_of(dict.fromkeys(led, LATEST)).items()}
