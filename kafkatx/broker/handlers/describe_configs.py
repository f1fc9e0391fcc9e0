"""DescribeConfigs (key 32), versions 0-4: every config of topics, brokers and groups, with its default."""

from __future__ import annotations

from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.configs import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    check_broker_name,
    check_group_name,
    not_offered,
)
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.config import (
    ConfigEntry,
    describe_all_brokers,
    describe_broker,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ALL_BROKERS
from kafkatx.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


def answer(
    broker: Broker, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse | Deferred[DescribeConfigsResponse]:
    """Describe each resource; a repeated one is described once."""
    resources = {(asked.resource_type, asked.resource_name): asked for asked in request.resources}
    described = broker.slices.each(resources.values(), partial(_describe, broker, request))
    if isinstance(described, Deferred):
        return described.addCallback(partial(DescribeConfigsResponse, 0))
    return DescribeConfigsResponse(0, described)


def _describe(
    broker: Broker, request: DescribeConfigsRequest, asked: DescribeConfigsResource
) -> DescribeConfigsResult:
    try:
        entries = _entries(broker, asked)
    except RequestError as error:
        return _error(asked, error.code, error_message(error))
    keys = None if asked.configuration_keys is None else set(asked.configuration_keys)
    wanted = [entry for entry in entries if keys is None or entry.name in keys]
    return DescribeConfigsResult(
        0, None, asked.resource_type, asked.resource_name, [_config(entry, request) for entry in wanted]
    )


def _entries(broker: Broker, asked: DescribeConfigsResource) -> list[ConfigEntry]:
    """Return all configs of a resource.

    :raises RequestError: the topic or broker does not exist. Any group may have configs.
    """
    name = asked.resource_name
    if asked.resource_type == TOPIC:
        topic = broker.metadata.state.topics.get(name)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
        return describe_topic(broker.config, topic.configs)
    if asked.resource_type == BROKER:
        check_broker_name(broker, name)
        return (describe_all_brokers if name == ALL_BROKERS else describe_broker)(broker.config)
    if asked.resource_type == GROUP:
        check_group_name(name)
        return describe_group(broker.config, broker.metadata.state.group_configs.get(name, {}))
    if asked.resource_type == CLIENT_METRICS:
        if not name:
            raise RequestError(
                ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"
            )
        return describe_client_metrics(broker.metadata.state.client_metrics_configs.get(name, {}))
    raise not_offered(asked.resource_type)


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
    """Refuse every resource with the same error."""
    return DescribeConfigsResponse(0, [_error(asked, code, why) for asked in request.resources])


API = Api(DescribeConfigsRequest, DescribeConfigsResponse, answer, refuse)
