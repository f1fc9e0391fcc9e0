"""The nodes of a tree in memory, and transactions on them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define, field

from kafkatx.interfaces.nodes import (
    ANY_VERSION,
    BadVersion,
    Change,
    Check,
    Create,
    Delete,
    EphemeralParent,
    NodeExists,
    NodeStat,
    NoNode,
    NotEmpty,
    Operation,
    Outcome,
    SetData,
    parent_path,
)


@define
class Node:
    """A node.

    :ivar sequence: number of children ever created, which the next sequential child is named by.
    """

    data: bytes
    czxid: int
    mzxid: int
    version: int = 0
    owner: int = 0
    sequence: int = 0
    children: set[str] = field(factory=set)

    @property
    def stat(self) -> NodeStat:
        """The stat of the node."""
        return NodeStat(self.version, self.czxid, self.mzxid, self.owner)


class Transaction:
    """Operations that are made at once in a table of nodes, and undone if one of them fails.

    :param nodes: the nodes by path.
    :ivar changes: paths and what happened to them, in order; a parent's CHILDREN follows the child's change.
    """

    def __init__(self, nodes: dict[str, Node], zxid: int, session_id: int) -> None:
        self.changes: list[tuple[str, Change]] = []
        self._nodes = nodes
        self._zxid = zxid
        self._session_id = session_id
        self._undo: list[Callable[[], object]] = []

    def make(self, operations: Sequence[Operation]) -> tuple[Outcome, ...]:
        """Make all of *operations*, or none.

        :raises OperationError: one of them cannot be made.
        """
        try:
            return tuple(self._make(operation, index) for index, operation in enumerate(operations))
        except BaseException:
            for undo in reversed(self._undo):
                undo()
            raise

    def _make(self, operation: Operation, index: int) -> Outcome:
        if isinstance(operation, Create):
            return self._create(operation, index)
        node = self._nodes.get(operation.path)
        if node is None:
            raise NoNode(operation.path, operation, index)
        if operation.version not in (ANY_VERSION, node.version):
            raise BadVersion(operation.path, operation, index)
        if isinstance(operation, SetData):
            return self._set_data(node, operation)
        if isinstance(operation, Delete):
            if node.children:
                raise NotEmpty(operation.path, operation, index)
            self._delete(operation.path, node)
        else:
            assert isinstance(operation, Check)
        return None

    def _create(self, create: Create, index: int) -> str:
        parent = self._nodes.get(parent_path(create.path))
        if parent is None:
            raise NoNode(create.path, create, index)
        path = f"{create.path}{parent.sequence:010d}" if create.sequential else create.path
        if path in self._nodes:
            raise NodeExists(path, create, index)
        if parent.owner:
            raise EphemeralParent(path, create, index)
        name = path.rpartition("/")[2]
        sequence = parent.sequence
        self._nodes[path] = Node(
            create.data, self._zxid, self._zxid, owner=self._session_id if create.ephemeral else 0
        )
        parent.children.add(name)
        parent.sequence += 1

        def undo() -> None:
            del self._nodes[path]
            parent.children.discard(name)
            parent.sequence = sequence

        self._undo.append(undo)
        self.changes += [(path, Change.CREATED), (parent_path(path), Change.CHILDREN)]
        return path

    def _set_data(self, node: Node, operation: SetData) -> NodeStat:
        data, version, mzxid = node.data, node.version, node.mzxid
        node.data, node.version, node.mzxid = operation.data, version + 1, self._zxid

        def undo() -> None:
            node.data, node.version, node.mzxid = data, version, mzxid

        self._undo.append(undo)
        self.changes.append((operation.path, Change.DATA))
        return node.stat

    def _delete(self, path: str, node: Node) -> None:
        parent = self._nodes[parent_path(path)]
        name = path.rpartition("/")[2]
        del self._nodes[path]
        parent.children.discard(name)

        def undo() -> None:
            self._nodes[path] = node
            parent.children.add(name)

        self._undo.append(undo)
        self.changes += [(path, Change.DELETED), (parent_path(path), Change.CHILDREN)]
