"""Tests of kafkatx.log.partition.snapshot_writer: what of the producers' states reaches the disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.files import Files
from kafkatx.log.partition import snapshot_writer
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.partition.snapshot_writer import Snapshot, SnapshotWriter
from kafkatx.log.producer_state import ProducerBatch, ProducerState, decode_snapshot
from kafkatx.testing.contracts.partition_log import NOW_MS, TP

T = TypeVar("T")


def states(*producer_ids: int) -> dict[int, ProducerState]:
    """The states of producers that wrote one record each."""
    return {number: ProducerState(0, (ProducerBatch(0, 0, 0, 0),), NOW_MS) for number in producer_ids}


class SnapshotWriterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a writer whose worker works when it is told to."""
        self.directory = self.mktemp()
        os.makedirs(self.directory)
        self.work: list[Callable[[], object]] = []
        self.cuts = 0
        location = LogLocation(TP, self.directory, Files(), self.worker)
        self.writer = SnapshotWriter(location, lambda: self.cuts)

    def worker(self, function: Callable[[], T]) -> Deferred[T]:
        """Keep the work for later."""
        self.work.append(function)
        return Deferred()

    def pump(self) -> list[str]:
        """Do the work; return the names of all files."""
        while self.work:
            self.work.pop(0)()
        return sorted(os.listdir(self.directory))

    def test_written(self) -> None:
        """Each snapshot has a file, named for its offset."""
        self.writer.write_later([Snapshot(3, states(1)), Snapshot(5, states(1, 2))])
        self.assertEqual(self.pump(), [f"{3:020d}.snapshot", f"{5:020d}.snapshot"])
        with open(self.writer.path(5), "rb") as file:
            self.assertEqual(sorted(decode_snapshot(file.read())), [1, 2])

    def test_before_a_truncation(self) -> None:
        """A snapshot that waited while the log was truncated is not written."""
        self.writer.write_later([Snapshot(3, states(1))])
        self.cuts += 1
        self.writer.write_later([Snapshot(2, states(1))])
        self.assertEqual(self.pump(), [f"{2:020d}.snapshot"])

    def test_many_producers(self) -> None:
        """With many producers only the newest snapshot waits."""
        self.patch(snapshot_writer, "MANY_PRODUCERS", 2)
        self.assertEqual(self.writer.wanted([1, 2, 3], 2), [1, 2, 3])
        self.assertEqual(self.writer.wanted([1, 2, 3], 3), [3])
        self.writer.write_later([Snapshot(3, states(1, 2, 3))])
        self.writer.write_later([Snapshot(4, states(1, 2, 3))])
        self.assertEqual(self.pump(), [f"{4:020d}.snapshot"])

    def test_closed(self) -> None:
        """A closed log gets a last snapshot, unless it is empty or has that one."""
        names: set[str] = set()
        self.writer.finisher(Snapshot(0, {}), names)()
        self.assertEqual(os.listdir(self.directory), [])
        self.writer.finisher(Snapshot(7, states(1)), names)()
        self.writer.finisher(Snapshot(7, {}), names)()
        self.assertEqual(names, {self.directory})
        with open(self.writer.path(7), "rb") as file:
            self.assertEqual(list(decode_snapshot(file.read())), [1])
