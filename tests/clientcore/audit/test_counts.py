"""Tests of kafkatx.clientcore.audit.counts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.audit.counts import (
    MAX_WINDOWS,
    Announcement,
    AuditCounter,
    common_window_ms,
    window_start_ms,
)
from kafkatx.clientcore.producer.accumulator import AccumulatorLimits, Outcome, RecordAccumulator
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, ProducerBatch
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.records.builder import BatchBuilder

WINDOW_MS = 1000
EVENT = Announcement("shop-1", 3, "t", 5000, 1000, 7, 6100, "web-1")
CONSUMED = attrs.evolve(EVENT, group="g")
TOO_LARGE = RequestError(ErrorCode.MESSAGE_TOO_LARGE, "")
PASSES = RequestError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "")
FINAL = RequestError(ErrorCode.INVALID_RECORD, "")


class FakeReceipt:
    """A receipt that ignores splits."""

    def add_batch(self) -> None:
        """Do nothing."""


def batch(topic: str, *times_ms: int) -> ProducerBatch:
    """Return a batch of one record for each time."""
    made = ProducerBatch(topic, 0, BatchBuilder())
    for time_ms in times_ms:
        made.rows.append(None, b"v", time_ms)
    made.close()
    return made


def sums(events: list[Announcement]) -> dict[tuple[str, int], int]:
    """Return the counts by topic and start of the window."""
    counts: Counter[tuple[str, int]] = Counter()
    for event in events:
        counts[event.topic, event.window_start_ms] += event.count
    return dict(counts)


class AnnouncementTests(SynchronousTestCase):
    """The events in the audit topic."""

    def test_format(self) -> None:
        """An event is JSON with these names."""
        self.assertEqual(
            json.loads(EVENT.encode()),
            {
                "version": 1,
                "producer": "shop-1",
                "sequence": 3,
                "topic": "t",
                "window_start_ms": 5000,
                "window_ms": 1000,
                "count": 7,
                "sent_ms": 6100,
                "server": "web-1",
                "tier": "producer",
            },
        )
        self.assertEqual(Announcement.decode(EVENT.encode()), EVENT)

    def test_consumers(self) -> None:
        """A consumer's event has another version, so that readers of producers' events refuse it."""
        fields = json.loads(CONSUMED.encode())
        self.assertEqual((fields["version"], fields["consumer"], fields["group"]), (2, "shop-1", "g"))
        self.assertNotIn("producer", fields)
        self.assertEqual(Announcement.decode(CONSUMED.encode()), CONSUMED)
        for change in ({"version": 1}, {"group": None}, {"consumer": 1}):
            self.assertRaises(ValueError, Announcement.decode, json.dumps(fields | change).encode())

    def test_without_server(self) -> None:
        """Events of earlier versions without a server name and a tier are read."""
        fields = json.loads(EVENT.encode())
        del fields["server"], fields["tier"]
        self.assertEqual(Announcement.decode(json.dumps(fields).encode()), attrs.evolve(EVENT, server=""))

    def test_not_one(self) -> None:
        """Malformed and foreign values in the topic are refused."""
        good = json.loads(EVENT.encode())
        bad: list[dict[str, Any]] = [
            {"version": 2},
            {"tier": "consumer"},
            {"topic": None},
            {"count": 0},
            {"count": -1},
            {"count": True},
            {"count": 1.0},
            {"count": 1 << 70},
            {"window_ms": 0},
            {"window_ms": 86_400_001},
            {"window_start_ms": 5001},
            {"sent_ms": "now"},
            {"server": 1},
            {"server": None},
            {"server": "\ud800"},
            {"topic": "\ud800"},
        ]
        values = [json.dumps(good | change).encode() for change in bad]
        for value in [*values, None, b"", b"[]", b"\xff", b"[" * 100_000]:
            self.assertRaises(ValueError, Announcement.decode, value)


class CountTests(SynchronousTestCase):
    """Counts, and the times of their announcements."""

    def setUp(self) -> None:
        """Make an audit that begins at 0."""
        self.audit = AuditCounter("shop-1", WINDOW_MS, 0, "audit")

    def announced(self, now_ms: int = 10_000) -> dict[tuple[str, int], int]:
        """Return the counts of announced and confirmed events."""
        events = self.audit.announce(now_ms)
        self.audit.confirm(events)
        return sums(events)

    def test_windows(self) -> None:
        """Records count in the window of their own timestamp, also before 1970 and where they have none."""
        self.audit.count(batch("t", 1000, 1999, 1500))
        self.audit.count(batch("t", 1999, 2000, 1, -1))
        self.audit.count(batch("u", 2000))
        expected = {("t", 0): 1, ("t", -1000): 1, ("t", 1000): 4, ("t", 2000): 1, ("u", 2000): 1}
        self.assertEqual(self.announced(), expected)
        self.assertFalse(self.audit.pending)

    def test_lists(self) -> None:
        """Lists count by their number of records."""
        made = ProducerBatch("t", 0, BatchBuilder())
        made.rows.extend([b"v"] * 5, 999)
        made.rows.extend([b"v"] * 6, 1000)
        made.close()
        self.audit.count(made)
        self.assertEqual(self.announced(), {("t", 0): 5, ("t", 1000): 6})

    def test_handed_out(self) -> None:
        """A consumer's records count by their timestamps; those of the audit topic do not."""
        self.audit.count_times("t", [1000, 1999])
        self.audit.count_times("t", [1999, 2000, -1, 2000])
        self.audit.count_times("audit", [1])
        self.assertEqual(self.announced(), {("t", -1000): 1, ("t", 1000): 3, ("t", 2000): 2})

    def test_names(self) -> None:
        """Events carry the server's name and the group."""
        audit = AuditCounter("c", WINDOW_MS, 0, "audit", server="web-1", group="g")
        audit.count_times("t", [1])
        (event,) = audit.announce(10_000)
        self.assertEqual((event.server, event.group), ("web-1", "g"))

    def test_flush(self) -> None:
        """A flush that waits for a batch is an entry without records, and does not count."""
        made = batch("t", 999, 1000, 1001)
        made.entries += (FakeReceipt(), 0, 2, 0)
        made.entries += (FakeReceipt(), 0, 3, 0)
        self.audit.count(made)
        self.assertEqual(self.announced(), {("t", 0): 1, ("t", 1000): 2})

    def test_append_time(self) -> None:
        """The broker's timestamp replaces those of the records."""
        self.audit.count(batch("t", 999, 1000), append_time_ms=7777)
        self.assertEqual(self.announced(), {("t", 7000): 2})

    def test_not_itself(self) -> None:
        """The audit topic's own records are not counted."""
        self.audit.count(batch("audit", 1))
        self.assertFalse(self.audit.pending)
        self.assertEqual(self.announced(), {})

    def test_due(self) -> None:
        """An announcement is due when the interval is over, and again an interval later."""
        self.assertFalse(self.audit.due(999))
        self.assertTrue(self.audit.due(1000))
        self.audit.announce(1300)
        self.assertFalse(self.audit.due(2299))
        self.assertTrue(self.audit.due(2300))

    def test_many_windows(self) -> None:
        """Records of very many windows are announced early, so that memory is bounded."""
        many = [number * WINDOW_MS for number in range(MAX_WINDOWS - 1)]
        self.audit.count(batch("t", *many))
        self.assertFalse(self.audit.due(0))
        self.audit.count(batch("t", -1))
        self.assertTrue(self.audit.due(0))
        events = self.audit.announce(0)
        self.audit.count(batch("t", -1, *many))
        self.assertFalse(self.audit.due(0), "what is under way comes first")
        self.audit.confirm(events)
        self.assertTrue(self.audit.due(0))

    def test_again(self) -> None:
        """Unconfirmed events are announced again with the same number, before later counts."""
        self.audit.count(batch("t", 1, 1001))
        first = self.audit.announce(2000)
        self.audit.count(batch("t", 2))
        self.audit.confirm(first[:1])
        again = self.audit.announce(3000)
        self.assertEqual(again, [attrs.evolve(first[1], sent_ms=3000)])
        self.audit.confirm(again)
        last = self.audit.announce(4000)
        self.assertEqual([(event.sequence, event.count) for event in last], [(2, 1)])
        self.audit.confirm(last)
        self.assertFalse(self.audit.pending)


