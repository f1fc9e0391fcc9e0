"""Announcements of ranges of offsets, by tiers that read a partition in order: broker, mirror, ingest. Pure.

A producer can only say how many records it wrote. Who reads a partition knows more: the offsets. Such a tier
announces for each partition a range of offsets and the counts of the records in it by window. So each record
counts once, however often it is announced, and by several servers: of ranges that overlap only one counts. A
reader also sees which offsets were not announced (:mod:`kafkatx.audit.cover`).

An event is a record of the audit topic, beside those of :mod:`kafkatx.clientcore.audit.counts`, whose readers
refuse its version. Its key is the topic, its value JSON::

    {"version": 3, "tier": "broker", "place": "dc1", "server": "broker-1", "topic": "orders",
     "topic_id": "5cdab6e2-...", "partition": 0, "start": 100, "end": 250, "window_ms": 60000,
     "windows": [[1700000000000, 512]], "absent": 3, "sent_ms": 1700000060123}

``end`` is exclusive, ``windows`` are pairs of start and count. ``absent`` is the number of offsets in the
range without a record: retention or compaction has removed them before they were counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

from kafkatx.clientcore.audit.counts import DAY_MS
from kafkatx.clientcore.audit.tiers import BROKER, INGEST, MIRROR

VERSION = 3
TIERS = (BROKER, MIRROR, INGEST)

MAX_WINDOWS = 500
"""The number of windows after which a range ends: with it an announcement has about 15 kB."""

MOST_WINDOWS = 10_000
"""The number of windows that one announcement may have at most."""

MAX_HELD = 100_000
"""The number of windows that a counter holds while announcements fail; ranges beyond it are dropped."""

_LARGEST = 1 << 62


@attrs.frozen
class RangeAnnouncement:
    """The records that one tier has in a range of offsets of one partition.

    :ivar place: tells tiers of one kind apart: the cluster, the mirror, the table.
    :ivar server: the name of the announcing process.
    :ivar topic_id: tells a topic from one that was created anew under its name; empty: not known.
    :ivar end: exclusive.
    :ivar windows: pairs of the start of a window in ms and the number of records in it.
    :ivar absent: the number of offsets without a record.
    """

    tier: str
    place: str
    server: str
    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    window_ms: int
    windows: tuple[tuple[int, int], ...]
    absent: int
    sent_ms: int

    def encode(self) -> bytes:
        """Return the value of the event's record."""
        return json.dumps({"version": VERSION, **attrs.asdict(self)}, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes | None) -> RangeAnnouncement:
        """Decode and check a record's value; any client can write to the audit topic.

        :raises ValueError: it is not an event of this version.
        """
        try:
            fields = json.loads(value or b"")
        except (ValueError, RecursionError) as error:
            raise ValueError("not JSON") from error
        if not isinstance(fields, dict) or fields.pop("version", None) != VERSION:
            raise ValueError(f"not an audit event of version {VERSION}")
        try:
            windows = tuple((start_ms, count) for start_ms, count in fields.pop("windows"))
            known = {name: fields[name] for name in _FIELDS}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError("a field is missing or has the wrong type") from error
        found = cls(**known, windows=windows)
        found._check()
        return found

    def _check(self) -> None:
        texts: list[Any] = [self.tier, self.place, self.server, self.topic, self.topic_id]
        numbers = [self.partition, self.start, self.end, self.window_ms, self.absent, self.sent_ms]
        pairs = [number for pair in self.windows for number in pair]
        if not all(isinstance(text, str) for text in texts) or not all(map(_is_number, (*numbers, *pairs))):
            raise ValueError("a field has the wrong type")
        for text in texts:
            text.encode()  # lone surrogates could not be printed
        if self.tier not in TIERS or not 0 <= self.start < self.end or self.partition < 0 or self.absent < 0:
            raise ValueError("the tier or the range is not valid")
        if not 0 < self.window_ms <= DAY_MS or len(self.windows) > MOST_WINDOWS:
            raise ValueError("the length of the windows is not valid")
        if any(count <= 0 or start_ms % self.window_ms for start_ms, count in self.windows):
            raise ValueError("a window is not valid")


_FIELDS = tuple(field.name for field in attrs.fields(RangeAnnouncement) if field.name != "windows")


def _is_number(value: object) -> bool:
    return type(value) is int and abs(value) < _LARGEST


