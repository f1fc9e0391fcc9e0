"""The nodes that each cluster has once: a starting broker makes those that are missing, and checks the rest.

It touches the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from kafkatx.errors import SettingError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Create, NodeExists
from kafkatx.metadata.cluster.state.requests import each, read
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.brokers import decode
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.metadata.layout.controller import (
    decode_cluster_id,
    decode_controller,
    decode_epoch,
    decode_feature,
    decode_import,
    encode_cluster_id,
    encode_feature,
    is_migration,
)
from kafkatx.metadata.layout.fields import UnreadableNode


async def prepare(tree: ITree, where: str, broker_id: int, new_cluster_id: Callable[[], str]) -> None:
    """Make the nodes of a new cluster, and check those of an existing one.

    :param where: the tree, for messages.
    :param broker_id: this broker, for the first change record.
    :param new_cluster_id: returns a random id in Kafka's form.
    :raises SettingError: a KRaft controller is taking the cluster over, brokers of Apache Kafka are running,
    or an import has not ended.
    :raises UnreadableNode: a node is not Kafka's, or of a newer version.
    """
    await _check_migration(tree, where)
    await _check_import(tree, where)
    await _check_brokers(tree, where, broker_id)
    found = await each(tree.exists, paths.PERSISTENT)
    for path, stat in zip(paths.PERSISTENT, found, strict=True):
        if stat is None:
            await _create(tree, path)
    await _create_content(tree, paths.FEATURE, encode_feature())
    if not await tree.children(paths.CHANGES):
        # two brokers that start at the same time may both do this: an additional record harms nothing
        first = ChangeRecord(by=f"b{broker_id}").encode()
        await tree.multi([Create(paths.CHANGE_PREFIX, first, sequential=True)])
    await _create_content(tree, paths.CLUSTER_ID, encode_cluster_id(new_cluster_id()))
    cluster = await tree.read(paths.CLUSTER_ID)
    decode_cluster_id(cluster[0])
    decode_feature((await tree.read(paths.FEATURE))[0])
    epoch = await read(tree, paths.CONTROLLER_EPOCH)
    if epoch is not None:
        decode_epoch(epoch[0])


async def _check_migration(tree: ITree, where: str) -> None:
    controller = await read(tree, paths.CONTROLLER)
    if controller is None:
        return
    if is_migration(decode_controller(controller[0]), controller[1].ephemeral_owner):
        raise SettingError(
            f"{where}: the cluster is being migrated to KRaft ({paths.CONTROLLER} is persistent); kafkatx"
            " cannot take part: finish the migration with Apache Kafka, or roll it back"
        )


async def _check_import(tree: ITree, where: str) -> None:
    mark = await read(tree, paths.IMPORT)
    if mark is not None:
        raise SettingError(
            f"{where}: the import of cluster {decode_import(mark[0])} has not ended; repeat it, with kafkatx"
            " cluster import"
        )


async def _check_brokers(tree: ITree, where: str, own_id: int) -> None:
    """Check that no broker of Apache Kafka is there but for one with this id, which the registration sees."""
    if await tree.exists(paths.BROKER_IDS) is None:
        return
    ids = [
        number
        for name in await tree.children(paths.BROKER_IDS)
        if (number := paths.parse_broker(name)) is not None
    ]
    nodes = await each(partial(read, tree), map(paths.broker, ids))
    for broker_id, node in zip(ids, nodes, strict=True):
        if node is None or broker_id == own_id:
            continue
        try:
            found = decode(broker_id, paths.broker(broker_id), node[0])
        except UnreadableNode:
            continue
        if not found.is_kafkatx:
            raise SettingError(
                f"{where}: broker {broker_id} of Apache Kafka is running at {found.endpoints[0].host}:"
                f"{found.endpoints[0].port}; kafkatx takes a cluster over when all its brokers are stopped,"
                " and shares none with them (one that was killed is gone after its session's time-out)"
            )


async def _create(tree: ITree, path: str, data: bytes = b"") -> None:
    with suppress(NodeExists):  # another broker starts at the same time
        await tree.multi([Create(path, data)])


async def _create_content(tree: ITree, path: str, data: bytes) -> None:
    if await tree.exists(path) is None:
        await _create(tree, path, data)
