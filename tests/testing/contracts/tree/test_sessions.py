"""The contract notices trees that break its rules about sessions."""

from __future__ import annotations

from kafkatx.metadata.tree.client import TreeClient
from kafkatx.metadata.tree.lease import Lease
from kafkatx.metadata.tree.memory.link import MemorySession
from kafkatx.metadata.tree.memory.server import MemoryServer
from tests.testing.contracts.tree.bad_trees import (
    BadTreeCase,
    end_silently,
)


class SessionsContractTests(BadTreeCase):
    def test_lost_watches(self) -> None:
        """Watches that end untold are noticed."""
        self.noticed(TreeClient, "_end", end_silently, "test_connection_cut", "test_session_expires")

    def test_ephemerals(self) -> None:
        """A session whose end leaves its nodes is noticed."""
        self.noticed(
            MemoryServer,
            "close_session",
            lambda server, session_id: server._sessions.pop(session_id, None),
            "test_ephemerals_end_with_the_session",
            "test_session_expires",
        )

    def test_expiry_unnoticed(self) -> None:
        """A tree that does not tell of its session's expiry is noticed."""
        self.noticed(MemorySession, "_expired", lambda session, session_id: None, "test_session_expires")

    def test_lease(self) -> None:
        """A lease without a write is noticed."""
        self.noticed(Lease, "remaining_s", lambda lease: 1.0, "test_lease")
