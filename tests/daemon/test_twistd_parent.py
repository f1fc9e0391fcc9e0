"""twistd's daemon and the process that waits for it. Real daemons: tests.integration.test_signals."""

from __future__ import annotations

import os
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.twistd_parent import TwistdParent


class TwistdParentTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a pipe, and options of twistd as they are in a daemon."""
        self.read, write = os.pipe()
        self.addCleanup(os.close, self.read)
        self.options: dict[str, Any] = {"nodaemon": False, "statusPipe": write}

    def test_started(self) -> None:
        """twistd finds no pipe to write to; the parent hears of a start once it is one."""
        parent = TwistdParent(self.options)
        parent.take_over()
        self.assertNotIn("statusPipe", self.options)
        parent.started()
        self.assertEqual(os.read(self.read, 100), b"0")
        self.assertEqual(os.read(self.read, 100), b"")

    def test_failed(self) -> None:
        """The parent hears of a failure, once; what is no success."""
        parent = TwistdParent(self.options)
        parent.take_over()
        self.patch(parent, "_terminal", None)
        parent.failed("no disk")
        parent.failed("and again")
        self.assertTrue(os.read(self.read, 100).startswith(b"1 "))
        self.assertEqual(os.read(self.read, 100), b"")

    def test_terminal(self) -> None:
        """The terminal that the parent was started at shows why, also what it cannot show."""
        shown, write = os.pipe()
        self.addCleanup(os.close, shown)
        parent = TwistdParent(self.options)
        assert parent._terminal is not None
        os.dup2(write, parent._terminal)
        os.close(write)
        parent.take_over()
        parent.failed("log.dirs=\udcff: no")
        self.assertEqual(os.read(shown, 100), b"kafkatx: log.dirs=\\udcff: no\n")
        self.assertEqual(os.read(shown, 100), b"")

    def test_forks_afterwards(self) -> None:
        """A fork after the start is not watched, and keeps its files."""
        parent = TwistdParent(self.options)
        parent.take_over()
        parent.started()
        files = [os.dup(self.read) for _ in range(5)]  # which have the numbers of those that were closed
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        for file in files:
            os.fstat(file)
            os.close(file)

    def test_foreground(self) -> None:
        """In the foreground, and without twistd, no process waits."""
        os.close(self.options.pop("statusPipe"))
        for options in (None, {"nodaemon": True}):
            parent = TwistdParent(options)
            self.assertFalse(parent.waits)
            parent.take_over()
            parent.started()
            parent.failed("unheard")
