"""The counts of all tiers, from the audit topics of one cluster or several. Pure.

Ranges that follow each other are joined: an announced range takes about 32 bytes then. An announcement of a
producer or consumer takes about 200 bytes, so that it is known when it comes again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence

import attrs

from kafkatx.audit.cover import Range, cover, holes
from kafkatx.clientcore.audit.counts import Announcement, common_window_ms, window_start_ms
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.clientcore.audit.tiers import Tier

CLOCK_MS = 60_000
"""A clock that is off by more than this is told; announcements may be under way for some seconds."""


JOIN_AT, JOIN_BUT = 64, 32
"""With so many ranges of a partition those are joined that are not among the last, which may overlap."""


@attrs.define
class Tally:
    """The records that a tier has counted in a window; ``last_ms`` is the time of the last announcement."""

    count: int = 0
    last_ms: int = 0

    def add(self, count: int, last_ms: int) -> None:
        """Add what one announcement says."""
        self.count += count
        self.last_ms = max(self.last_ms, last_ms)


@attrs.frozen
class Uncounted:
    """Offsets of a partition that a tier has passed and not counted.

    :ivar holes: ranges that no announcement names.
    :ivar absent: the number of offsets that had no record any more when they were counted.
    """

    topic: str
    partition: int
    holes: tuple[Range, ...]
    absent: int


@attrs.define
class _Counted:
    """One announced range, or several that follow each other; see :class:`RangeAnnouncement`.

    :ivar starts: the starts of the windows, in which one may come several times.
    :ivar counts: the number of records in each of them.
    :ivar seen_ms: the times of the announcements of each of them.
    """

    start: int
    end: int
    window_ms: int
    absent: int
    starts: array[int]
    counts: array[int]
    seen_ms: array[int]

    def join(self, other: _Counted) -> None:
        """Add the range that follows this one."""
        self.end = other.end
        self.absent += other.absent
        self.starts += other.starts
        self.counts += other.counts
        self.seen_ms += other.seen_ms


_Place = tuple[Tier, str, str, int]
"""Tier, topic, topic id, partition."""


class Tallies:
    """All announcements.

    :ivar unreadable: the number of records of the audit topics that are not announcements.
    :ivar clocks: by the name of a server, how many ms its clock is ahead of the brokers', if that is more
        than :data:`CLOCK_MS`: the furthest. It is seen only where the audit topic has
        ``message.timestamp.type=LogAppendTime``.
    """

    def __init__(self) -> None:
        self.unreadable = 0
        self.clocks: dict[str, int] = {}
        self._seen: set[tuple[str | None, str, int]] = set()
        self._sums: dict[tuple[Tier, str], dict[tuple[int, int], Tally]] = {}
        self._ranges: dict[_Place, list[_Counted]] = {}
        self._tiers: dict[tuple[str, str], Tier] = {}
        self._chosen: dict[_Place, list[_Counted]] = {}
        self._of_topic: dict[str, dict[Tier, list[_Place]]] = {}

    def add(self, value: bytes | None, cluster: int = 0, appended_ms: int = -1) -> None:
        """Add a record of an audit topic; what was announced again counts once.

        :param cluster: the number of the cluster.
        :param appended_ms: the record's timestamp; -1: not known.
        """
        event: Announcement | RangeAnnouncement
        try:
            event = Announcement.decode(value)
        except ValueError:
            try:
                event = RangeAnnouncement.decode(value)
            except ValueError:
                self.unreadable += 1
                return
        seen_ms = appended_ms if appended_ms >= 0 else event.sent_ms
        self._note_clock(event.server, event.sent_ms - seen_ms)
        if isinstance(event, Announcement):
            self._add_sum(event, cluster, seen_ms)
        else:
            self._add_range(event, cluster, seen_ms)

    def _note_clock(self, server: str, ahead_ms: int) -> None:
        if abs(ahead_ms) > max(CLOCK_MS, abs(self.clocks.get(server, 0))):
            self.clocks[server] = ahead_ms

    def _add_sum(self, event: Announcement, cluster: int, seen_ms: int) -> None:
        name = event.group, event.producer, event.sequence
        if name in self._seen:
            return
        self._seen.add(name)
        tier = attrs.evolve(event.tier, cluster=cluster)
        self._of_topic.setdefault(event.topic, {}).setdefault(tier, [])
        sums = self._sums.setdefault((tier, event.topic), {})
        sums.setdefault((event.window_start_ms, event.window_ms), Tally()).add(event.count, seen_ms)

    def _add_range(self, event: RangeAnnouncement, cluster: int, seen_ms: int) -> None:
        # where an audit topic is copied to another cluster, the cluster that was read first counts
        tier = self._tiers.setdefault((event.tier, event.place), Tier(event.tier, event.place, cluster))
        place = tier, event.topic, event.topic_id, event.partition
        if place not in self._ranges:
            self._of_topic.setdefault(event.topic, {}).setdefault(tier, []).append(place)
        ranges = self._ranges.setdefault(place, [])
        starts = array("q", [start_ms for start_ms, _ in event.windows])
        counts = array("q", [count for _, count in event.windows])
        seen = array("q", [seen_ms]) * len(starts)
        ranges.append(_Counted(event.start, event.end, event.window_ms, event.absent, starts, counts, seen))
        if len(ranges) >= JOIN_AT:
            ranges[:-JOIN_BUT] = _joined(_choose(ranges[:-JOIN_BUT]))
        self._chosen.pop(place, None)

    # --- the result

    def topics(self) -> set[str]:
        """Return the topics that any tier has announced."""
        return set(self._of_topic)

    def tiers(self, topic: str) -> list[Tier]:
        """Return the tiers that have announced a topic."""
        return list(self._of_topic.get(topic, ()))

    def window_ms(self, topics: Collection[str], asked_ms: int | None = None) -> int | None:
        """Return the length of the windows that these topics need, as :func:`common_window_ms` does."""
        lengths = {length for (_, topic), sums in self._sums.items() if topic in topics for _, length in sums}
        lengths |= {
            counted.window_ms
            for (_, topic, *_), ranges in self._ranges.items()
            if topic in topics
            for counted in ranges
        }
        return common_window_ms(lengths, asked_ms)

    def counts(self, tier: Tier, topic: str, window_ms: int) -> dict[int, Tally]:
        """Return what a tier has counted of a topic, by the start of the window."""
        found: dict[int, Tally] = {}
        for (start_ms, _), tally in self._sums.get((tier, topic), {}).items():
            found.setdefault(window_start_ms(start_ms, window_ms), Tally()).add(tally.count, tally.last_ms)
        for place in self._places(tier, topic):
            for counted in self._choice(place):
                every = zip(counted.starts, counted.counts, counted.seen_ms, strict=True)
                for start_ms, count, seen_ms in every:
                    window = window_start_ms(start_ms, window_ms)
                    found.setdefault(window, Tally()).add(count, seen_ms)
        return found

    def uncounted(self, tier: Tier, topic: str) -> list[Uncounted]:
        """Return the offsets that a tier has passed without counting them, by partition."""
        found = []
        for place in self._places(tier, topic):
            chosen = self._choice(place)
            gaps = tuple(holes([(counted.start, counted.end) for counted in chosen]))
            absent = sum(counted.absent for counted in chosen)
            if gaps or absent:
                found.append(Uncounted(topic, place[3], gaps, absent))
        return found

    def behind(self, tier: Tier, feeder: Tier, topic: str) -> int:
        """Return the number of offsets that a feeder has announced, and a tier after it has not reached."""
        ends = {place[2:]: self._end(place) for place in self._places(tier, topic)}
        lag = 0
        for place in self._places(feeder, topic):
            if place[2:] in ends:
                lag += max(self._end(place) - ends[place[2:]], 0)
        return lag

    def _places(self, tier: Tier, topic: str) -> Sequence[_Place]:
        return self._of_topic.get(topic, {}).get(tier, ())

    def _end(self, place: _Place) -> int:
        return max(counted.end for counted in self._ranges[place])

    def _choice(self, place: _Place) -> list[_Counted]:
        chosen = self._chosen.get(place)
        if chosen is None:
            chosen = self._chosen[place] = _choose(self._ranges[place])
        return chosen


def _choose(ranges: Sequence[_Counted]) -> list[_Counted]:
    """Return the ranges that count, in the order of offsets."""
    absent = [one.absent for one in ranges]
    return [ranges[index] for index in cover([(one.start, one.end) for one in ranges], absent)]


def _joined(ranges: Sequence[_Counted]) -> list[_Counted]:
    """Join ranges that follow each other, into the first of them."""
    found: list[_Counted] = []
    for one in ranges:
        if found and found[-1].end == one.start and found[-1].window_ms == one.window_ms:
            found[-1].join(one)
        else:
            found.append(one)
    return found
