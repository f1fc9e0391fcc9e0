"""The one table of what this broker serves; a module per API."""

from types import ModuleType

from kafkatx.broker.dispatch import Served
from kafkatx.broker.handlers import (
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    elect_leaders,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
)
from kafkatx.wire.api import APIS


def _served(key: int, module: ModuleType) -> Served:
    return Served(APIS[key], module.answer, module.refuse)


SERVED: tuple[Served, ...] = (
    _served(0, produce),
    _served(1, fetch),
    _served(2, list_offsets),
    _served(3, metadata),
    _served(8, offset_commit),
    _served(9, offset_fetch),
    _served(10, find_coordinator),
    _served(11, join_group),
    _served(12, heartbeat),
    _served(13, leave_group),
    _served(14, sync_group),
    _served(15, describe_groups),
    _served(16, list_groups),
    _served(18, api_versions),
    _served(19, create_topics),
    _served(20, delete_topics),
    _served(21, delete_records),
    _served(22, init_producer_id),
    _served(23, offset_for_leader_epoch),
    _served(32, describe_configs),
    _served(33, alter_configs),
    _served(35, describe_log_dirs),
    _served(37, create_partitions),
    _served(42, delete_groups),
    _served(43, elect_leaders),
    _served(44, incremental_alter_configs),
    _served(45, alter_partition_reassignments),
    _served(46, list_partition_reassignments),
    _served(48, describe_client_quotas),
    _served(49, alter_client_quotas),
    _served(47, offset_delete),
    _served(60, describe_cluster),
    _served(61, describe_producers),
    _served(68, consumer_group_heartbeat),
    _served(69, consumer_group_describe),
)

__all__ = ["SERVED"]
