"""The contract of trees as a whole."""

from __future__ import annotations

from kafkatx.testing.contracts.tree.nodes import NodesContract
from kafkatx.testing.contracts.tree.sessions import SessionsContract


class TreeContract(NodesContract, SessionsContract):
    """Mixin for a ``twisted.trial.unittest.TestCase``; see ``TreeCase`` for the methods to implement."""
