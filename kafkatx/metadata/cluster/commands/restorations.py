"""A restoration: this tree is an older copy, so that all states of partitions are written anew.

It touches the tree. The broker that notices begins: one transaction makes ``/kafkatx/restoring``, whose czxid
tells the states from before, raises ``/kafkatx/restorations`` above what any log dir has noted, and sets the
nodes that the writes of leaders and of the controller check: none that did not know of it is made after it.
The controller writes a state without leader and in-sync replicas for each partition, and ends it; leaders are
then found by :mod:`kafkatx.metadata.controller.leaders`, as brokers tell where their logs end.
"""

from __future__ import annotations

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Check, Create, Delete, Operation, SetData
from kafkatx.metadata.cluster.commands.transactions import Transactions
from kafkatx.metadata.cluster.state.image import ControllerFacts
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.controller import decode_epoch, encode_epoch
from kafkatx.metadata.layout.restorations import (
    decode_restorations,
    encode_restorations,
    encode_restoring,
    restorations_of,
)


async def begin_restoration(tree: ITree, transactions: Transactions, seen: int) -> int:
    """Begin, unless that was done since the generation *seen*; return the number of the restoration.

    :raises RequestError: REQUEST_TIMED_OUT.
    """

    async def attempt() -> int:
        found = await read(tree, paths.RESTORATIONS)
        number = decode_restorations(b"" if found is None else found[0])
        if number > restorations_of(seen):
            return number
        number = restorations_of(seen) + 1
        content = encode_restorations(number)
        operations: list[Operation] = [
            Create(paths.RESTORATIONS, content)
            if found is None
            else SetData(paths.RESTORATIONS, content, found[1].version),
            SetData(paths.DELETIONS, b""),
        ]
        operations += await _ends_of_role(tree)
        if await tree.exists(paths.RESTORING) is not None:
            operations.append(Delete(paths.RESTORING))
        operations.append(Create(paths.RESTORING, encode_restoring()))
        await tree.multi(operations)
        return number

    return await transactions.persist(attempt)


async def _ends_of_role(tree: ITree) -> list[Operation]:
    """Return the operations that end the role of the present controller."""
    operations: list[Operation] = []
    epoch = await read(tree, paths.CONTROLLER_EPOCH)
    if epoch is not None:
        raised = encode_epoch(decode_epoch(epoch[0]) + 1)
        operations.append(SetData(paths.CONTROLLER_EPOCH, raised, epoch[1].version))
    controller = await read(tree, paths.CONTROLLER)
    if controller is not None:
        operations.append(Delete(paths.CONTROLLER, controller[1].version))
    return operations


async def end_restoration(tree: ITree, role: ControllerFacts) -> None:
    """Tell that all states of partitions are written anew.

    :raises OperationError: the controller has another epoch.
    """
    if await tree.exists(paths.RESTORING) is not None:
        check = Check(paths.CONTROLLER_EPOCH, role.epoch_version)
        await tree.multi([check, Delete(paths.RESTORING)])
