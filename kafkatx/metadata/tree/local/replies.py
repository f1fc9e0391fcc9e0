"""The messages of the server of a local tree to a client. Pure.

They are framed as requests are: :mod:`kafkatx.metadata.tree.local.requests`. ``["session", id, token,
time-out in ms]`` answers the first message; ``["expired"]`` says that there is no such session, at any
time, and ``["pong"]`` answers a ping. ``["watch", number of the request that set it, change]`` is an event.
The reply to a request is ``[number, "ok", result]``, or ``[number, error, path, index of the operation or
null, reason]``. A stat is ``[version, czxid, mzxid, ephemeral owner]``; results are:

==========  =========================================
kind        result
==========  =========================================
read        ``[data, stat]``
children    names
exists      stat or null
multi       path, stat or null for each operation
sync        null
close       null
==========  =========================================
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias, cast

from attrs import frozen

from kafkatx.interfaces.nodes import (
    BadVersion,
    Change,
    EphemeralParent,
    NodeExists,
    NodeStat,
    NoNode,
    NotEmpty,
    Operation,
    OperationError,
    Outcome,
    Refused,
)
from kafkatx.metadata.tree.local.requests import Malformed, content, text

MAX_REPLY_BYTES = 64 << 20
"""Limit of a frame of the server: the children of a node may be many."""

_ERRORS = {error.__name__: error for error in (NoNode, NodeExists, BadVersion, NotEmpty, EphemeralParent)}


@frozen
class Welcome:
    """The client has a session.

    :ivar token: shows that a later connection is the same client's.
    """

    session_id: int
    token: str
    timeout_s: float


@frozen
class Expired:
    """The client has no session, or none any more."""


@frozen
class Pong:
    """The answer to a ping."""


@frozen
class Event:
    """A watch reports a change.

    :ivar number: that of the request which set it.
    """

    number: int
    change: Change


@frozen
class Failed:
    """A request failed.

    :ivar index: index of the operation, or None.
    """

    number: int
    error: str
    path: str
    index: int | None = None
    reason: str = ""

    def exception(self, operations: Sequence[Operation]) -> OperationError:
        """Return the error.

        :param operations: those of the request.
        """
        operation = None if self.index is None else operations[self.index]
        error = _ERRORS.get(self.error)
        if error is None:
            return Refused(self.path, operation, self.index, self.reason)
        return error(self.path, operation, self.index)


@frozen
class Answered:
    """A request succeeded.

    :ivar result: what the functions of this module read.
    """

    number: int
    result: object


Reply: TypeAlias = Welcome | Expired | Pong | Event | Failed | Answered

_PLAIN: dict[str, Reply] = {"pong": Pong(), "expired": Expired()}


def failed(number: int, error: OperationError) -> Failed:
    """Return the reply for an error."""
    reason = error.reason if isinstance(error, Refused) else ""
    return Failed(number, type(error).__name__, error.path, error.index, reason)


def encode(reply: Reply) -> bytes:
    """Return the body of a frame."""
    return json.dumps(_fields(reply), separators=(",", ":")).encode("ascii")


def _fields(reply: Reply) -> list[object]:
    if isinstance(reply, Answered):
        return [reply.number, "ok", reply.result]
    if isinstance(reply, Event):
        return ["watch", reply.number, reply.change.value]
    if isinstance(reply, Failed):
        return [reply.number, reply.error, reply.path, reply.index, reply.reason]
    if isinstance(reply, Welcome):
        return ["session", reply.session_id, reply.token, round(reply.timeout_s * 1000)]
    return ["expired"] if isinstance(reply, Expired) else ["pong"]


def decode(body: bytes) -> Reply:
    """Read the body of a frame.

    :raises Malformed: it is no message of a server.
    """
    try:
        fields = json.loads(body)
        if fields[0] == "watch":
            return Event(int(fields[1]), Change(fields[2]))
        if fields[0] == "session":
            return Welcome(int(fields[1]), str(fields[2]), fields[3] / 1000)
        if isinstance(fields[0], str):
            return _PLAIN[fields[0]]
        if fields[1] == "ok":
            return Answered(int(fields[0]), fields[2])
        return Failed(*fields)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise Malformed(f"{type(error).__name__}: {str(error)[:200]}") from None


def stat_fields(stat: NodeStat) -> list[int]:
    """Return a stat as it is in a result."""
    return [stat.version, stat.czxid, stat.mzxid, stat.ephemeral_owner]


def data_fields(data: bytes, stat: NodeStat) -> list[object]:
    """Return the result of a read."""
    return [text(data), stat_fields(stat)]


def outcome_fields(outcomes: Sequence[Outcome]) -> list[object]:
    """Return the result of a multi."""
    return [stat_fields(each) if isinstance(each, NodeStat) else each for each in outcomes]


def read_stat(result: object) -> NodeStat | None:
    """Read the result of an exists."""
    return None if result is None else NodeStat(*cast("list[int]", result))


def read_data(result: object) -> tuple[bytes, NodeStat]:
    """Read the result of a read."""
    data, stat = cast("tuple[object, list[int]]", result)
    return content(data), NodeStat(*stat)


def read_names(result: object) -> Sequence[str]:
    """Read the result of children."""
    return cast("list[str]", result)


def read_outcomes(result: object) -> tuple[Outcome, ...]:
    """Read the result of a multi."""
    return tuple(
        each if each is None or isinstance(each, str) else NodeStat(*each)
        for each in cast("list[str | list[int] | None]", result)
    )


def read_nothing(result: object) -> None:
    """Read the result of a sync or a close."""
