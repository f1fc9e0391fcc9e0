"""Child processes."""

from __future__ import annotations

import sys
import threading
from typing import IO

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.registry.child_process import ChildProcess

ECHO = "import sys\nfor line in sys.stdin: print(line.strip()[::-1], flush=True)"


def ask(source: IO[bytes], target: IO[bytes]) -> bytes | None:
    """Send a line, and read one."""
    source.write(b"abc\n")
    source.flush()
    return target.readline() or None


class ChildProcessTests(SynchronousTestCase):
    def child(self, script: str = ECHO, timeout_s: float = 60.0) -> ChildProcess:
        """Make a child process."""
        made = ChildProcess((sys.executable, "-c", script), timeout_s)
        self.addCleanup(made.end)
        self.addCleanup(made.stop)
        return made

    def test_answers(self) -> None:
        """The process starts with the first request, and answers all of them."""
        child = self.child()
        self.assertIsNone(child.pid)
        self.assertEqual(child.ask(ask), b"cba\n")
        pid = child.pid
        self.assertEqual(child.ask(ask), b"cba\n")
        self.assertEqual(child.pid, pid)

    def test_hangs(self) -> None:
        """A process that does not answer in time is killed, and another one serves the next request."""
        child = self.child("import time; time.sleep(1000)", 0.05)
        self.assertIsNone(child.ask(ask))
        self.assertIsNone(child.pid)

    def test_dies(self) -> None:
        """A process that dies while it is asked has no answer; the next request starts another."""
        child = self.child("import sys; sys.exit(3)")
        self.assertIsNone(child.ask(ask))
        self.assertIsNone(child.pid)
        self.assertIsNone(child.ask(ask))

    def test_stop(self) -> None:
        """A stop from another thread ends a request that waits, and no process starts any more."""
        child = self.child("import sys; print(1, flush=True); sys.stdin.read()")
        started = threading.Event()
        answers: list[object] = []

        def wait(source: IO[bytes], target: IO[bytes]) -> bytes | None:
            target.readline()
            started.set()
            return target.readline() or None

        thread = threading.Thread(target=lambda: answers.append(child.ask(wait)))
        thread.start()
        self.assertTrue(started.wait(60))
        child.stop()
        thread.join(60)
        self.assertEqual(answers, [None])
        self.assertIsNone(child.ask(ask))
