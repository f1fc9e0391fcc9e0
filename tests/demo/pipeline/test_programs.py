"""Tests of kafkatx.demo.pipeline.programs and of the leash, with small real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline.programs import Program, ProgramFailed
from tests.until import until

MODULE = """
import sys, time
print("at", sys.argv[1], flush=True)
print('{"records": 1}', flush=True)
print("{not whole", end="", flush=True)
{then}
"""
WAITS, ENDS, READS = "time.sleep(600)", "sys.exit(3)", "print(len(sys.stdin.buffer.read()))"


class ProgramTests(SynchronousTestCase):
    def start(self, then: str, *, reads: bool = False) -> Program:
        """Start a program that prints its argument and does something then."""
        folder = Path(self.mktemp()).resolve()
        folder.mkdir(parents=True)
        (folder / "one_module.py").write_text(MODULE.replace("{then}", then))
        program = Program(folder, "one", "one_module", ["work"], reads=reads)
        self.addCleanup(program.stop)
        return program

    def test_ready(self) -> None:
        """The match of a pattern is returned; lines of JSON are read where they are whole."""
        program = self.start(WAITS)
        self.assertEqual(program.wait_for(r"at (\w+)"), "work")
        program.wait_for("not whole")
        self.assertEqual(program.wait_for("at"), "at")
        self.assertEqual(list(program.reports()), [{"records": 1}])
        program.check()

    def test_not_ready(self) -> None:
        """A program that is not ready in time is told with its last lines."""
        program = self.start(WAITS)
        program.wait_for("not whole")
        error = self.assertRaises(ProgramFailed, program.wait_for, "never", 0.0)
        self.assertIn("one was not ready within 0 s; the last lines of its log:\n  at work", str(error))

    def test_ended(self) -> None:
        """A program that ends by itself has failed, with its status, also while it is waited for."""
        program = self.start(ENDS)
        error = self.assertRaises(ProgramFailed, program.wait_for, "never")
        self.assertIn("one ended with status 3", str(error))
        self.assertRaises(ProgramFailed, program.check)
        self.assertRaises(ProgramFailed, program.finish)

    def test_input(self) -> None:
        """A program that reads ends when its input does."""
        program = self.start(READS, reads=True)
        assert program.stdin is not None
        program.stdin.write(b"12345")
        program.finish()
        self.assertTrue(program.text().endswith("5\n"))

    def test_does_not_end(self) -> None:
        """A program that does not end in time has failed; stopping ends it."""
        program = self.start(WAITS)
        program.wait_for("not whole")
        error = self.assertRaises(
            ProgramFailed, Program.finish, self.start("time.sleep(600)", reads=True), 0.0
        )
        self.assertIn("did not end within 0 s", str(error))
        program.stop()
        self.assertRaises(ProgramFailed, program.check)

    def test_leash(self) -> None:
        """A program ends when the one that has started it is killed."""
        folder = Path(self.mktemp()).resolve()
        folder.mkdir(parents=True)
        (folder / "one_module.py").write_text(
            "import os, time\nprint('pid', os.getpid(), flush=True)\ntime.sleep(600)\n"
        )
        started = (
            "import sys, time; from pathlib import Path; from kafkatx.demo.pipeline.programs import Program; "
            f"Program(Path({str(folder)!r}), 'one', 'one_module', []).wait_for('pid'); "
            "print('started', flush=True); time.sleep(600)"
        )
        with subprocess.Popen([sys.executable, "-c", started], stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            self.assertEqual(parent.stdout.readline(), b"started\n")
            parent.kill()
        pid = int((folder / "one.log").read_text().split()[1])
        self.addCleanup(kill, pid)
        until(lambda: not is_running(pid), "the program ends", 30.0)


def is_running(pid: int) -> bool:
    """Return True if there is a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def kill(pid: int) -> None:
    """Kill a process, if there is one."""
    if is_running(pid):
        os.kill(pid, signal.SIGKILL)
