"""Values of :class:`~kafkatx.interfaces.tree.ITree`: paths, operations, stats, events and errors.

They are ZooKeeper's, without its wire format: https://zookeeper.apache.org/doc/current/zookeeperProgrammers.html.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

from attrs import field, frozen

ANY_VERSION = -1
"""Version of a check, set or delete that any version of the node satisfies."""


def check_path(path: str) -> str:
    """Return *path*.

    :raises ValueError: it is not absolute, ends with ``/`` (the root apart), contains a NUL character, or has
        an empty, ``.`` or ``..`` component.
    """
    if path != "/":
        names = path.split("/")
        if names[0] or len(names) < 2 or "\0" in path or any(name in ("", ".", "..") for name in names[1:]):
            raise ValueError(f"not the path of a node: {path!r}")
    return path


def parent_path(path: str) -> str:
    """Return the path of the parent of a node that is not the root."""
    return path.rpartition("/")[0] or "/"


def _valid_path(instance: object, attribute: object, value: str) -> None:
    if value == "/" and not isinstance(instance, Check | SetData):
        raise ValueError("the root can neither be created nor deleted")
    check_path(value)


@frozen
class NodeStat:
    """The state of a node beside its data.

    :ivar version: number of changes of the data; 0 for a new node.
    :ivar czxid: transaction that created the node.
    :ivar mzxid: transaction that last set its data, or *czxid*. Transaction ids increase over the whole tree.
    :ivar ephemeral_owner: id of the session that an ephemeral node belongs to; 0 for a persistent one.
    """

    version: int
    czxid: int
    mzxid: int
    ephemeral_owner: int = 0


@frozen
class Check:
    """Operation: require that a node exists and has a version."""

    path: str = field(validator=_valid_path)
    version: int = ANY_VERSION


@frozen
class Create:
    """Operation: create a node. Its parent must exist and be persistent.

    :ivar ephemeral: the node is deleted when the session ends.
    :ivar sequential: ten digits are appended to the path, which increase with each child created under the
        parent and are never reused.
    """

    path: str = field(validator=_valid_path)
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@frozen
class SetData:
    """Operation: replace the data of a node that has a version."""

    path: str = field(validator=_valid_path)
    data: bytes
    version: int = ANY_VERSION


@frozen
class Delete:
    """Operation: delete a node that has a version and no children."""

    path: str = field(validator=_valid_path)
    version: int = ANY_VERSION


Operation: TypeAlias = Check | Create | SetData | Delete
Outcome: TypeAlias = str | NodeStat | None
"""The result of an operation: the path of a Create, the new stat of a SetData, None for the others."""


class Change(enum.Enum):
    """A change that a watch reports."""

    CREATED = "created"
    DELETED = "deleted"
    DATA = "data changed"
    CHILDREN = "children changed"
    LOST = "watch lost"
    """The connection or the session ended. The node may have changed; nothing more will be reported."""


class SessionState(enum.Enum):
    """The state of a tree's session. Listeners hear of CONNECTED, SUSPENDED and LOST."""

    CLOSED = "closed"
    """There is no session: before ``connect``, after ``close``."""
    CONNECTING = "connecting"
    """``connect`` was called, and there is no session yet."""
    CONNECTED = "connected"
    SUSPENDED = "suspended"
    """The connection is lost; the session may or may not live on. All watches and operations have ended."""
    LOST = "lost"
    """The session has expired, and its ephemeral nodes are gone."""


class TreeError(Exception):
    """Base of the errors of a tree."""


class OperationError(TreeError):
    """The server refused a request; it changed nothing.

    :ivar path: path of the node.
    :ivar operation: the operation of a multi that failed; None for a read.
    :ivar index: its index in the multi; None for a read.
    """

    def __init__(self, path: str, operation: Operation | None = None, index: int | None = None) -> None:
        super().__init__(path, operation, index)
        self.path = path
        self.operation = operation
        self.index = index

    def __str__(self) -> str:
        name = type(self).__name__
        return (
            f"{name}: {self.path}"
            if self.operation is None  # else without its data, which may be large or secret
            else f"{name}: [{self.index}] {type(self.operation).__name__} {self.path}"
        )


class NoNode(OperationError):
    """The node, or the parent of a node to create, does not exist."""


class NodeExists(OperationError):
    """The node to create exists."""


class BadVersion(OperationError):
    """The node has another version."""


class NotEmpty(OperationError):
    """The node to delete has children."""


class EphemeralParent(OperationError):
    """The parent of the node to create is ephemeral."""


class Refused(OperationError):
    """The server refused the request for another reason: no permission, or too large, for example.

    :ivar reason: the server's error.
    """

    def __init__(
        self, path: str, operation: Operation | None = None, index: int | None = None, reason: str = ""
    ) -> None:
        super().__init__(path, operation, index)
        self.reason = reason

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.reason})"


class NotAuthenticated(TreeError):
    """The server does not accept this client: its user name or password is wrong, for example."""


class ConnectionLost(TreeError):
    """The connection was lost before the reply came: a multi may have been made, or not, or may be yet.

    It is settled when the tree is connected again: a read sees the outcome then.
    """


class SessionExpired(TreeError):
    """There is no session: it has expired, or was closed. A multi that was under way may have been made."""
