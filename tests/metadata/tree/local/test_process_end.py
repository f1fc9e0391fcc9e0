"""The end of a process is noticed, and waiting for it can be given up."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from kafkatx.metadata.tree.local.process_end import peer_process, watch_process
from tests.metadata.tree.local.test_tree import reactor


class ProcessEndTests(TestCase):
    timeout = 30

    def sleeper(self) -> subprocess.Popen[bytes]:
        """Return a process that waits."""
        process = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
        )
        self.addCleanup(process.communicate)
        return process

    async def test_killed(self) -> None:
        """A killed process is noticed once, and the file descriptor is closed."""
        process = self.sleeper()
        end = watch_process(reactor, process.pid)
        assert end is not None
        ended: Deferred[None] = Deferred()
        handle = end.fileno()
        end.then(lambda: ended.callback(None))
        process.kill()
        await ended
        self.assertEqual(end.fileno(), -1)
        self.assertRaises(OSError, os.fstat, handle)
        end.close()

    def test_closed(self) -> None:
        """Nothing is left behind by waiting that was given up."""
        before = set(reactor.getReaders())
        process = self.sleeper()
        end = watch_process(reactor, process.pid)
        assert end is not None
        end.then(lambda: self.fail("called"))
        end.close()
        end.close()
        self.assertEqual(set(reactor.getReaders()), before)

    def test_no_process(self) -> None:
        """A process that is not there, or not known, is not waited for."""
        process = self.sleeper()
        process.communicate()
        self.assertIsNone(watch_process(reactor, process.pid))
        self.assertIsNone(watch_process(reactor, None))

    def test_peer(self) -> None:
        """The other end of a Unix socket tells its process."""
        left, right = socket.socketpair(socket.AF_UNIX)
        with left, right:
            self.assertEqual(peer_process(left), os.getpid())
