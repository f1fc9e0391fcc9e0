"""CreateAcls (key 30), versions 0-3.

Deviation from Apache Kafka: any broker serves it, not the controller alone. What is valid is added, together;
other brokers use it within moments.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.acls import AclBinding
from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.guards.acl_fields import check_served, read_creation, said_once
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.config.table.security.acls import KAFKATX_AUTHORIZER_ACLS_MAX
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


def answer(
    broker: Broker, request: CreateAclsRequest, context: RequestContext
) -> Deferred[CreateAclsResponse]:
    """Add the ACLs.

    :raises RequestError: SECURITY_DISABLED.
    """
    check_served(broker)
    return Deferred.fromCoroutine(_create(broker, request))


async def _create(broker: Broker, request: CreateAclsRequest) -> CreateAclsResponse:
    results = [_read(creation) for creation in request.creations]
    added = frozenset(one for one in results if isinstance(one, AclBinding))
    failed: RequestError | None = None
    try:
        _check_number(broker, added)
        if added:
            await broker.metadata.alter_acls(added, frozenset())
    except RequestError as error:
        failed = error
    return CreateAclsResponse(
        results=said_once([_result(failed if isinstance(one, AclBinding) else one) for one in results])
    )


def _read(creation: AclCreation) -> AclBinding | RequestError:
    try:
        return read_creation(creation)
    except RequestError as error:
        return error


def _check_number(broker: Broker, added: frozenset[AclBinding]) -> None:
    acls = broker.metadata.state.acls
    new = sum(binding.entry not in acls.get(binding.pattern, ()) for binding in added)
    most: int = broker.config[KAFKATX_AUTHORIZER_ACLS_MAX]
    if new and sum(map(len, acls.values())) + new > most:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"The cluster would have more than {most} ACLs ({KAFKATX_AUTHORIZER_ACLS_MAX.name}).",
        )


def _result(error: RequestError | None) -> AclCreationResult:
    return AclCreationResult() if error is None else AclCreationResult(error.code, error_message(error))


def refuse(
    request: CreateAclsRequest, context: RequestContext, code: ErrorCode, why: str
) -> CreateAclsResponse:
    """Refuse every ACL with the same error."""
    return CreateAclsResponse(results=said_once([AclCreationResult(code, why) for _ in request.creations]))


API = Api(CreateAclsRequest, CreateAclsResponse, answer, refuse)
