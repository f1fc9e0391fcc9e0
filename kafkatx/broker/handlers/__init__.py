"""The one table of what this broker serves; a module per API."""

from types import ModuleType

from kafkatx.broker.dispatch import Served
from kafkatx.broker.handlers import (
    api_versions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    fetch,
    init_producer_id,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
)
from kafkatx.wire.api import APIS


def _served(key: int, module: ModuleType) -> Served:
    return Served(APIS[key], module.answer, module.refuse)


SERVED: tuple[Served, ...] = (
    _served(0, produce),
    _served(1, fetch),
    _served(2, list_offsets),
    _served(3, metadata),
    _served(18, api_versions),
    _served(19, create_topics),
    _served(20, delete_topics),
    _served(21, delete_records),
    _served(22, init_producer_id),
    _served(23, offset_for_leader_epoch),
    _served(32, describe_configs),
    _served(35, describe_log_dirs),
    _served(60, describe_cluster),
)

__all__ = ["SERVED"]
