"""Announced against found, by topic and window. Pure.

===============  ========================================================================================
``announced``    what producers say they got into the topic
``found``        what is there: every copy of every record
``distinct``     records: a record is known by its topic, partition and offset
``missing``      ``announced - distinct``, if above 0: records that are not there
``doubled``      ``found - distinct``: copies that are there once too often
``unannounced``  ``distinct - announced``, if above 0: a producer has no audit or has ended before its last
                 announcement, or a retry put a record into the topic twice
===============  ========================================================================================

Counts cannot tell which records are missing, and a record that is missing in a window hides one that is
unannounced in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import attrs

from kafkatx.clientside.audit import SETTLE_MS, Announcement, common_window_ms, window_start_ms

Key = tuple[str, int]
"""A topic, and where the window begins, in ms since the epoch."""


@attrs.define
class Count:
    """What was found in a window. ``written_ms``: when the last of it was committed; None if nobody knows."""

    found: int = 0
    distinct: int = 0
    written_ms: int | None = None


@attrs.frozen
class Window:
    """One topic's window; times are in ms since the epoch.

    :ivar open: it is too early to judge: records or announcements may still be on their way.
    :ivar sent_ms: when the last announcement of it was sent, if there was any.
    :ivar written_ms: when the last of its records was committed to the table, if that is known.
    """

    topic: str
    start_ms: int
    window_ms: int
    announced: int
    found: int
    distinct: int
    open: bool = False
    sent_ms: int | None = None
    written_ms: int | None = None

    @property
    def end_ms(self) -> int:
        """Its end, exclusive."""
        return self.start_ms + self.window_ms

    @property
    def missing(self) -> int:
        """How many records are not there."""
        return max(self.announced - self.distinct, 0)

    @property
    def doubled(self) -> int:
        """How many copies are there once too often."""
        return self.found - self.distinct

    @property
    def unannounced(self) -> int:
        """How many records nobody announced."""
        return max(self.distinct - self.announced, 0)

    @property
    def wrong(self) -> bool:
        """Whether something is missing or doubled."""
        return not self.open and bool(self.missing or self.doubled)

    @property
    def differs(self) -> bool:
        """Whether there is anything to say about it."""
        return self.open or bool(self.missing or self.doubled or self.unannounced)


class Announced:
    """The sum of all announcements.

    :ivar unreadable: how many records of the audit topic were none.
    """

    def __init__(self) -> None:
        self.unreadable = 0
        self._seen: set[tuple[str, int]] = set()
        self._sums: dict[tuple[str, int, int], tuple[int, int]] = {}

    def add(self, value: bytes | None) -> None:
        """Take a record of the audit topic; one that was sent twice counts once."""
        try:
            event = Announcement.decode(value)
        except ValueError:
            self.unreadable += 1
            return
        if (event.producer, event.sequence) in self._seen:
            return
        self._seen.add((event.producer, event.sequence))
        window = event.topic, event.window_start_ms, event.window_ms
        count, sent_ms = self._sums.get(window, (0, 0))
        self._sums[window] = count + event.count, max(sent_ms, event.sent_ms)

    def topics(self) -> set[str]:
        """All that were announced."""
        return {topic for topic, _, _ in self._sums}

    def window_ms(self, topics: Collection[str], asked_ms: int | None = None) -> int | None:
        """How long the windows of these topics must be, as :func:`common_window_ms` says."""
        lengths = {length for topic, _, length in self._sums if topic in topics}
        return common_window_ms(lengths, asked_ms)

    def sums(self, topics: Collection[str], window_ms: int) -> dict[Key, tuple[int, int]]:
        """Of each window the count, and when the last announcement was sent."""
        sums: dict[Key, tuple[int, int]] = {}
        for (topic, start_ms, _), (count, sent_ms) in self._sums.items():
            if topic in topics:
                key = topic, window_start_ms(start_ms, window_ms)
                known, before_ms = sums.get(key, (0, 0))
                sums[key] = known + count, max(before_ms, sent_ms)
        return sums


def compare(
    announced: Mapping[Key, tuple[int, int]],
    found: Mapping[Key, Count],
    window_ms: int,
    now_ms: int,
    settle_ms: int = SETTLE_MS,
) -> Iterator[Window]:
    """Each window that anybody knows of, by topic and time.

    It is open until *settle_ms* after the last announcement that may come for it, which is a window after its
    end, and until *settle_ms* after the last one that has come.
    """
    for key in sorted(announced.keys() | found.keys()):
        topic, start_ms = key
        count, sent_ms = announced.get(key, (0, None))
        there = found.get(key) or Count()
        last_ms = max(start_ms + 2 * window_ms, sent_ms or 0)
        yield Window(
            topic,
            start_ms,
            window_ms,
            count,
            there.found,
            there.distinct,
            now_ms < last_ms + settle_ms,
            sent_ms,
            there.written_ms,
        )


def between(windows: Iterable[Window], from_ms: int | None, until_ms: int | None) -> Iterator[Window]:
    """Those that begin at *from_ms* or later, and before *until_ms*."""
    for window in windows:
        late_enough = from_ms is None or window.start_ms >= from_ms
        if late_enough and (until_ms is None or window.start_ms < until_ms):
            yield window
