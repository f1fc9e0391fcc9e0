"""The ballast: memory that was touched and freed, but for a page of each block."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare import ballast
from benchmarks.compare.ballast import BLOCK_BYTES, PAGE_BYTES, hold

HELD = (
    "from benchmarks.compare.ballast import *; held = hold(32 << 20); print(open('/proc/self/smaps').read())"
)


class BallastTests(SynchronousTestCase):
    def test_pages(self) -> None:
        """The first page of each block has been written to, and is kept; the others read as new ones."""
        held = hold(4 * BLOCK_BYTES)
        self.addCleanup(held.close)
        for block in range(0, len(held), BLOCK_BYTES):
            self.assertEqual(held[block], 1)
            self.assertEqual(held[block + PAGE_BYTES], 0)
            self.assertEqual(held[block + BLOCK_BYTES - 1], 0)

    def test_resident(self) -> None:
        """16 pages of 32 MiB stay."""
        done = subprocess.run(
            [sys.executable, "-c", HELD], capture_output=True, text=True, check=True, cwd=ballast.ROOT
        )
        found = re.findall(r"^Size: +32768 kB\n.*\n.*\nRss: +(\d+) kB", done.stdout, re.MULTILINE)
        self.assertEqual([int(resident) for resident in found], [16 * PAGE_BYTES // 1024])

    def test_only_where_needed(self) -> None:
        """A process is started only where memory is given back, and it ends."""
        started: list[list[str]] = []
        popen = subprocess.Popen

        def start(command: list[str], **more: Any) -> Any:
            started.append(command)
            return popen(command, **more)

        self.patch(subprocess, "Popen", start)
        self.patch(ballast, "available_gib", lambda: 0.05)
        self.patch(ballast, "REPORTING", "/nowhere")
        with ballast.ballast():
            self.assertEqual(started, [])
        self.patch(ballast, "REPORTING", os.path.dirname(__file__))
        with ballast.ballast():
            self.assertEqual(len(started), 1)