class WindowTests(SynchronousTestCase):
    """Window lengths."""

    def test_start(self) -> None:
        """Windows begin at multiples of their length."""
        self.assertEqual([window_start_ms(t, 1000) for t in (-1, 0, 999, 1000)], [-1000, 0, 0, 1000])

    def test_common(self) -> None:
        """All producers' windows fit into the common one; a length that does not is refused."""
        self.assertIsNone(common_window_ms([]))
        self.assertEqual(common_window_ms([10_000]), 10_000)
        self.assertEqual(common_window_ms([10_000, 4000]), 20_000)
        self.assertEqual(common_window_ms([10_000, 4000], 60_000), 60_000)
        error = self.assertRaises(SettingError, common_window_ms, [10_000, 4000], 10_000)
        self.assertIn("10000 ms are not possible: producers announced windows of 4000, 10000 ms", str(error))
        self.assertRaises(SettingError, common_window_ms, [86_399_999, 86_399_998])


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["t", "u", "audit"]),
        st.integers(0, 2),
        st.lists(st.integers(0, 5000), min_size=1, max_size=4),
        st.booleans(),
    ),
    max_size=25,
)
ANSWERS = st.lists(st.sampled_from([None, None, PASSES, TOO_LARGE, FINAL]), max_size=30)


class SumTests(SynchronousTestCase):
    """Counts of an accumulator with random faults."""

    @settings(deadline=None, max_examples=60)
    @given(CALLS, ANSWERS, st.randoms(use_true_random=False), st.booleans())
    def test_sum(self, calls: list[Any], answers: list[Any], random: Any, fails: bool) -> None:
        """The events add up to the acknowledged records, whatever fails, is split or reordered."""
        audit = AuditCounter("p", WINDOW_MS, 0, "audit")
        accumulator = RecordAccumulator(AccumulatorLimits(batch_bytes=150), id_and_epoch=NOT_IDEMPOTENT)
        written: Counter[tuple[str, int]] = Counter()
        events: dict[int, Announcement] = {}
        for topic, partition, times_ms, flush in calls:
            queue = accumulator.queue(topic, partition)
            if len(times_ms) > 2:
                accumulator.append_values(queue, [b"x"] * len(times_ms), times_ms[0], FakeReceipt(), 0.0)
            else:
                for time_ms in times_ms:
                    accumulator.append(queue, None, b"y", time_ms, (), FakeReceipt(), 0.0)
            if flush:
                for waiting in accumulator.unsettled():
                    waiting.entries += (FakeReceipt(), 0, waiting.count, 0)
        accumulator.close_all()
        turn = 0
        while accumulator.busy:
            for queue in list(accumulator.busy):
                while queue.sendable(3):
                    accumulator.take(queue)
            queue = random.choice([box for box in accumulator.busy if box.in_flight])
            sent = random.choice([each for each in queue.in_flight if not each.failed])
            error = answers.pop() if answers else None
            turn += 1
            if accumulator.complete_batch(sent, error, turn * 10.0) is Outcome.DELIVERED:
                for record in _times(sent):
                    written[sent.topic, window_start_ms(record, WINDOW_MS)] += 1
                audit.count(sent)
            if random.random() < 0.3:
                announced = audit.announce(turn)
                events |= {event.sequence: attrs.evolve(event, sent_ms=0) for event in announced}
                if not fails or random.random() < 0.5:
                    audit.confirm(random.sample(announced, random.randint(0, len(announced))))
        while audit.pending:
            announced = audit.announce(turn)
            for event in announced:
                same = attrs.evolve(event, sent_ms=0)
                self.assertEqual(events.setdefault(event.sequence, same), same)
            audit.confirm(announced)
        expected = {window: count for window, count in written.items() if window[0] != "audit"}
        self.assertEqual(sums(list(events.values())), expected)


def _times(sent: ProducerBatch) -> list[int]:
    """Return the timestamps in the log."""
    from kafkatx.records.batch import iter_records

    return [record.timestamp for record in iter_records(memoryview(sent.data))]
