"""Temporary directories of processes that are gone."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.scratch import PREFIX, Scratch, remove_left_over

CHILD = (
    "import os, sys, tempfile\n"
    "from kafkatx.scratch import Scratch\n"
    "tempfile.tempdir = sys.argv[1]\n"
    "scratch = Scratch()\n"
    "open(os.path.join(scratch.path, 'f'), 'w').close()\n"
    "print(scratch.path, flush=True)\n"
    "sys.stdin.read()\n"
)


class ScratchTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A place for temporary files of its own."""
        self.base = os.path.abspath(self.mktemp())
        os.makedirs(self.base)
        self.patch(tempfile, "tempdir", self.base)

    def test_closed(self) -> None:
        """It is there for its owner alone, and gone with all in it when it is closed, also twice."""
        with Scratch() as scratch:
            os.makedirs(os.path.join(scratch.path, "a", "b"))
            self.assertEqual(os.stat(scratch.path).st_mode & 0o777, 0o700)
            self.assertEqual(os.listdir(self.base), [os.path.basename(scratch.path)])
        scratch.close()
        self.assertEqual(os.listdir(self.base), [])

    def test_kept(self) -> None:
        """A file that is to be read later survives it."""
        with Scratch() as scratch:
            with open(os.path.join(scratch.path, "spark.log"), "w", encoding="utf-8") as file:
                file.write("all")
            kept = scratch.keep("spark.log", "kafkatx-x-")
        self.assertEqual(os.listdir(self.base), [os.path.basename(kept)])
        self.assertRegex(os.path.basename(kept), r"^kafkatx-x-.*\.log$")
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), "all")

    def test_killed(self) -> None:
        """The directory of a living process stays; that of a killed one is removed by the next start."""
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, self.base], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(child.__exit__, None, None, None)
        assert child.stdout is not None
        path = child.stdout.readline().strip()
        Scratch().close()
        self.assertEqual(os.listdir(path), ["f"])
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.assertEqual(os.listdir(path), ["f"])
        Scratch().close()
        self.assertEqual(os.listdir(self.base), [])

    def test_ends(self) -> None:
        """A process that ends without closing it leaves nothing; a fork of it that ends removes nothing."""
        child = CHILD + "if os.fork() == 0:\n    sys.exit()\nos.wait()\nassert os.listdir(scratch.path)\n"
        done = subprocess.run([sys.executable, "-c", child, self.base], input=b"", capture_output=True)
        self.assertEqual((done.returncode, done.stderr, os.listdir(self.base)), (0, b"", []))

    def test_no_locks(self) -> None:
        """Other processes' directories are left alone where the file system has no locks."""

        def refused(*_: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        self.patch(fcntl, "flock", refused)
        with Scratch() as first, Scratch() as second:
            self.assertEqual(len(os.listdir(self.base)), 2)
            self.assertNotEqual(first.path, second.path)
        self.assertEqual(os.listdir(self.base), [])

    def test_not_ours(self) -> None:
        """Files, links and directories of other names are left alone."""
        elsewhere = os.path.join(self.base, "data")
        os.makedirs(os.path.join(elsewhere, "precious"))
        os.symlink(elsewhere, os.path.join(self.base, f"{PREFIX}link"))
        with open(os.path.join(self.base, f"{PREFIX}file"), "w", encoding="utf-8"):
            pass
        before = sorted(os.listdir(self.base))
        remove_left_over(self.base)
        self.assertEqual(sorted(os.listdir(self.base)), before)
        self.assertEqual(os.listdir(elsewhere), ["precious"])
        remove_left_over(os.path.join(self.base, "none"))