@attrs.define
class _Range:
    """A range that grows; ``start`` to ``end`` (exclusive)."""

    start: int
    end: int
    windows: Counter[int] = attrs.field(factory=Counter)


_Place = tuple[str, str, int]
"""Topic, topic id, partition."""


class RangeCounter:
    """The counts of one mirror or ingestion: ranges of offsets that it has taken, until they are announced.

    :ivar topic: the audit topic; its own records are not counted.
    :ivar interval_ms: the interval of announcements, and the length of a window.
    :ivar held: the number of windows that are counted and not yet in an announcement.
    :ivar dropped: the number of ranges that were dropped because announcements failed for too long.
    """

    def __init__(
        self, tier: str, place: str, server: str, interval_ms: int, topic: str, max_held: int = MAX_HELD
    ) -> None:
        self.topic = topic
        self.interval_ms = interval_ms
        self.dropped = 0
        self._tier, self._place, self._server = tier, place, server
        self._max_held = max_held
        self.held = 0
        self._open: dict[_Place, _Range] = {}
        self._closed: list[tuple[_Place, _Range]] = []
        self._unconfirmed: dict[tuple[_Place, int], RangeAnnouncement] = {}

    def count(
        self, topic: str, topic_id: str, partition: int, start: int, end: int, times_ms: Sequence[int]
    ) -> None:
        """Count the records in a range of offsets, which mostly begins where the last one has ended.

        :param end: exclusive.
        :param times_ms: the timestamps of these records; fewer than offsets if some have no record.
        """
        interval_ms, middle = self.interval_ms, len(times_ms) // 2
        counts = Counter(time_ms // interval_ms * interval_ms for time_ms in times_ms)
        if len(counts) > MAX_WINDOWS and len(times_ms) == end - start:
            self.count(topic, topic_id, partition, start, start + middle, times_ms[:middle])
            self.count(topic, topic_id, partition, start + middle, end, times_ms[middle:])
        else:
            self.add(topic, topic_id, partition, start, end, counts)

    def add(
        self, topic: str, topic_id: str, partition: int, start: int, end: int, counts: Counter[int]
    ) -> None:
        """Count as :meth:`count` does, by the starts of windows."""
        if topic == self.topic or start >= end:
            return
        if self.held >= self._max_held or len(counts) > MOST_WINDOWS:
            self.dropped += 1
            return
        place = topic, topic_id, partition
        known = self._open.get(place)
        if known is None or known.end != start or len(known.windows) >= MAX_WINDOWS:
            if known is not None:
                self._closed.append((place, known))
            known = self._open[place] = _Range(start, start)
            self.held += 1
        before = len(known.windows)
        known.windows.update(counts)
        known.end = end
        self.held += len(known.windows) - before

    @property
    def pending(self) -> bool:
        """True if there are counts that are not known to be in the audit topic."""
        return bool(self._open or self._closed or self._unconfirmed)

    def announce(self, now_ms: int, sent_ms: int | None = None) -> list[RangeAnnouncement]:
        """Return the events to send: the earlier ones if they are not confirmed yet, else new ones.

        :param sent_ms: the wall clock's time, if *now_ms* is another clock's.
        """
        sent_ms = now_ms if sent_ms is None else sent_ms
        if not self._unconfirmed:
            for place, taken in (*self._closed, *self._open.items()):
                self._unconfirmed[place, taken.start] = self._event(place, taken, sent_ms)
            self._closed.clear()
            self._open.clear()
            self.held = 0
        return [attrs.evolve(event, sent_ms=sent_ms) for event in self._unconfirmed.values()]

    def _event(self, place: _Place, taken: _Range, sent_ms: int) -> RangeAnnouncement:
        windows = tuple(sorted(taken.windows.items()))
        absent = max(taken.end - taken.start - taken.windows.total(), 0)
        return RangeAnnouncement(
            self._tier,
            self._place,
            self._server,
            *place,
            taken.start,
            taken.end,
            self.interval_ms,
            windows,
            absent,
            sent_ms,
        )

    def confirm(self, announced: Sequence[RangeAnnouncement]) -> None:
        """Forget events that are in the audit topic."""
        for event in announced:
            self._unconfirmed.pop(((event.topic, event.topic_id, event.partition), event.start), None)
