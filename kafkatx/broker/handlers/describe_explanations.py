"""DescribeExplanations (key 10102), version 0: why a group or a client is slow, as this broker sees it.

It is kafkatx's own and not listed by ApiVersions. A reply takes some seconds, in which the broker is
observed. The coordinator of a group explains it; another broker answers NOT_COORDINATOR.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.explanations.explanations import explain_client, explain_group
from kafkatx.broker.explanations.facts import Explanation
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_explanations import (
    DescribeExplanationsRequest,
    DescribeExplanationsResponse,
    Evidence,
    ExplanationEntry,
)


def answer(
    broker: Broker, request: DescribeExplanationsRequest, context: RequestContext
) -> Deferred[DescribeExplanationsResponse]:
    """Explain a group or a client."""
    group_id, client_id = request.group_id, request.client_id
    if group_id is not None and client_id is None:
        error = broker.groups.check(group_id)
        if error:
            raise RequestError(error)
        explained = explain_group(broker, group_id)
    elif client_id is not None and group_id is None:
        explained = explain_client(broker, client_id)
    else:
        raise RequestError(ErrorCode.INVALID_REQUEST, "name either a group or a client id")
    return Deferred.fromCoroutine(explained).addCallback(
        lambda found: DescribeExplanationsResponse(explanations=[*map(_entry, found)])
    )


def _entry(one: Explanation) -> ExplanationEntry:
    return ExplanationEntry(
        one.rule, one.severity, one.sentence, one.advice, [Evidence(*pair) for pair in one.evidence]
    )


def refuse(
    request: DescribeExplanationsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeExplanationsResponse:
    """Refuse the request with an error and a message."""
    return DescribeExplanationsResponse(error_code=code, error_message=message)


API = Api(DescribeExplanationsRequest, DescribeExplanationsResponse, answer, refuse)
