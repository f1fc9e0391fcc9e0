"""DescribeCluster (key 60), versions 0-2: the brokers and the controller, without topics.

*   Flexible from the first version on; 1 adds the type of endpoints (KIP-919), 2 fenced brokers
    (KIP-1073).
"""

from __future__ import annotations

from kafkatx.wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, Message, Struct, array, field, nullable


class DescribeClusterRequest(Message, key=60, versions=(0, 2), flexible=0):
    """Request the cluster's nodes. ``endpoint_type``: 1 brokers, 2 controllers."""

    include_cluster_authorized_operations: bool = field(BOOLEAN)
    endpoint_type: int = field(INT8, since=1, default=1)
    include_fenced_brokers: bool = field(BOOLEAN, since=2)


class DescribeClusterBroker(Struct):
    """A live broker and the address that it advertises."""

    broker_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(nullable(STRING))
    is_fenced: bool = field(BOOLEAN, since=2)


class DescribeClusterResponse(Message, key=60, versions=(0, 2), flexible=0):
    """The cluster's nodes."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    endpoint_type: int = field(INT8, since=1, default=1)
    cluster_id: str = field(STRING)
    controller_id: int = field(INT32, default=-1)
    brokers: list[DescribeClusterBroker] = field(array(DescribeClusterBroker))
    cluster_authorized_operations: int = field(INT32, default=-(2**31))
