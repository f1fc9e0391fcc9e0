"""Tests of kafkatx.log.recovery.producer_snapshots: which snapshot is taken, and what is replayed."""

from __future__ import annotations

import os

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.files import Files
from kafkatx.log.producer_state import ProducerStateManager, encode_snapshot
from kafkatx.log.recovery.producer_snapshots import load_producers
from kafkatx.testing.contracts.partition_log import NOW_MS
from tests.log.segments import make_segment, stored


class LoadProducersTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log of six batches of producer 1, in two segments."""
        self.directory = self.mktemp()
        batches = [stored([b"x"], offset, producer=(1, 0, offset)) for offset in range(6)]
        self.segments = [
            make_segment(self.directory, *batches[:3]),
            make_segment(self.directory, *batches[3:], base_offset=3),
        ]

    def snapshot(self, offset: int, producer_id: int = 9, data: bytes | None = None) -> str:
        """Write a snapshot with one producer; return its path."""
        producers = ProducerStateManager()
        producers.record(producer_id, 0, 0, 0, 0, NOW_MS)
        path = os.path.join(self.directory, f"{offset:020d}.snapshot")
        with open(path, "wb") as file:
            file.write(encode_snapshot(producers.states) if data is None else data)
        return path

    def loaded(self, end_offset: int = 6) -> dict[int, list[int]]:
        """The last offsets of the batches of each producer."""
        producers = load_producers(Files(), self.directory, self.segments, end_offset, NOW_MS).producers
        return {key: [one.last_offset for one in state.batches] for key, state in producers.states.items()}

    def test_replayed(self) -> None:
        """Without a snapshot all batches are replayed, of which five are kept."""
        self.assertEqual(self.loaded(), {1: [1, 2, 3, 4, 5]})

    def test_snapshot(self) -> None:
        """The latest snapshot is taken, and only what follows it is replayed."""
        self.snapshot(0, 7)
        self.snapshot(3)
        self.assertEqual(self.loaded(), {9: [0], 1: [3, 4, 5]})

    def test_beyond_the_end(self) -> None:
        """A snapshot from beyond the end is removed, and an earlier one is taken."""
        later = self.snapshot(6)
        self.snapshot(3, 8)
        self.assertEqual(self.loaded(5), {8: [0], 1: [3, 4, 5]})
        self.assertFalse(os.path.exists(later))

    def test_damaged(self) -> None:
        """A damaged snapshot is removed and not believed."""
        path = self.snapshot(3, data=b"nonsense")
        self.assertEqual(self.loaded(), {1: [1, 2, 3, 4, 5]})
        self.assertFalse(os.path.exists(path))

    def test_without_a_segment(self) -> None:
        """Older snapshots between segments are removed; those at a segment's start stay."""
        stray, kept = self.snapshot(2), self.snapshot(0)
        self.snapshot(3)
        self.loaded()
        self.assertEqual((os.path.exists(stray), os.path.exists(kept)), (False, True))

    def test_before_the_log(self) -> None:
        """A snapshot from before the first segment is not taken: batches after it were deleted."""
        self.snapshot(0)
        del self.segments[0]
        self.assertEqual(self.loaded(), {1: [3, 4, 5]})

    def test_damaged_segment(self) -> None:
        """Damage in a segment ends its replay with a warning."""
        with open(self.segments[0].path(".log"), "r+b") as file:
            file.seek(len(stored([b"x"], 0)) + 16)
            file.write(b"\x09")
        with capturedLogs() as events:
            self.assertEqual(self.loaded(), {1: [0, 3, 4, 5]})
        self.assertEqual(len(events), 1)
