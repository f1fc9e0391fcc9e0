"""FindCoordinator requests: the coordinator of a group or of a transactional id. Pure."""

from __future__ import annotations

from kafkatx.clientcore.errors import check
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

GROUP = 0
TRANSACTION = 1
"""Key types."""


def find_request(key: str, key_type: int) -> FindCoordinatorRequest:
    """Return the request for one coordinator, of any version."""
    return FindCoordinatorRequest(key=key, key_type=key_type, coordinator_keys=[key])


def found_coordinator(response: FindCoordinatorResponse, key: str, key_type: int) -> BrokerNode:
    """Return the coordinator of a reply.

    :raises RequestError: the reply's error.
    """
    found = response.coordinators[0] if response.coordinators else response
    kind = "transactional id" if key_type == TRANSACTION else "group"
    check(found.error_code, f"the coordinator of {kind} {key!r}", found.error_message)
    return BrokerNode(found.node_id, found.host, found.port)
