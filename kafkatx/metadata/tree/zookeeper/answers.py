"""kazoo's results and errors as those of trees. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kazoo import exceptions
from kazoo.protocol.states import EventType, ZnodeStat

from kafkatx.interfaces.nodes import (
    BadVersion,
    Change,
    ConnectionLost,
    EphemeralParent,
    NodeExists,
    NodeStat,
    NoNode,
    NotEmpty,
    Operation,
    OperationError,
    Outcome,
    Refused,
    SessionExpired,
    TreeError,
)

CHANGES: dict[str, Change] = {
    EventType.CREATED: Change.CREATED,
    EventType.DELETED: Change.DELETED,
    EventType.CHANGED: Change.DATA,
    EventType.CHILD: Change.CHILDREN,
}
"""Changes by kazoo's event types. NONE is missing: the tree ends its watches itself when it is SUSPENDED."""

_REFUSALS: dict[type[Exception], type[OperationError]] = {
    exceptions.NoNodeError: NoNode,
    exceptions.NodeExistsError: NodeExists,
    exceptions.BadVersionError: BadVersion,
    exceptions.NotEmptyError: NotEmpty,
    exceptions.NoChildrenForEphemeralsError: EphemeralParent,
}
_ADVICE: dict[type[Exception], str] = {
    exceptions.NoAuthError: "this client may not: it does not authenticate as the owner of the node",
    exceptions.InvalidACLError: "this client does not authenticate, which zookeeper.set.acl needs",
}
_IN_DOUBT = (
    exceptions.ConnectionLoss,
    exceptions.ConnectionClosedError,
    exceptions.ConnectionDropped,
    exceptions.OperationTimeoutError,
    exceptions.RequestTimeoutError,
    exceptions.SessionMovedError,
)
_OTHERS_FAILED = (exceptions.RolledBackError, exceptions.RuntimeInconsistency)
"""Results of the operations of a multi that failed because of another one, before it and after it."""


def tree_error(
    error: Exception, path: str, operation: Operation | None = None, index: int | None = None
) -> TreeError:
    """Return the error of trees for one of kazoo."""
    if isinstance(error, _IN_DOUBT):  # before SessionExpiredError, which is a base of ConnectionClosedError
        return ConnectionLost(f"the connection was lost: {type(error).__name__}")
    if isinstance(error, exceptions.SessionExpiredError):
        return SessionExpired("the session has expired")
    refusal = _REFUSALS.get(type(error))
    if refusal is not None:
        return refusal(path, operation, index)
    reason = _ADVICE.get(type(error)) or f"{type(error).__name__} {error}".rstrip()
    return Refused(path, operation, index, reason=reason)


def node_stat(stat: ZnodeStat) -> NodeStat:
    """Return the stat of a node."""
    return NodeStat(stat.version, stat.czxid, stat.mzxid, stat.ephemeralOwner)


def outcomes(operations: Sequence[Operation], results: Sequence[object]) -> tuple[Outcome, ...]:
    """Return the outcome of each operation of a multi.

    kazoo's commit gives a list and raises nothing: where one operation failed it has that one's error, and
    the others have RolledBackError or RuntimeInconsistency.

    :raises TreeError: an operation failed.
    """
    errors = [(index, each) for index, each in enumerate(results) if isinstance(each, Exception)]
    if errors:
        own = [each for each in errors if not isinstance(each[1], _OTHERS_FAILED)]
        index, error = (own or errors)[0]
        raise tree_error(error, operations[index].path, operations[index], index)
    return tuple(_outcome(each) for each in results)


def _outcome(result: object) -> Outcome:
    if isinstance(result, ZnodeStat):
        return node_stat(result)
    return result if isinstance(result, str) else None
