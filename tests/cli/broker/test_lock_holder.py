"""The process that holds a log dir."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.broker.lock_holder import Holder, find_holder, process_handle, uptime_s

NO_PROC = "/nowhere/locks"


class LockHolderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log dir."""
        self.dir = os.path.abspath(self.mktemp())
        os.makedirs(self.dir)
        self.lock = os.path.join(self.dir, ".lock")

    def write(self, text: str) -> int:
        """Write the lock file, and return a descriptor of it."""
        with open(self.lock, "w") as file:
            file.write(text)
        descriptor = os.open(self.lock, os.O_RDWR)
        self.addCleanup(os.close, descriptor)
        return descriptor

    def held(self, text: str) -> None:
        """Write the lock file, and hold it."""
        fcntl.flock(self.write(text), fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_nothing(self) -> None:
        """A dir that is missing or new has no holder."""
        for directory in (self.dir, "/nowhere", self.lock):
            self.assertEqual(find_holder(directory), Holder())

    def test_broker(self) -> None:
        """The process that holds the lock and has written its id is the broker, with /proc and without."""
        self.held(f"{os.getpid()}\n")
        for proc_locks in ("/proc/locks", NO_PROC):
            self.assertEqual(find_holder(self.dir, proc_locks), Holder(os.getpid()))

    def test_supervisor(self) -> None:
        """The supervisor of several brokers goes before the broker whose log dir is the same directory."""
        self.held("1\n")
        path = os.path.join(self.dir, ".kafkatx-supervisor.lock")
        with open(path, "w") as file:
            file.write(f"{os.getpid()}\n")
        self.assertNotEqual(find_holder(self.dir).pid, os.getpid())
        descriptor = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self.assertEqual(find_holder(self.dir), Holder(os.getpid()))

    def test_stale(self) -> None:
        """A living process whose id stands in a lock file that is not held is not the broker."""
        self.write(f"{os.getpid()}\n")
        for proc_locks in ("/proc/locks", NO_PROC):
            self.assertEqual(find_holder(self.dir, proc_locks), Holder(stale_pid=os.getpid()))

    def test_other_holder(self) -> None:
        """A holder whose id is not in the file is not taken for the broker, nor is that of the file."""
        self.held("")
        for text in ("", "1\n", "nonsense"):
            with open(self.lock, "w") as file:
                file.write(text)
            found = find_holder(self.dir)
            self.assertIsNone(found.pid)
            self.assertIn(f"process {os.getpid()} has locked it and is not known", found.problem or "")

    def test_unreadable_number(self) -> None:
        """Without /proc a lock that is held by an unknown process is a problem."""
        self.held("")
        self.assertIn("no process id", find_holder(self.dir, NO_PROC).problem or "")

    def test_same_inode_elsewhere(self) -> None:
        """A row of /proc/locks of another file system with the same inode is not believed."""
        self.write("1\n")
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.addCleanup(child.__exit__, None, None, None)
        self.addCleanup(child.kill)
        inode = os.stat(self.lock).st_ino
        rows = self.mktemp()
        with open(rows, "w") as file:
            file.write(f"1: FLOCK  ADVISORY  WRITE {child.pid} 00:2b:{inode} 0 EOF\n")
            file.write(f"2: POSIX  ADVISORY  WRITE {os.getpid()} 00:2b:{inode} 0 EOF\n")
            file.write(f"2: -> FLOCK  ADVISORY  WRITE {os.getpid()} 00:2b:{inode} 0 EOF\nnonsense\n")
        self.assertEqual(find_holder(self.dir, rows), Holder(stale_pid=1))

    def test_link(self) -> None:
        """A lock file that is a symbolic link is not followed."""
        os.symlink("/etc/hostname", self.lock)
        self.assertRaises(OSError, find_holder, self.dir)


class ProcessTests(SynchronousTestCase):
    def test_uptime(self) -> None:
        """This process has been running for a while, one that does not exist has not."""
        self.assertGreater(uptime_s(os.getpid()) or 0, 0)
        self.assertIsNone(uptime_s(2**22 + 1))

    def test_handle(self) -> None:
        """A process that does not exist has no handle."""
        with self.assertRaises(ProcessLookupError), process_handle(2**22 - 1):
            pass
