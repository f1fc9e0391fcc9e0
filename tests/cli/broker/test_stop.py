"""``kafkatx stop``; its brokers are small processes that hold a lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from click.testing import CliRunner
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.broker import stop as module
from kafkatx.cli.broker.lock_holder import Holder, process_handle
from kafkatx.cli.broker.stop import end_process, not_running, running_broker, stop
from kafkatx.errors import KafkaTXError

HOLD = """
import fcntl, os, signal, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print(os.getpid(), file=lock, flush=True)
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
sys.stdin.read()
"""


class StopTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a data directory."""
        self.dir = os.path.abspath(self.mktemp())
        os.makedirs(self.dir)

    def start(self, kind: str = "") -> subprocess.Popen[str]:
        """Start a process that holds the directory."""
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, os.path.join(self.dir, ".lock"), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def test_stops(self) -> None:
        """The process that holds the lock gets SIGTERM and is waited for."""
        process = self.start()
        done = CliRunner().invoke(stop, ["--data", self.dir])
        self.assertRegex(done.output, rf"\Astopped process {process.pid} after \d+\.\d s\n\Z")
        self.assertEqual((done.exit_code, process.wait(30)), (0, -15))

    def test_without_pidfd(self) -> None:
        """A process is ended and waited for without a handle, too."""
        process = self.start()
        answers = [True, True, True, False]
        self.patch(module, "process_handle", _no_handle)
        end_process(process.pid, 30, lambda: answers.pop(0))
        self.assertEqual((answers, process.wait(30)), ([], -15))

    def test_takes_too_long(self) -> None:
        """One that does not end in time is left alone, and that is said."""
        for handle in (process_handle, _no_handle):
            self.patch(module, "process_handle", handle)
            process = self.start("stubborn")
            with self.assertRaisesRegex(KafkaTXError, "has not ended after 0 s"):
                end_process(process.pid, 0, lambda: True)
            self.assertIsNone(process.poll())
            process.kill()
            process.wait()

    def test_id_is_another_processes(self) -> None:
        """A process that no longer is the broker when its handle is open gets no signal."""
        process = self.start()
        end_process(process.pid, 30, lambda: False)
        self.assertIsNone(process.poll())

    def test_ended_meanwhile(self) -> None:
        """A process that has ended is as good as stopped."""
        process = self.start()
        process.kill()
        process.wait()
        end_process(process.pid, 30, lambda: True)

    def test_another_users(self) -> None:
        """A process of another user is named, not more."""

        def refused(handle: int, number: int) -> None:
            raise PermissionError

        self.patch(signal, "pidfd_send_signal", refused)
        with self.assertRaisesRegex(KafkaTXError, "belongs to another user"):
            end_process(os.getpid(), 30, lambda: True)

    def test_no_broker(self) -> None:
        """A directory without a broker is told, and why."""
        with self.assertRaisesRegex(KafkaTXError, "no broker is running there$"):
            running_broker(self.dir)
        self.assertIn("no such directory", not_running("/nowhere", Holder()))
        self.assertIn("the last one was process 7", not_running(self.dir, Holder(stale_pid=7)))
        self.assertEqual(not_running(self.dir, Holder(problem="odd")), "odd")
        os.symlink("/etc/hostname", os.path.join(self.dir, ".lock"))
        with self.assertRaisesRegex(KafkaTXError, "cannot read its lock"):
            running_broker(self.dir)


class _no_handle:
    """A handle that the system does not have."""

    def __init__(self, pid: int) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        pass
