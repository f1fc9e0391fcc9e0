"""A client of the tree in memory."""

from __future__ import annotations

from collections.abc import Callable

from kafkatx.metadata.tree.client import TreeClient
from kafkatx.metadata.tree.memory.link import Link
from kafkatx.metadata.tree.memory.server import MemoryServer


class MemoryTree(TreeClient):
    """A tree in memory that shares its nodes with all others of one server.

    Nothing happens but when the server's clock advances; with no delays set, ``clock.advance(0)`` takes one
    step of each direction of each link.

    :param timeout_s: time-out of the sessions.
    :param boottime_s: the clock of the lease; that of the server if not given.
    :ivar link: the connection, for injecting faults.
    """

    def __init__(
        self,
        server: MemoryServer,
        timeout_s: float = 18.0,
        boottime_s: Callable[[], float] | None = None,
    ) -> None:
        self.link = Link(server)
        super().__init__(
            lambda events: self.link.open_session(timeout_s, events), boottime_s or server.clock.seconds
        )
