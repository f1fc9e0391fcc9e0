"""The operations of trees as those of a multi of kazoo, with the access control lists of new nodes. Pure."""

from __future__ import annotations

from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from kafkatx.interfaces.nodes import Check, Create, Operation, SetData
from kafkatx.metadata.tree.zookeeper.kazoo_client import Transaction

CONSUMERS = "/consumers"
"""The node that stays open to all: old consumers write below it, each as itself."""
SENSITIVE = ("/config/users", "/config/brokers", "/delegation_token")
"""Paths below which only brokers read: passwords are there."""


def acl(path: str, restricted: bool) -> list[ACL]:
    """Return the access control list of a new node, as Apache Kafka's ``ZkData.defaultAcls``.

    :param restricted: True if ``zookeeper.set.acl`` is.
    """
    if not restricted or path == CONSUMERS:
        return list(OPEN_ACL_UNSAFE)
    return [*CREATOR_ALL_ACL, *(() if path.startswith(SENSITIVE) else READ_ACL_UNSAFE)]


def add(transaction: Transaction, operation: Operation, restricted: bool) -> None:
    """Add an operation to a multi.

    :param restricted: as for :func:`acl`.
    """
    if isinstance(operation, Create):
        transaction.create(
            operation.path,
            operation.data,
            acl=acl(operation.path, restricted),
            ephemeral=operation.ephemeral,
            sequence=operation.sequential,
        )
    elif isinstance(operation, SetData):
        transaction.set_data(operation.path, operation.data, operation.version)
    elif isinstance(operation, Check):
        transaction.check(operation.path, operation.version)
    else:
        transaction.delete(operation.path, operation.version)
