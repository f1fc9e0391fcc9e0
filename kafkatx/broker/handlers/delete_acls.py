"""DeleteAcls (key 31), versions 0-3.

What the reply names is removed, and nothing else. Deviations from Apache Kafka: any broker serves it, not the
controller alone; a request whose filters match the same ACLs again and again is refused from some point on.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.acls import AclBinding
from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.guards.acl_fields import check_served, read_filter, said_once
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

MOST_FILTERS = 1000
MOST_REPEATED = 1000
"""The number of matches above that of all ACLs, from which on filters are refused."""


def answer(
    broker: Broker, request: DeleteAclsRequest, context: RequestContext
) -> Deferred[DeleteAclsResponse]:
    """Remove the ACLs that match.

    :raises RequestError: SECURITY_DISABLED; INVALID_REQUEST: there are too many filters.
    """
    check_served(broker)
    if len(request.filters) > MOST_FILTERS:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"There are more than {MOST_FILTERS} filters.")
    return Deferred.fromCoroutine(_delete(broker, request))


async def _delete(broker: Broker, request: DeleteAclsRequest) -> DeleteAclsResponse:
    room = sum(map(len, broker.metadata.state.acls.values())) + MOST_REPEATED

    def match(asked: DeleteAclsFilter) -> list[AclBinding] | RequestError:
        nonlocal room
        found = _match(broker, asked)
        if isinstance(found, list):
            if len(found) > room:
                return RequestError(ErrorCode.INVALID_REQUEST, "Filters match the same ACLs too often.")
            room -= len(found)
        return found

    sliced = broker.slices.each(request.filters, match)
    matched = await sliced if isinstance(sliced, Deferred) else sliced
    removed = frozenset(binding for found in matched if isinstance(found, list) for binding in found)
    failed: RequestError | None = None
    try:
        if removed:
            await broker.metadata.alter_acls(frozenset(), removed)
    except RequestError as error:
        failed = error
    return DeleteAclsResponse(filter_results=said_once([_result(found, failed) for found in matched]))


def _match(broker: Broker, asked: DeleteAclsFilter) -> list[AclBinding] | RequestError:
    try:
        return list(read_filter(asked).matching(broker.metadata.state.acls))
    except RequestError as error:
        return error


def _result(found: list[AclBinding] | RequestError, failed: RequestError | None) -> DeleteAclsFilterResult:
    if isinstance(found, RequestError):
        return DeleteAclsFilterResult(found.code, error_message(found))
    code, why = (ErrorCode.NONE, None) if failed is None else (failed.code, error_message(failed))
    return DeleteAclsFilterResult(
        matching_acls=[
            DeleteAclsMatchingAcl(
                code,
                why,
                pattern.resource_type,
                pattern.name,
                pattern.pattern_type,
                entry.principal,
                entry.host,
                entry.operation,
                entry.permission,
            )
            for pattern, entry in found
        ]
    )


def refuse(
    request: DeleteAclsRequest, context: RequestContext, code: ErrorCode, why: str
) -> DeleteAclsResponse:
    """Refuse every filter with the same error."""
    return DeleteAclsResponse(
        filter_results=said_once([DeleteAclsFilterResult(code, why) for _ in request.filters])
    )


API = Api(DeleteAclsRequest, DeleteAclsResponse, answer, refuse)
