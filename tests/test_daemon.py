"""The process of a broker: its parent, and SIGHUP. Real daemons: tests.integration.test_signals."""

from __future__ import annotations

import os
import signal
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon import Parent, Process


class ParentTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a pipe, and options of twistd as they are in a daemon."""
        self.read, write = os.pipe()
        self.addCleanup(os.close, self.read)
        self.options: dict[str, Any] = {"nodaemon": False, "statusPipe": write}

    def test_started(self) -> None:
        """twistd finds no pipe to write to; the parent hears of a start once it is one."""
        parent = Parent(self.options)
        parent.take_over()
        self.assertNotIn("statusPipe", self.options)
        parent.started()
        self.assertEqual(os.read(self.read, 100), b"0")
        self.assertEqual(os.read(self.read, 100), b"")

    def test_failed(self) -> None:
        """The parent hears of a failure, once; what is no success."""
        parent = Parent(self.options)
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
        parent = Parent(self.options)
        assert parent._terminal is not None
        os.dup2(write, parent._terminal)
        os.close(write)
        parent.take_over()
        parent.failed("log.dirs=\udcff: no")
        self.assertEqual(os.read(shown, 100), b"kafkatx: log.dirs=\\udcff: no\n")
        self.assertEqual(os.read(shown, 100), b"")

    def test_forks_afterwards(self) -> None:
        """Who forks later, when it is known how the start went, is not watched, and keeps its files."""
        parent = Parent(self.options)
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
        """In the foreground, and where twistd is not, nobody waits."""
        os.close(self.options.pop("statusPipe"))
        for options in (None, {"nodaemon": True}):
            parent = Parent(options)
            self.assertFalse(parent.waits)
            parent.take_over()
            parent.started()
            parent.failed("unheard")


class FakeReactor:
    """Calls at once what it is told to; *stopped* counts."""

    stopped = 0

    def callFromThread(self, function: Any, *arguments: Any) -> None:
        """Call it."""
        function(*arguments)

    callWhenRunning = callFromThread

    def stop(self) -> None:
        """Stop; a second time is a mistake."""
        self.stopped += 1
        if self.stopped > 1:
            raise ReactorNotRunning


class ProcessTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a reactor, and let SIGHUP do nothing by itself."""
        self.reactor = FakeReactor()
        self.reloads: list[str] = []
        self.before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        self.addCleanup(signal.signal, signal.SIGHUP, self.before)

    def start(self, options: dict[str, Any]) -> Process:
        """Start a process with these options of twistd."""
        process = Process(Parent(options), lambda: self.reloads.append("reload"), self.reactor)
        process.start()
        self.addCleanup(process.stop)
        return process

    def test_foreground(self) -> None:
        """SIGHUP stops a broker in the foreground; again, it does nothing more."""
        self.start({"nodaemon": True})
        os.kill(os.getpid(), signal.SIGHUP)
        self.assertEqual((self.reactor.stopped, self.reloads), (1, []))
        os.kill(os.getpid(), signal.SIGHUP)

    def test_daemon(self) -> None:
        """SIGHUP has a daemon read its settings again."""
        process = self.start({"nodaemon": False})
        os.kill(os.getpid(), signal.SIGHUP)
        self.assertEqual((self.reactor.stopped, self.reloads), (0, ["reload"]))
        process.parent.started()

    def test_stopped(self) -> None:
        """A broker that has stopped leaves SIGHUP as it was."""
        self.start({"nodaemon": True}).stop()
        self.assertIs(signal.getsignal(signal.SIGHUP), signal.SIG_DFL)

    def test_ignored(self) -> None:
        """Where SIGHUP is ignored, as under nohup, it stays so."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.start({"nodaemon": True})
        self.assertIs(signal.getsignal(signal.SIGHUP), signal.SIG_IGN)
