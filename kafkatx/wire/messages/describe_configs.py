"""DescribeConfigs (key 32), versions 0-4: the configs of topics and brokers.

*   0 has a flag for default values; from 1 on there are sources and synonyms (KIP-226).
*   3 adds types and documentation (KIP-569); 4 is flexible.
"""

from __future__ import annotations

from kafkatx.wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, Message, Struct, array, field, nullable


class DescribeConfigsResource(Struct):
    """A topic (type 2) or broker (type 4), and the requested configs (None: all)."""

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configuration_keys: list[str] | None = field(nullable(array(STRING)))


class DescribeConfigsRequest(Message, key=32, versions=(0, 4), flexible=4):
    """Ask for settings."""

    resources: list[DescribeConfigsResource] = field(array(DescribeConfigsResource))
    include_synonyms: bool = field(BOOLEAN, since=1)
    include_documentation: bool = field(BOOLEAN, since=3)


class DescribeConfigsSynonym(Struct):
    """Another name that sets the value if those before it are not set."""

    name: str = field(STRING)
    value: str | None = field(nullable(STRING))
    source: int = field(INT8)


class DescribeConfigsResourceResult(Struct):
    """A setting."""

    name: str = field(STRING)
    value: str | None = field(nullable(STRING))
    read_only: bool = field(BOOLEAN)
    is_default: bool = field(BOOLEAN, until=0)
    config_source: int = field(INT8, since=1, default=-1)
    is_sensitive: bool = field(BOOLEAN)
    synonyms: list[DescribeConfigsSynonym] = field(array(DescribeConfigsSynonym), since=1)
    config_type: int = field(INT8, since=3)
    documentation: str | None = field(nullable(STRING), since=3)


class DescribeConfigsResult(Struct):
    """The configs of one resource."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[DescribeConfigsResourceResult] = field(array(DescribeConfigsResourceResult))


class DescribeConfigsResponse(Message, key=32, versions=(0, 4), flexible=4):
    """The settings."""

    throttle_time_ms: int = field(INT32)
    results: list[DescribeConfigsResult] = field(array(DescribeConfigsResult))
