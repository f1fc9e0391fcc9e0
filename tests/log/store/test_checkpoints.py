"""Tests of kafkatx.log.store.checkpoints."""

from __future__ import annotations

import os

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.checkpoint import CLEANED_OFFSETS, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from kafkatx.log.files import Files
from kafkatx.log.store.checkpoints import OffsetCheckpoints
from kafkatx.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class CheckpointTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an empty log dir."""
        self.path = self.mktemp()
        os.makedirs(self.path)
        self.checkpoints = OffsetCheckpoints(Files(), self.path)

    def read(self) -> list[dict[TopicPartition, int]]:
        """Return what the next start reads."""
        checkpoints = OffsetCheckpoints(Files(), self.path)
        checkpoints.read()
        found = (checkpoints.recovery_points, checkpoints.log_starts)
        return [dict(one) for one in (*found, checkpoints.high_watermarks, checkpoints.cleaned)]

    def put(self, name: str, data: bytes) -> None:
        """Write a file."""
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(data)

    def test_saved(self) -> None:
        """Offsets that are written are read again, each in its own file."""
        self.assertEqual(self.read(), [{}, {}, {}, {}])
        self.checkpoints.save({T0: 5}, {T0: 3}, {T0: 4, T1: 0})
        self.checkpoints.save_cleaned({T1: 9})
        self.assertEqual(self.read(), [{T0: 5}, {T0: 3}, {T0: 4, T1: 0}, {T1: 9}])
        self.checkpoints.save_high_watermarks({T0: 6})
        self.assertEqual(self.read()[2], {T0: 6})
        with open(os.path.join(self.path, HIGH_WATERMARKS), "rb") as file:
            self.assertEqual(file.read(), b"0\n1\nt 0 6\n")

    def test_damaged(self) -> None:
        """A damaged file has no offset, whatever byte is at fault, and says so; the others are read."""
        self.checkpoints.save({T0: 5}, {T0: 3}, {T0: 4})
        for name in (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANED_OFFSETS):
            for data in (b"0\n2\nt 0 6\n", b"0\n1\nt 0 6", b"1\n1\nt 0 6\n", b"0\n1\nt 0 x\n", b"\0" * 20):
                self.put(name, data)
                with capturedLogs() as events:
                    self.read()
                self.assertEqual(len(events), 1)
            self.put(name, b"0\n0\n")
        self.put(CLEANED_OFFSETS, b"")
        self.assertEqual(self.read(), [{}, {}, {}, {}])

    def test_unavailable(self) -> None:
        """Partitions that could not be loaded keep their offsets."""
        self.checkpoints.save({T0: 5, T1: 6}, {T0: 3}, {T0: 4, T1: 2})
        self.checkpoints.read()
        self.checkpoints.unavailable.add(T1)
        self.checkpoints.save({T0: 7}, {T0: 7}, {T0: 7})
        self.assertEqual(self.read(), [{T0: 7, T1: 6}, {T0: 7}, {T0: 7, T1: 2}, {}])
