"""A request while its demands are checked, and the changes of its response afterwards. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
from twisted.internet.defer import Deferred

from kafkatx.acls import CLUSTER_NAME, AclOperation, ResourceType, enum_text
from kafkatx.broker.authorization.authorization import Authorization
from kafkatx.broker.authorization.demands import Demand, Right
from kafkatx.broker.broker import Broker
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.pending_answers import ExclusiveResponse, Outcome, Staging
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.schema import Message

Refuse: TypeAlias = Callable[[Any, RequestContext, ErrorCode, str], Message | Staging[Any]]
Completion: TypeAlias = Callable[[Any], None]
"""Changes a response."""


@attrs.frozen(eq=False)
class Final:
    """The response to a request that its handler does not see."""

    response: Any


@attrs.frozen(eq=False)
class Call:
    """A request that has come.

    :ivar refuse: gives the response that refuses a whole request with one error.
    """

    authorization: Authorization
    broker: Broker
    context: RequestContext
    refuse: Refuse

    def sees(self, operation: AclOperation, resource_type: ResourceType, name: str = CLUSTER_NAME) -> bool:
        """Return True if a reply may tell the client something (``Authorization.sees``)."""
        return self.authorization.sees(self.context.peer, operation, resource_type, name)

    def meets(self, demand: Demand, name: str) -> bool:
        """Return True if the client has one of the rights of a demand on resources of this name."""
        rights = demand.rights
        if len(rights) == 1:
            return self._has(rights[0], name, False)
        if rights[-1].any_name and self._has(rights[-1], name, True):
            return True
        return any(self._has(right, name, True) for right in rights) or self._has(rights[0], name, False)

    def _has(self, right: Right, name: str, quiet: bool) -> bool:
        if right.any_name:
            return self.authorization.allows_any(self.context.peer, right.operation, right.resource_type)
        if right.resource_type is ResourceType.CLUSTER:
            name = CLUSTER_NAME
        return self.authorization.allows(self.context.peer, right.operation, right.resource_type, name, quiet)

    def require(self, demand: Demand, name: str) -> None:
        """Refuse the whole request unless the client has one of the rights of a demand.

        :raises RequestError: it has none.
        """
        if not self.meets(demand, name):
            raise RequestError(demand.code, self.reason(demand))

    def reason(self, demand: Demand) -> str:
        """Return the message of a refusal."""
        right = demand.rights[0]
        return (
            f"{self.context.peer.session.principal} may not {enum_text(right.operation)}"
            f" this {enum_text(right.resource_type)}"
        )

    def refused(self, request: Message, demand: Demand) -> Any:
        """Return the response that refuses all of a request; None where there is no reply.

        :raises ProtocolViolation: the connection must be closed (a produce request with acks=0).
        """
        refused = self.refuse(request, self.context, demand.code, self.reason(demand))
        return refused.respond({}) if isinstance(refused, Staging) else refused


class CompletedStaging(Staging[Any]):
    """A staged answer whose response is changed before it is sent."""

    __slots__ = ("_complete", "_staging", "alone")

    def __init__(self, staging: Staging[Any], complete: Completion) -> None:
        self._staging = staging
        self._complete = complete
        self.alone = staging.alone

    def throttle(self, throttle_time_ms: int) -> None:
        """Put the throttle time into the response."""
        self._staging.throttle(throttle_time_ms)

    def respond(self, failed: dict[object, OSError]) -> Any:
        """Return the response, as :class:`Staging` says."""
        return _completed(self._staging.respond(failed), self._complete)


def completed(outcome: Outcome[Any], complete: Completion) -> Outcome[Any]:
    """Return the result of a handler with its response changed, when there is one."""
    if isinstance(outcome, Staging):
        return CompletedStaging(outcome, complete)
    if isinstance(outcome, ExclusiveResponse):
        outcome.response.addCallback(_changed, complete)
        return outcome
    found: Outcome[Any] = _completed(outcome, complete)
    return found


def _completed(response: Any, complete: Completion) -> Any:
    if isinstance(response, Deferred):
        return response.addCallback(_changed, complete)
    return _changed(response, complete)


def _changed(response: Any, complete: Completion) -> Any:
    complete(response)
    return response
