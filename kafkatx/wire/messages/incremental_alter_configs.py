"""IncrementalAlterConfigs (key 44), versions 0-1: change some configs (KIP-339); 1 is flexible."""

from __future__ import annotations

from kafkatx.wire.schema import (
    BOOLEAN,
    INT8,
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class AlterableConfig(Struct):
    """A change: 0 sets, 1 deletes, 2 appends to a list, 3 subtracts from a list."""

    name: str = field(STRING)
    config_operation: int = field(INT8)
    value: str | None = field(nullable(STRING))


class AlterConfigsResource(Struct):
    """A topic (type 2) or broker (4) with the changes."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[AlterableConfig] = field(array(AlterableConfig))


class IncrementalAlterConfigsRequest(Message, key=44, versions=(0, 1), flexible=1):
    """Change configs, or only validate the changes."""

    resources: list[AlterConfigsResource] = field(array(AlterConfigsResource))
    validate_only: bool = field(BOOLEAN)


class AlterConfigsResourceResponse(Struct):
    """The result for one resource."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)


class IncrementalAlterConfigsResponse(Message, key=44, versions=(0, 1), flexible=1):
    """The results."""

    throttle_time_ms: int = field(INT32)
    responses: list[AlterConfigsResourceResponse] = field(array(AlterConfigsResourceResponse))
