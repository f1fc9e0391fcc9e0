"""SIGHUP at a broker. Real processes: tests.integration.test_signals."""

from __future__ import annotations

import os
import signal

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.hang_up import HangUp
from tests.daemon.reactors import FakeReactor


class HangUpTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a reactor, and let SIGHUP do nothing by itself."""
        self.reactor = FakeReactor()
        self.reactor.running = True
        self.reloads: list[str] = []
        self.before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        self.addCleanup(signal.signal, signal.SIGHUP, self.before)

    def start(self, *, reloads: bool) -> HangUp:
        """Install a handler that reloads, or stops the reactor."""
        hang_up = HangUp((lambda: self.reloads.append("reload")) if reloads else None, self.reactor)
        hang_up.start()
        self.addCleanup(hang_up.stop)
        return hang_up

    def test_foreground(self) -> None:
        """SIGHUP stops a broker in the foreground; again, it does nothing more."""
        self.start(reloads=False)
        os.kill(os.getpid(), signal.SIGHUP)
        self.assertEqual((self.reactor.stops, self.reloads), (1, []))
        os.kill(os.getpid(), signal.SIGHUP)

    def test_daemon(self) -> None:
        """SIGHUP has a daemon read its settings again."""
        self.start(reloads=True)
        os.kill(os.getpid(), signal.SIGHUP)
        self.assertEqual((self.reactor.stops, self.reloads), (0, ["reload"]))

    def test_stopped(self) -> None:
        """A broker that has stopped leaves SIGHUP as it was."""
        self.start(reloads=False).stop()
        self.assertIs(signal.getsignal(signal.SIGHUP), signal.SIG_DFL)

    def test_ignored(self) -> None:
        """An ignored SIGHUP, as under nohup, stays ignored."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.start(reloads=False)
        self.assertIs(signal.getsignal(signal.SIGHUP), signal.SIG_IGN)
