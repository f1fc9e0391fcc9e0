"""The server of a cluster's state, in a thread."""

from __future__ import annotations

import os
import socket

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing.errors import BrokerDidNotStart
from kafkatx.testing.tree_thread import TreeThread

WAIT_S = 30.0


class TreeThreadTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Name a directory of its own."""
        self.folder = self.mktemp()
        os.makedirs(self.folder)
        self.socket = os.path.join(self.folder, "s")

    def make(self) -> TreeThread:
        """Return a server that is stopped at the end of the test."""
        tree = TreeThread(os.path.join(self.folder, "t.db"), self.socket)
        self.addCleanup(tree.stop)
        return tree

    def connect(self) -> None:
        """Connect to the socket, and disconnect."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.path.relpath(self.socket))

    def test_serves(self) -> None:
        """It listens after its start and not after its end, and can be started again."""
        tree = self.make()
        for _ in range(2):
            tree.start(WAIT_S)
            self.connect()
            tree.stop()
            self.assertRaises(OSError, self.connect)
        tree.stop()

    def test_in_use(self) -> None:
        """A second server of the same files says why it does not start."""
        self.make().start(WAIT_S)
        error = self.assertRaises(BrokerDidNotStart, self.make().start, WAIT_S)
        self.assertIn("in use by another broker", str(error))
