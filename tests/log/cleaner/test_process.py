"""Passes in a process of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.cleaner.clean import clean
from kafkatx.log.cleaner.passes import CleaningAborted, Finished, Pass, Source
from kafkatx.log.cleaner.process import (
    CleanerProcess,
    decode_pass,
    decode_step,
    encode_pass,
    encode_step,
)
from kafkatx.log.files import Files
from kafkatx.log.segment.swap import Cleaned
from tests.log.cleaner.logs import keyed


def some_pass(directory: str, size: int, **changes: Any) -> Pass:
    """Return a pass over one segment of six records."""
    fields: dict[str, Any] = {
        "name": "p",
        "directory": directory,
        "sources": (Source(0, size),),
        "first_dirty_offset": 0,
        "end_offset": 6,
        "now_ms": 10**12,
        "delete_retention_ms": 5,
        "memory_bytes": 1 << 20,
        "load_factor": 0.5,
        "segment_bytes": 1 << 20,
        "segment_index_bytes": 1 << 20,
        "index_interval_bytes": 4096,
        "last_offsets": {7: 5, 9: 3},
    }
    return Pass(**{**fields, **changes})


def nothing() -> None:
    """Do nothing, since the broker is alive."""


class ProcessTests(SynchronousTestCase):
    """Tests of the process: its messages, and its end."""

    def setUp(self) -> None:
        """Make a directory with a segment."""
        self.directory = os.path.abspath(self.mktemp())
        os.mkdir(self.directory)
        data = keyed([(b"%d" % (number % 2), b"v%d" % number) for number in range(6)])
        with open(os.path.join(self.directory, f"{0:020d}.log"), "wb") as file:
            file.write(data)
        self.job = some_pass(self.directory, len(data))

    def names(self) -> list[str]:
        """Return the files in the directory."""
        return sorted(os.listdir(self.directory))

    def test_pass_as_json(self) -> None:
        """A pass is the same after its way through the pipe."""
        self.assertEqual(decode_pass(encode_pass(self.job)), self.job)

    def test_steps_as_json(self) -> None:
        """Steps are the same after their way back, and errors are raised, with their words."""
        for step in (Cleaned(5, (5, 9), 7, 8, 9), Finished(3, 4, 5)):
            self.assertEqual(decode_step(encode_step(step)), step)
        with self.assertRaisesRegex(CorruptRecords, "at 17"):
            decode_step(encode_step(CorruptRecords("at 17")))
        with self.assertRaisesRegex(OSError, "gone"):
            decode_step(encode_step(FileNotFoundError(2, "gone")))
        with self.assertRaisesRegex(RuntimeError, "odd"):
            decode_step(encode_step(KeyError("odd")))

    def test_same_as_here(self) -> None:
        """The process does what the function does."""
        copy = self.mktemp()
        shutil.copytree(self.directory, copy)
        here = list(clean(Files(), some_pass(copy, self.job.sources[0].size), nothing))
        there = list(CleanerProcess().run(Files(), self.job, nothing))
        self.assertEqual(there, here)
        self.assertEqual(len(there), 2)
        for name in self.names():
            with (
                open(os.path.join(self.directory, name), "rb") as one,
                open(os.path.join(copy, name), "rb") as other,
            ):
                self.assertEqual(one.read(), other.read(), name)

    def test_failure(self) -> None:
        """The error of a segment has the file and the position."""
        job = some_pass(self.directory, self.job.sources[0].size - 1)
        with self.assertRaisesRegex(CorruptRecords, r"00\.log at 0: "):
            list(CleanerProcess().run(Files(), job, nothing))

    def test_stopped(self) -> None:
        """stop() ends the process that runs, and no other is started."""
        process = CleanerProcess()
        steps = process.run(Files(), self.job, nothing)
        next(steps)
        child = process._process
        assert child is not None
        process.stop()
        self.assertIn(child.wait(), (-9, 0))  # 0: it was quicker
        self.assertRaises(CleaningAborted, next, process.run(Files(), self.job, nothing))
        steps.close()

    def test_closed(self) -> None:
        """Closing the iterator ends the process."""
        process = CleanerProcess()
        steps = process.run(Files(), self.job, nothing)
        next(steps)
        child = process._process
        assert child is not None
        steps.close()
        self.assertIsNotNone(child.returncode)
        self.assertIsNone(process._process)

    def test_broker_dies(self) -> None:
        """With its broker gone the process ends without a new segment."""
        done = subprocess.run(
            [sys.executable, "-m", "kafkatx.log.cleaner.process"],
            input=encode_pass(self.job),  # and the end of input with it
            capture_output=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, b"", b""))

    def test_lines(self) -> None:
        """The lines are those that the module's docstring tells of."""
        kinds = [next(iter(json.loads(encode_step(step)))) for step in clean(Files(), self.job, nothing)]
        self.assertEqual(kinds, ["cleaned", "finished"])
