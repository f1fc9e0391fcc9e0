"""Tests of kafkatx.clientcore.audit.ranges."""

from __future__ import annotations

import json
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.clientcore.audit.ranges import MAX_WINDOWS, RangeAnnouncement, RangeCounter

EVENT = RangeAnnouncement("broker", "dc1", "broker-1", "t", "id", 2, 100, 250, 1000, ((5000, 147),), 3, 6100)


class AnnouncementTests(SynchronousTestCase):
    """The events in the audit topic."""

    def test_format(self) -> None:
        """An event is JSON with these names, of a version that readers of producers' events refuse."""
        self.assertEqual(
            json.loads(EVENT.encode()),
            {
                "version": 3,
                "tier": "broker",
                "place": "dc1",
                "server": "broker-1",
                "topic": "t",
                "topic_id": "id",
                "partition": 2,
                "start": 100,
                "end": 250,
                "window_ms": 1000,
                "windows": [[5000, 147]],
                "absent": 3,
                "sent_ms": 6100,
            },
        )
        self.assertEqual(RangeAnnouncement.decode(EVENT.encode()), EVENT)
        self.assertRaises(ValueError, Announcement.decode, EVENT.encode())

    def test_no_records(self) -> None:
        """A range without a record is announced, too: later ranges begin at its end."""
        empty = attrs.evolve(EVENT, windows=(), absent=150)
        self.assertEqual(RangeAnnouncement.decode(empty.encode()), empty)

    def test_not_one(self) -> None:
        """Malformed and foreign values in the topic are refused."""
        good = json.loads(EVENT.encode())
        bad: list[dict[str, Any]] = [
            {"version": 1},
            {"tier": "producer"},
            {"tier": 1},
            {"topic": "\ud800"},
            {"partition": -1},
            {"start": 250},
            {"end": 250.0},
            {"end": True},
            {"absent": -1},
            {"window_ms": 0},
            {"window_ms": 86_400_001},
            {"windows": [[5001, 1]]},
            {"windows": [[5000, 0]]},
            {"windows": [[5000]]},
            {"windows": 5},
            {"windows": [[1000 * n, 1] for n in range(10_001)]},
            {"sent_ms": 1 << 70},
        ]
        values = [json.dumps(good | change).encode() for change in bad]
        del good["topic_id"]
        for value in [*values, json.dumps(good).encode(), None, b"", b"[]", b"\xff", b"[" * 100_000]:
            self.assertRaises(ValueError, RangeAnnouncement.decode, value)


class CounterTests(SynchronousTestCase):
    """Ranges that grow until they are announced."""

    def setUp(self) -> None:
        """A counter with windows of a second."""
        self.counter = RangeCounter("mirror", "m", "host", 1000, "audit")

    def ranges(self) -> list[tuple[int, int, tuple[tuple[int, int], ...], int]]:
        """Return start, end, windows and absent offsets of what is announced, and confirm it."""
        events = self.counter.announce(0)
        self.counter.confirm(events)
        return [(event.start, event.end, event.windows, event.absent) for event in events]

    def test_grows(self) -> None:
        """Ranges that follow each other become one, with the offsets that had no record."""
        self.counter.count("t", "id", 0, 10, 12, [500, 1500])
        self.counter.count("t", "id", 0, 12, 15, [1600])
        self.assertEqual(self.ranges(), [(10, 15, ((0, 1), (1000, 2)), 2)])
        self.assertEqual(self.ranges(), [])
        self.assertFalse(self.counter.pending)

    def test_gap(self) -> None:
        """A hole between two ranges stays one, and partitions and topics are apart."""
        self.counter.count("t", "id", 0, 0, 1, [1])
        self.counter.count("t", "id", 0, 5, 6, [1])
        self.counter.count("t", "id", 1, 1, 2, [1])
        self.counter.count("t", "new", 0, 6, 7, [1])
        found = sorted((event.partition, event.topic_id, event.start) for event in self.counter.announce(0))
        self.assertEqual(found, [(0, "id", 0), (0, "id", 5), (0, "new", 6), (1, "id", 1)])

    def test_again(self) -> None:
        """An announcement that was not confirmed is repeated, with another time, before later ones."""
        self.counter.count("t", "", 0, 0, 1, [1])
        (first,) = self.counter.announce(5)
        self.counter.count("t", "", 0, 1, 2, [1])
        (again,) = self.counter.announce(7, 9)
        self.assertEqual(again, attrs.evolve(first, sent_ms=9))
        self.counter.confirm([again])
        self.assertEqual(self.ranges(), [(1, 2, ((0, 1),), 0)])

    def test_many_windows(self) -> None:
        """A range ends before it has too many windows, and every record is in one."""
        times = [1000 * number for number in range(3 * MAX_WINDOWS)]
        self.counter.count("t", "", 0, 0, len(times), times)
        found = self.ranges()
        self.assertGreater(len(found), 1)
        self.assertEqual([start for start, *_ in found], [0, *(end for _, end, *_ in found[:-1])])
        self.assertEqual(found[-1][1], len(times))
        self.assertLessEqual(max(len(windows) for _, _, windows, _ in found), 2 * MAX_WINDOWS)

    def test_bounded(self) -> None:
        """Counts that cannot be announced take limited memory; what is dropped is a hole, and counted."""
        self.counter = RangeCounter("mirror", "m", "host", 1000, "audit", max_held=3)
        for offset in range(0, 100, 2):
            self.counter.count("t", "", 0, offset, offset + 1, [1])
        self.assertLessEqual(self.counter.held, 4)
        self.assertGreater(self.counter.dropped, 40)

    def test_audit_topic(self) -> None:
        """The audit topic itself is not counted."""
        self.counter.count("audit", "", 0, 0, 1, [1])
        self.assertFalse(self.counter.pending)
