"""The messages of a client to the server of a local tree. Pure.

A message is a frame: its size as u32, big-endian, then a JSON array in ASCII. Data of nodes are text whose
characters are the bytes (latin-1). The first message of a connection is ``["hello", version, session id or
null, token, time-out in ms]``; ``["ping"]`` may come at any time. A request is ``[number, kind, ...]``:

==========  =====================================
kind        rest
==========  =====================================
read        path, true if it sets a watch
children    path, true if it sets a watch
exists      path, true if it sets a watch
multi       operation, ...
sync
close
==========  =====================================

Operations are ``["check", path, version]``, ``["create", path, data, ephemeral, sequential]``, ``["set",
path, data, version]`` and ``["delete", path, version]``. The replies are in
:mod:`kafkatx.metadata.tree.local.replies`.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from attrs import frozen

from kafkatx.interfaces.nodes import Check, Create, Delete, Operation, SetData, check_path

T = TypeVar("T")

VERSION = 1
MAX_REQUEST_BYTES = 8 << 20
"""Limit of a frame of a client. Any multi that ``TreeClient`` allows fits: a byte may take six characters."""


class Malformed(Exception):
    """A message is none of this protocol; its sender loses the connection."""


class Kind(enum.Enum):
    """A kind of request."""

    READ = "read"
    CHILDREN = "children"
    EXISTS = "exists"
    MULTI = "multi"
    SYNC = "sync"
    CLOSE = "close"


READS = (Kind.READ, Kind.CHILDREN, Kind.EXISTS)


@frozen
class Hello:
    """The first message of a connection.

    :ivar session_id: the session to go on with; None starts one.
    :ivar token: what the server gave with the session; empty for a new one.
    """

    session_id: int | None
    token: str
    timeout_s: float


@frozen
class Ping:
    """A sign of life."""


@frozen
class Request:
    """A request.

    :ivar number: chosen by the client; names the request in its reply, and the watch that it sets.
    """

    number: int
    kind: Kind
    path: str = "/"
    watch: bool = False
    operations: Sequence[Operation] = ()


Message: TypeAlias = Hello | Ping | Request


def encode(message: Message) -> bytes:
    """Return the body of a frame."""
    return json.dumps(_fields(message), separators=(",", ":")).encode("ascii")


def _fields(message: Message) -> list[object]:
    if isinstance(message, Ping):
        return ["ping"]
    if isinstance(message, Hello):
        return ["hello", VERSION, message.session_id, message.token, round(message.timeout_s * 1000)]
    fields: list[object] = [message.number, message.kind.value]
    if message.kind in READS:
        fields += [message.path, message.watch]
    fields += map(_operation_fields, message.operations)
    return fields


def _operation_fields(operation: Operation) -> list[object]:
    if isinstance(operation, Create):
        return ["create", operation.path, text(operation.data), operation.ephemeral, operation.sequential]
    if isinstance(operation, SetData):
        return ["set", operation.path, text(operation.data), operation.version]
    return ["check" if isinstance(operation, Check) else "delete", operation.path, operation.version]


def decode(body: bytes) -> Message:
    """Read the body of a frame.

    :raises Malformed: it is no message, or its version is another.
    """
    try:
        fields = json.loads(body)
        if fields == ["ping"]:
            return Ping()
        if fields[0] == "hello":
            return _hello(fields)
        return _request(fields)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise Malformed(f"{type(error).__name__}: {str(error)[:200]}") from None


def _hello(fields: list[object]) -> Hello:
    _, version, session_id, token, timeout_ms = fields
    if version != VERSION:
        raise ValueError(f"version {version!r}; this server knows {VERSION}")
    known = None if session_id is None else _typed(session_id, int)
    return Hello(known, _typed(token, str), _typed(timeout_ms, int) / 1000)


def _request(fields: list[object]) -> Request:
    number, kind = _typed(fields[0], int), Kind(fields[1])
    if kind in READS:
        path, watch = fields[2:]
        return Request(number, kind, _path(path), _typed(watch, bool))
    if kind is Kind.MULTI:
        operations = [_operation(_typed(each, list)) for each in fields[2:]]
        if not operations:
            raise ValueError("a multi without operations")
        return Request(number, kind, operations=operations)
    if len(fields) != 2:
        raise ValueError("too many fields")
    return Request(number, kind)


def _operation(fields: list[object]) -> Operation:
    name, path = fields[0], _path(fields[1])
    if name == "create":
        data, ephemeral, sequential = fields[2:]
        return Create(path, content(data), _typed(ephemeral, bool), _typed(sequential, bool))
    if name == "set":
        data, version = fields[2:]
        return SetData(path, content(data), _typed(version, int))
    (version,) = fields[2:]
    if name not in ("check", "delete"):
        raise ValueError(f"unknown operation {name!r}")
    return (Check if name == "check" else Delete)(path, _typed(version, int))


def _path(value: object) -> str:
    path = check_path(_typed(value, str))
    path.encode()  # half of a surrogate pair is an error
    return path


def text(data: bytes) -> str:
    """Return data of a node as they are in a message."""
    return data.decode("latin-1")


def content(value: object) -> bytes:
    """Return data of a node from a message."""
    return _typed(value, str).encode("latin-1")


def _typed(value: object, wanted: type[T]) -> T:
    """Return *value*; True is no number."""
    if not isinstance(value, wanted) or type(value) is not wanted:
        raise TypeError(f"{value!r:.100} is no {wanted.__name__}")
    return value
