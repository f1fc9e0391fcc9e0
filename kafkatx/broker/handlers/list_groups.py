"""ListGroups (key 16), versions 0-5: all, or those in some states (KIP-518), of some types (KIP-848).

A broker lists the groups that it coordinates; clients ask every broker.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


def answer(broker: Broker, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    """List the groups; while some are being loaded, the others with an error, as Kafka does."""
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if broker.groups.runtime.loading else ErrorCode.NONE
    return ListGroupsResponse(0, error, list(_listed(broker, request)))


def _listed(broker: Broker, request: ListGroupsRequest) -> Iterator[ListedGroup]:
    """Return the groups that pass the filters, which ignore case."""
    states = {state.lower() for state in request.states_filter}
    kinds = {kind.lower() for kind in request.types_filter}
    for group in broker.groups.all():
        state, kind = group.state, group.kind
        if (not states or state.lower() in states) and (not kinds or kind.lower() in kinds):
            yield ListedGroup(group.group_id, group.protocol_type, state, kind)


def refuse(
    request: ListGroupsRequest, context: RequestContext, code: ErrorCode, message: str
) -> ListGroupsResponse:
    """Refuse the request with an error."""
    return ListGroupsResponse(0, code, [])


API = Api(ListGroupsRequest, ListGroupsResponse, answer, refuse)
