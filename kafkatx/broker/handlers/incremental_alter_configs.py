"""IncrementalAlterConfigs (key 44), versions 0-1: configs of topics and groups, dynamic settings of brokers.

SET and DELETE, and for lists APPEND and SUBTRACT (KIP-339). Deviations from Apache Kafka: the levels of
loggers (resource type 8) cannot be changed; a list that is not set is appended to as it is in effect, not to
the default of the table.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.configs import alter
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.broker.requests.serial_changes import SerialChanges
from kafkatx.config.alter import Alteration, Operation
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def answer(
    broker: Broker, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> Deferred[IncrementalAlterConfigsResponse]:
    """Alter the resources, one after the other."""
    return Deferred.fromCoroutine(_alter_all(broker, request))


async def _alter_all(
    broker: Broker, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    times = Counter((asked.resource_type, asked.resource_name) for asked in request.resources)
    changes = SerialChanges()
    results = []
    for asked in {(asked.resource_type, asked.resource_name): asked for asked in request.resources}.values():
        try:
            if times[asked.resource_type, asked.resource_name] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            kind, name = asked.resource_type, asked.resource_name
            await changes.make(partial(alter, broker, kind, name, _alterations(asked), request.validate_only))
        except RequestError as error:
            results.append(_result(asked, error.code, error_message(error)))
        else:
            results.append(_result(asked))
    return IncrementalAlterConfigsResponse(0, results)


def _alterations(asked: AlterConfigsResource) -> list[Alteration]:
    """Return the alterations of one resource.

    :raises RequestError: INVALID_REQUEST: a config is repeated, or an operation is unknown.
    """
    if len({config.name for config in asked.configs}) < len(asked.configs):
        raise RequestError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    try:
        return [Alteration(c.name, Operation(c.config_operation), c.value) for c in asked.configs]
    except ValueError as error:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"unknown operation: {error}") from None


def _result(
    asked: AlterConfigsResource, code: int = 0, why: str | None = None
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(code, why, asked.resource_type, asked.resource_name)


def refuse(
    request: IncrementalAlterConfigsRequest, context: RequestContext, code: ErrorCode, why: str
) -> IncrementalAlterConfigsResponse:
    """Refuse every resource with the same error."""
    return IncrementalAlterConfigsResponse(0, [_result(asked, code, why) for asked in request.resources])


API = Api(IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, answer, refuse)
