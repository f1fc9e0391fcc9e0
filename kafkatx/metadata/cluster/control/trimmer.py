"""The controller's other work: it trims the change log, and marks placements of deleted topics.

It touches the tree. Each write checks the controller's epoch.
"""

from __future__ import annotations

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import BadVersion, Check, Create, Delete, NodeExists, NoNode, Operation, SetData
from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.metadata.cluster.state.image import ControllerFacts
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.incarnations import PlacedTopic, decode_placed_topic
from kafkatx.types import Topic

MOST_RECORDS = 1000
"""Nodes in the change log, or notifications of configs or ACLs, above which the oldest are deleted."""
KEPT_RECORDS = 500
"""Nodes that stay then."""
_AT_ONCE = 250
_ATTEMPTS = 10


async def trim(tree: ITree, follower: Follower, role: ControllerFacts) -> None:
    """Delete the oldest change records and notifications if there are too many.

    :raises OperationError: the controller has another epoch, or another program has deleted some of them.
    """
    if follower.change_records > MOST_RECORDS:
        names = await tree.children(paths.CHANGES)
        await _delete_oldest(tree, role, paths.CHANGES, list(names))
        follower.change_records = KEPT_RECORDS
    if len(follower.notifications) > MOST_RECORDS:
        names = await tree.children(paths.CONFIG_CHANGES)
        await _delete_oldest(tree, role, paths.CONFIG_CHANGES, list(names))
    for parent, listed in follower.loader.acls.notifications.items():
        if len(listed) > MOST_RECORDS:
            await _delete_oldest(tree, role, parent, list(await tree.children(parent)))


async def _delete_oldest(tree: ITree, role: ControllerFacts, parent: str, names: list[str]) -> None:
    old = sorted(names)[:-KEPT_RECORDS]
    for first in range(0, len(old), _AT_ONCE):
        await tree.multi(
            [
                Check(paths.CONTROLLER_EPOCH, role.epoch_version),
                *(Delete(f"{parent}/{name}") for name in old[first : first + _AT_ONCE]),
            ]
        )


async def deletion_marks(tree: ITree, role: ControllerFacts, topic: Topic) -> None:
    """Say in the records of log dirs that a topic is deleted, before its nodes are.

    So a broker that is away now, or dies before its logs are removed, removes them at its next start. It puts
    the logs of topics aside of which it finds neither nodes nor such a mark.

    :raises OperationError: the controller has another epoch.
    """
    brokers = dict.fromkeys(broker for partition in topic.partitions for broker in partition.replicas)
    for broker in brokers:
        for _ in range(_ATTEMPTS):  # the broker may write its record at the same time
            if await _mark(tree, role, broker, topic):
                break


async def _mark(tree: ITree, role: ControllerFacts, broker: int, topic: Topic) -> bool:
    if await tree.exists(paths.log_dirs(broker)) is None:
        return True
    path = paths.placed_topic(broker, topic.topic_id)
    found = await read(tree, path)
    if found is None:
        operation: Operation = Create(path, PlacedTopic({}, deleted=True).encode())
    else:
        placed = decode_placed_topic(path, found[0])
        if placed.deleted:
            return True
        operation = SetData(path, PlacedTopic(placed.partitions, deleted=True).encode(), found[1].version)
    try:
        await tree.multi([Check(paths.CONTROLLER_EPOCH, role.epoch_version), operation])
    except (BadVersion, NodeExists, NoNode) as error:
        if error.index == 0:
            raise
        return False
    return True
