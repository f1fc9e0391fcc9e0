"""Files of a log that are damaged or lost while no broker runs: nothing is skipped or destroyed."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import Confluent, messages
from tests.integration.test_damage import SETTINGS, kafkatx, read_checked

COUNT = 2000


class LostFilesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Fill two topics, each in several segments, and stop the broker."""
        directory = tempfile.TemporaryDirectory(prefix="kafkatx-")
        self.addCleanup(directory.cleanup)
        self.path = directory.name
        self.expected = [(n, *pair) for n, pair in enumerate(messages(COUNT))]
        self.broker = EmbeddedBroker(SETTINGS, data_dir=self.path, run_in="process").start()
        self.addCleanup(self.broker.stop)
        client = Confluent(self.broker.bootstrap)
        for topic in ("damaged", "whole"):
            client.create(topic, 1)
            client.produce(topic, "none", messages(COUNT), **{"batch.num.messages": 20})
        self.broker.stop()

    def files(self, suffix: str) -> list[str]:
        """The paths of the damaged partition's files of one kind, oldest first."""
        return sorted(glob.glob(os.path.join(self.path, "damaged-0", f"*{suffix}")))

    def crash(self) -> None:
        """Make the last stop look like a crash with nothing known to be on the disk."""
        for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path, name))

    def check_whole(self, topic: str) -> None:
        """All that was written is read."""
        found, told = read_checked(self.broker.bootstrap, topic)
        self.assertEqual((found, told), (self.expected, False))

    def test_index(self) -> None:
        """A wrong position in the index of a closed segment skips no record."""
        path = self.files(".index")[1]
        with open(path, "r+b") as file:
            file.seek(4)
            file.write(b"\x7f")
        self.broker.start()
        self.check_whole("damaged")
        for offset in (300, 500, 700):
            done = kafkatx("consume", "damaged", "-o", str(offset), "-c", "1", "-b", self.broker.bootstrap)
            self.assertEqual((done.returncode, done.stdout.rstrip(b"\n")), (0, self.expected[offset][2]))

    def test_epochs(self) -> None:
        """An empty leader-epoch-checkpoint after a crash costs nothing."""
        self.crash()
        with open(os.path.join(self.path, "damaged-0", "leader-epoch-checkpoint"), "wb"):
            pass
        self.broker.start()
        self.check_whole("damaged")

    def test_segment(self) -> None:
        """A missing segment takes its partition offline, and repair brings back what is before it."""
        logs = self.files(".log")
        lost = logs[len(logs) // 2]
        os.unlink(lost)
        sizes = {path: os.path.getsize(path) for path in self.files(".log")}
        for crash in (False, True):
            if crash:
                self.crash()
            self.broker.start()
            self.assertEqual(read_checked(self.broker.bootstrap, "damaged"), ([], True))
            self.check_whole("whole")
            self.broker.stop()
            self.assertEqual({path: os.path.getsize(path) for path in self.files(".log")}, sizes)
        done = kafkatx("log", "repair", os.path.join(self.path, "damaged-0"), "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.broker.start()
        end = int(os.path.basename(lost)[:20])
        self.assertEqual(read_checked(self.broker.bootstrap, "damaged"), (self.expected[:end], False))
        for path, size in sizes.items():
            kept = path if path < lost else path + ".cut-0"
            self.assertEqual(os.path.getsize(kept), size)
