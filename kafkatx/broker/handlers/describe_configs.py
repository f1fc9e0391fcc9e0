"""DescribeConfigs (key 32), versions 0-4: every config of topics and of this broker, with its default."""

from __future__ import annotations

from kafkatx.broker.dispatch import RequestContext, message
from kafkatx.broker.state import Broker
from kafkatx.config import ConfigEntry, describe_broker, describe_topic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

TOPIC, BROKER = 2, 4


def answer(
    broker: Broker, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    """Describe each resource."""
    return DescribeConfigsResponse(0, [_describe(broker, request, asked) for asked in request.resources])


def _describe(
    broker: Broker, request: DescribeConfigsRequest, asked: DescribeConfigsResource
) -> DescribeConfigsResult:
    try:
        entries = _entries(broker, asked)
    except RequestError as error:
        return _error(asked, error.code, message(error))
    keys = asked.configuration_keys
    wanted = [entry for entry in entries if keys is None or entry.name in keys]
    return DescribeConfigsResult(
        0, None, asked.resource_type, asked.resource_name, [_config(entry, request) for entry in wanted]
    )


def _entries(broker: Broker, asked: DescribeConfigsResource) -> list[ConfigEntry]:
    """All configs of a resource.

    :raises RequestError: there is no such topic or broker.
    """
    name = asked.resource_name
    if asked.resource_type == TOPIC:
        topic = broker.coordinator.state.topics.get(name)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
        return describe_topic(broker.config, topic.configs)
    if asked.resource_type == BROKER:
        if not name:  # the defaults of the whole cluster, set while it runs: there are none
            return []
        if name != str(broker.node_id):
            raise RequestError(ErrorCode.INVALID_REQUEST, f"this is broker {broker.node_id}, not {name}")
        return describe_broker(broker.config)
    raise RequestError(
        ErrorCode.INVALID_REQUEST,
        f"resource type {asked.resource_type}: only topics (2) and brokers (4) are here",
    )


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = []
    if request.include_synonyms:
        synonyms = [DescribeConfigsSynonym(s.name, s.value, s.source) for s in entry.synonyms]
    return DescribeConfigsResourceResult(
        entry.name,
        entry.value,
        entry.read_only,
        entry.is_default,
        entry.source,
        entry.sensitive,
        synonyms,
        entry.type,
        entry.documentation if request.include_documentation else None,
    )


def _error(asked: DescribeConfigsResource, code: int, why: str) -> DescribeConfigsResult:
    return DescribeConfigsResult(code, why, asked.resource_type, asked.resource_name)


def refuse(
    request: DescribeConfigsRequest, context: RequestContext, code: ErrorCode, why: str
) -> DescribeConfigsResponse:
    """The same error for every resource."""
    return DescribeConfigsResponse(0, [_error(asked, code, why) for asked in request.resources])
