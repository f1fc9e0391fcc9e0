"""The authorized operations of a reply (KIP-430), where the client has asked for them. No I/O."""

from __future__ import annotations

from typing import Protocol

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.guards.calls import Call
from kafkatx.broker.requests.authorized_operations import NOT_ASKED


class OfCluster(Protocol):
    """A response about the cluster."""

    cluster_authorized_operations: int


class OfGroup(Protocol):
    """A group in a response."""

    error_code: int
    group_id: str
    authorized_operations: int


def show_of_cluster(call: Call, response: OfCluster) -> None:
    """Put the client's rights into a response; none if it may not describe the cluster."""
    if response.cluster_authorized_operations != NOT_ASKED:
        describes = call.sees(AclOperation.DESCRIBE, ResourceType.CLUSTER)
        response.cluster_authorized_operations = (
            call.authorization.operations(call.context.peer, ResourceType.CLUSTER) if describes else 0
        )


def show_of_group(call: Call, group: OfGroup) -> None:
    """Put the client's rights on a group into its description."""
    if group.authorized_operations != NOT_ASKED:
        group.authorized_operations = call.authorization.operations(
            call.context.peer, ResourceType.GROUP, group.group_id
        )
