"""The import of the state of a cluster of one broker into an empty tree. It touches the tree.

The node ``/kafkatx/import`` is there while an import is under way: brokers refuse to start, and a second
import of the same cluster removes what the first has made and begins again. The transaction that creates
``/cluster/id`` deletes it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from contextlib import suppress

from kafkatx.errors import SettingError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import (
    Create,
    Delete,
    NodeExists,
    NodeStat,
    NoNode,
    Operation,
    OperationError,
    SetData,
)
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.metadata.layout.controller import (
    decode_cluster_id,
    decode_import,
    encode_cluster_id,
    encode_import,
)
from kafkatx.metadata.layout.security import acls
from kafkatx.metadata.transfer.content import MOST_OPERATIONS, Content, batches, nodes

_PARENTS = (
    paths.TOPICS,
    "/config/topics",
    "/config/brokers",
    "/config/groups",
    "/config/client-metrics",
    "/config/clients",
    "/config/users",
    "/config/ips",
    acls.LITERAL,
    acls.PREFIXED,
    paths.LOG_DIRS,
    paths.CHANGES,
)
"""Parents of all nodes that an import makes, but for those that a cluster has once."""
_EMPTY_OF = (paths.TOPICS, paths.BROKER_IDS, *_PARENTS[1:-2])
"""Parents without a child in a tree that a cluster can be imported into."""


class Found(enum.Enum):
    """The tree before an import."""

    EMPTY = "no cluster"
    UNUSED = "a cluster without topics, brokers and configs"
    """A broker has made it, which then refused to start beside another cluster's data."""
    UNFINISHED = "an import of this cluster that was interrupted"
    IMPORTED = "this cluster"


async def look(tree: ITree, where: str, cluster_id: str) -> Found:
    """Return what is in the tree.

    :param where: the tree, for messages.
    :param cluster_id: the cluster to import.
    :raises SettingError: there is another cluster, or this one with brokers that run.
    :raises UnreadableNode: its nodes are not a cluster's.
    """
    marker = await _read(tree, paths.IMPORT)
    there = await _read(tree, paths.CLUSTER_ID)
    if marker is not None:
        other = decode_import(marker[0])
        if other != cluster_id:
            raise SettingError(
                f"{where}: an import of cluster {other} was interrupted there; finish that one first, or"
                " choose another path"
            )
        return Found.UNFINISHED
    if await _children(tree, paths.BROKER_IDS):
        raise SettingError(f"{where}: brokers are running there; choose another path, or stop them")
    used = [path for path in _EMPTY_OF if await _children(tree, path)]
    if there is not None and decode_cluster_id(there[0]) == cluster_id:
        return Found.IMPORTED if used else Found.UNUSED
    if used:
        name = "a cluster" if there is None else f"cluster {decode_cluster_id(there[0])}"
        raise SettingError(
            f"{where}: {name} is there already: {used[0]} has nodes; choose another path, such as"
            " HOST:PORT/kafkatx"
        )
    return Found.EMPTY if there is None else Found.UNUSED


async def import_content(tree: ITree, where: str, content: Content) -> None:
    """Write the nodes of a cluster, unless it is there already.

    :raises SettingError: the tree has another cluster; see :func:`look`.
    :raises TreeError: the connection is lost, for example; it can be repeated.
    """
    cluster_id = content.state.cluster_id
    found = await look(tree, where, cluster_id)
    if found is Found.IMPORTED:
        return
    for path in (*paths.PERSISTENT, paths.IMPORT):
        await _ensure(tree, path, encode_import(cluster_id) if path == paths.IMPORT else b"")
    for parent in _PARENTS:
        await _clear(tree, parent)
    for path in (paths.FEATURE, paths.PRODUCER_IDS):
        await _delete(tree, [Delete(path)])
    for batch in batches(nodes(content)):
        await tree.multi(batch)
    await _finish(tree, where, cluster_id)


async def _finish(tree: ITree, where: str, cluster_id: str) -> None:
    stat = await tree.exists(paths.CLUSTER_ID)
    data = encode_cluster_id(cluster_id)
    named = Create(paths.CLUSTER_ID, data) if stat is None else SetData(paths.CLUSTER_ID, data, stat.version)
    record = Create(paths.CHANGE_PREFIX, ChangeRecord(by="import").encode(), sequential=True)
    try:
        await tree.multi([named, record, Delete(paths.IMPORT)])
    except OperationError as error:
        raise SettingError(f"{where}: another program is changing it: {error}; import again") from error


async def _ensure(tree: ITree, path: str, data: bytes) -> None:
    if await tree.exists(path) is None:
        with suppress(NodeExists):
            await tree.multi([Create(path, data)])


async def _clear(tree: ITree, path: str) -> None:
    """Delete all nodes below a path."""
    below: list[str] = []
    todo = [path]
    while todo:
        parent = todo.pop()
        names = await _children(tree, parent)
        found = [f"{parent}/{name}" for name in names]
        below += found
        todo += found
    below.sort(key=lambda one: one.count("/"), reverse=True)
    for start in range(0, len(below), MOST_OPERATIONS):
        await tree.multi([Delete(one) for one in below[start : start + MOST_OPERATIONS]])


async def _delete(tree: ITree, operations: Sequence[Operation]) -> None:
    with suppress(NoNode):
        await tree.multi(operations)


async def _read(tree: ITree, path: str) -> tuple[bytes, NodeStat] | None:
    try:
        return await tree.read(path)
    except NoNode:
        return None


async def _children(tree: ITree, path: str) -> Sequence[str]:
    try:
        return await tree.children(path)
    except NoNode:
        return ()
