"""The check of DescribeExplanations: of a group, or of a client id. No I/O."""

from __future__ import annotations

from kafkatx.acls import CLUSTER_NAME
from kafkatx.broker.authorization.demands import DEMANDS
from kafkatx.broker.guards.calls import Call
from kafkatx.wire.messages.describe_explanations import DescribeExplanationsRequest

_GROUP, _CLIENT_ID = DEMANDS[DescribeExplanationsRequest.API_KEY].demands


def check(call: Call, request: DescribeExplanationsRequest) -> None:
    """Refuse a request of a client that may describe neither the group nor, of a client id, the cluster."""
    if request.group_id is not None:
        call.require(_GROUP, request.group_id)
    if request.client_id is not None:
        call.require(_CLIENT_ID, CLUSTER_NAME)
