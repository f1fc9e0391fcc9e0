"""Tests of kazoo's results and errors as those of trees."""

from __future__ import annotations

from kazoo import exceptions
from kazoo.protocol.states import ZnodeStat
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import (
    BadVersion,
    Check,
    ConnectionLost,
    Create,
    Delete,
    EphemeralParent,
    NodeExists,
    NodeStat,
    NoNode,
    NotEmpty,
    OperationError,
    Refused,
    SessionExpired,
    SetData,
)
from kafkatx.metadata.tree.zookeeper.answers import outcomes, tree_error

STAT = ZnodeStat(11, 12, 0, 0, 3, 0, 0, 7, 0, 0, 0)
OPERATIONS = (Check("/a", 1), Create("/b"), SetData("/c", b""), Delete("/d"))


class ErrorTests(SynchronousTestCase):
    def test_classes(self) -> None:
        """Each error of kazoo is one of trees; a client that was closed leaves writes in doubt."""
        for error, expected in (
            (exceptions.NoNodeError, NoNode),
            (exceptions.NodeExistsError, NodeExists),
            (exceptions.BadVersionError, BadVersion),
            (exceptions.NotEmptyError, NotEmpty),
            (exceptions.NoChildrenForEphemeralsError, EphemeralParent),
            (exceptions.ConnectionLoss, ConnectionLost),
            (exceptions.ConnectionClosedError, ConnectionLost),
            (exceptions.SessionMovedError, ConnectionLost),
            (exceptions.SessionExpiredError, SessionExpired),
            (exceptions.NoAuthError, Refused),
            (ValueError, Refused),
        ):
            self.assertIs(type(tree_error(error(), "/a")), expected)

    def test_reason(self) -> None:
        """An error that trees do not know is named."""
        self.assertEqual(str(tree_error(exceptions.APIError(), "/a")), "Refused: /a (APIError)")
        for error in (exceptions.NoAuthError(), exceptions.InvalidACLError()):
            self.assertIn("Refused: /a (this client", str(tree_error(error, "/a")))


class OutcomeTests(SynchronousTestCase):
    def test_success(self) -> None:
        """A creation gives the path, a change the stat, others nothing."""
        self.assertEqual(
            outcomes(OPERATIONS, [True, "/b", STAT, True]), (None, "/b", NodeStat(3, 11, 12, 7), None)
        )

    def test_failure(self) -> None:
        """The operation that failed by itself is named, wherever it is among those that failed with it."""
        own = exceptions.NodeExistsError()
        before, after = exceptions.RolledBackError(), exceptions.RuntimeInconsistency()
        for index, results in enumerate(
            ([own, after, after, after], [before, own, after, after], [before, before, own, after])
        ):
            error = self.assertRaises(NodeExists, outcomes, OPERATIONS, results)
            assert isinstance(error, OperationError)
            self.assertEqual((error.index, error.operation), (index, OPERATIONS[index]))

    def test_all_rolled_back(self) -> None:
        """A multi that failed without an operation at fault is not taken for a success."""
        self.assertRaises(Refused, outcomes, OPERATIONS, [exceptions.RuntimeInconsistency()] * 4)
