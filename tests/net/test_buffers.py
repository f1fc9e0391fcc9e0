"""Tests of kafkatx.net.buffers."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net import buffers

# Allocates and frees blocks as reads and requests do, and prints the number of page faults.
READS = """
import resource
from kafkatx.net.buffers import keep_freed_memory
{first}
def read():
    pieces = [bytearray(1 << 20) for _ in range(4)]
    return b"".join(pieces)
for _ in range(4):
    read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    read()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


class KeepFreedMemoryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Clear the environment of allocator settings."""
        self.environment = {
            name: value for name, value in os.environ.items() if name not in buffers._USERS_OWN
        }
        self.patch(os, "environ", self.environment)

    def faults(self, first: str) -> int:
        """Return the number of page faults of some reads."""
        done = subprocess.run(
            [sys.executable, "-c", READS.format(first=first)],
            capture_output=True,
            text=True,
            check=True,
            env=self.environment,
        )
        return int(done.stdout)

    def test_no_faults(self) -> None:
        """A read reuses the memory that the previous read freed, without page faults."""
        if platform.libc_ver()[0] != "glibc":
            self.skipTest("the allocator is not glibc's")
        self.assertGreater(self.faults(""), 1000)
        self.assertLess(self.faults("assert keep_freed_memory()"), 100)

    def test_told_otherwise(self) -> None:
        """Allocator settings in the environment are not overruled."""
        asked: list[object] = []
        self.patch(ctypes, "CDLL", asked.append)
        for name in ("GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
            self.patch(os, "environ", {**self.environment, name: "1"})
            self.assertFalse(buffers.keep_freed_memory())
        self.assertEqual(asked, [])

    def test_elsewhere(self) -> None:
        """A C library without the allocator function is left alone."""
        for error in (AttributeError, OSError, TypeError):

            def library(name: None, error: type[Exception] = error) -> None:
                raise error

            self.patch(ctypes, "CDLL", library)
            self.assertFalse(buffers.keep_freed_memory())
