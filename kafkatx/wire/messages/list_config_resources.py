"""ListConfigResources (key 74), versions 0-1: the resources that have configs (KIP-1142).

*   Version 0 is ListClientMetricsResources (KIP-1000) and lists client metrics only; 1 has a filter by
    type. Both are flexible.
"""

from __future__ import annotations

from kafkatx.wire.schema import INT8, INT16, INT32, STRING, Message, Struct, array, field

CLIENT_METRICS = 16


class ListConfigResourcesRequest(Message, key=74, versions=(0, 1), flexible=0):
    """Request the resources of some types; an empty list: of all types."""

    resource_types: list[int] = field(array(INT8), since=1)


class ConfigResource(Struct):
    """The name of a resource, and its type as ``ConfigResource.Type`` numbers it."""

    resource_name: str = field(STRING)
    resource_type: int = field(INT8, since=1, default=CLIENT_METRICS)


class ListConfigResourcesResponse(Message, key=74, versions=(0, 1), flexible=0):
    """The resources."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    config_resources: list[ConfigResource] = field(array(ConfigResource))
