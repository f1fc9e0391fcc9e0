"""The server of the simulated tree, which tells of each transaction and who made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from attrs import frozen
from twisted.internet.interfaces import IReactorTime

from kafkatx.interfaces.nodes import Operation, Outcome
from kafkatx.metadata.tree.memory import MemoryServer
from kafkatx.metadata.tree.nodes import Node

OPERATOR = 0
"""The session of changes that no broker makes: an operator, another tool, or the end of a session."""


@frozen
class Transaction:
    """A transaction that was made.

    :ivar session_id: the session that made it; OPERATOR if none.
    """

    zxid: int
    session_id: int
    operations: tuple[Operation, ...]
    outcomes: tuple[Outcome, ...]


class SimulatedServer(MemoryServer):
    """A server that reports its transactions.

    :ivar owners: name of the process that has opened each session.
    :ivar committed: called after each transaction.
    """

    def __init__(self, clock: IReactorTime) -> None:
        super().__init__(clock)
        self.owners: dict[int, str] = {OPERATOR: "operator"}
        self.committed: Callable[[Transaction], None] = lambda transaction: None

    @property
    def nodes(self) -> dict[str, Node]:
        """The nodes by path."""
        return self._nodes

    def door(self, name: str) -> MemoryServer:
        """Return this server for one process, whose sessions it notes."""
        return cast(MemoryServer, _Door(self, name))

    def operate(self, *operations: Operation) -> tuple[Outcome, ...]:
        """Make a transaction that no broker makes.

        :raises OperationError: one of the operations cannot be made.
        """
        return self._commit(OPERATOR, operations)

    def _commit(self, session_id: int, operations: Sequence[Operation]) -> tuple[Outcome, ...]:
        outcomes = super()._commit(session_id, operations)
        self.committed(Transaction(self.zxid, session_id, tuple(operations), outcomes))
        return outcomes


class _Door:
    """The server as one process reaches it."""

    def __init__(self, server: SimulatedServer, name: str) -> None:
        self._server = server
        self._name = name

    def open_session(self, timeout_s: float, ended: Callable[[], None]) -> int:
        """Start a session of the process."""
        session_id = self._server.open_session(timeout_s, ended)
        self._server.owners[session_id] = self._name
        return session_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)
