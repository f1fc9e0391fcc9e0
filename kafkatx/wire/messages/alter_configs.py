"""AlterConfigs (key 33), versions 0-2: replace all configs of topics and brokers; 2 is flexible."""

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
    """A config with its value."""

    name: str = field(STRING)
    value: str | None = field(nullable(STRING))


class AlterConfigsResource(Struct):
    """A topic (type 2) or broker (4) with all of its new configs."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[AlterableConfig] = field(array(AlterableConfig))


class AlterConfigsRequest(Message, key=33, versions=(0, 2), flexible=2):
    """Replace configs, or only validate the new ones."""

    resources: list[AlterConfigsResource] = field(array(AlterConfigsResource))
    validate_only: bool = field(BOOLEAN)


class AlterConfigsResourceResponse(Struct):
    """The result for one resource."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)


class AlterConfigsResponse(Message, key=33, versions=(0, 2), flexible=2):
    """The results."""

    throttle_time_ms: int = field(INT32)
    responses: list[AlterConfigsResourceResponse] = field(array(AlterConfigsResourceResponse))
