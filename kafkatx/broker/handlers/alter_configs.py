"""AlterConfigs (key 33), versions 0-2: replace all configs of topics, groups or brokers.

A config that is not named returns to its default (KIP-133). IncrementalAlterConfigs replaces this API.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.configs import replace
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.broker.requests.serial_changes import SerialChanges
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def answer(
    broker: Broker, request: AlterConfigsRequest, context: RequestContext
) -> Deferred[AlterConfigsResponse]:
    """Alter the resources, one after the other."""
    return Deferred.fromCoroutine(_alter_all(broker, request))


async def _alter_all(broker: Broker, request: AlterConfigsRequest) -> AlterConfigsResponse:
    times = Counter((asked.resource_type, asked.resource_name) for asked in request.resources)
    changes = SerialChanges()
    results = []
    for asked in {(asked.resource_type, asked.resource_name): asked for asked in request.resources}.values():
        try:
            if times[asked.resource_type, asked.resource_name] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            await changes.make(partial(_alter, broker, asked, request.validate_only))
        except RequestError as error:
            results.append(_result(asked, error.code, error_message(error)))
        else:
            results.append(_result(asked))
    return AlterConfigsResponse(0, results)


async def _alter(broker: Broker, asked: AlterConfigsResource, validate_only: bool) -> None:
    """Alter one resource, or only check that it could be.

    :raises RequestError: it cannot be altered like this.
    """
    configs = {config.name: config.value for config in asked.configs}
    if len(configs) < len(asked.configs):
        raise RequestError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    await replace(broker, asked.resource_type, asked.resource_name, configs, validate_only)


def _result(
    asked: AlterConfigsResource, code: int = 0, why: str | None = None
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(code, why, asked.resource_type, asked.resource_name)


def refuse(
    request: AlterConfigsRequest, context: RequestContext, code: ErrorCode, why: str
) -> AlterConfigsResponse:
    """Refuse every resource with the same error."""
    return AlterConfigsResponse(0, [_result(asked, code, why) for asked in request.resources])


API = Api(AlterConfigsRequest, AlterConfigsResponse, answer, refuse)
