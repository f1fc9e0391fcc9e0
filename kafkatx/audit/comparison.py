"""Announced against found, by topic and window. Pure.

===============  ========================================================================================
``announced``    what producers say they got into the topic
``found``        what is there: every copy of every record
``distinct``     records: a record is known by its topic, partition and offset
``missing``      ``announced - distinct``, if above 0: records that are not there
``doubled``      ``found - distinct``: copies that are there once too often
``unannounced``  ``distinct - announced``, if above 0: a producer has no audit or has ended before its last
                 announcement, or a retry put a record into the topic twice
``consumed``     what the consumers of a group say they handed out
``unconsumed``   ``announced - consumed``, if above 0: not consumed yet, lost, or not announced by a consumer
                 that crashed
``reread``       ``consumed - max(announced, distinct)``, if above 0: records that were handed out again
===============  ========================================================================================

The last three are there where a group is asked for. Counts cannot tell which records are missing, and a
record that is missing in a window hides one that is unannounced in it; one that was not consumed hides one
that was handed out twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

import attrs

from kafkatx.clientcore.audit.counts import SETTLE_MS, Announcement, common_window_ms, window_start_ms

Key = tuple[str, int]
"""A topic, and where the window begins, in ms since the epoch."""

_Sums: TypeAlias = "dict[tuple[str, int, int, str], tuple[int, int]]"
"""By topic, start and length of the window, server: the count, and when the last announcement was sent."""


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
    :ivar consumed: what the consumers of a group announced; None: no group was asked for.
    :ivar servers: how much of what was announced comes from which server; empty: not known.
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
    consumed: int | None = None
    servers: Mapping[str, int] = attrs.field(factory=dict)

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
    def unconsumed(self) -> int:
        """The number of records that the group has not announced."""
        return 0 if self.consumed is None else max(self.announced - self.consumed, 0)

    @property
    def reread(self) -> int:
        """The number of records that the group was handed once too often."""
        return 0 if self.consumed is None else max(self.consumed - max(self.announced, self.distinct), 0)

    @property
    def wrong(self) -> bool:
        """True if something is missing or doubled, in the topic or with the group."""
        return not self.open and bool(self.missing or self.doubled or self.unconsumed or self.reread)

    @property
    def differs(self) -> bool:
        """Whether there is anything to say about it."""
        return self.open or self.wrong or bool(self.unannounced)


class Announced:
    """The sum of all announcements: of producers, and of the consumers of a group.

    :ivar group: the group; None: no consumers count.
    :ivar unreadable: how many records of the audit topic were none.
    """

    def __init__(self, group: str | None = None) -> None:
        self.group = group
        self.unreadable = 0
        self._seen: set[tuple[str | None, str, int]] = set()
        self._sums: _Sums = {}
        self._consumed: _Sums = {}

    def add(self, value: bytes | None) -> None:
        """Take a record of the audit topic; one that was sent twice counts once."""
        try:
            event = Announcement.decode(value)
        except ValueError:
            self.unreadable += 1
            return
        name = event.group, event.producer, event.sequence
        if name in self._seen or event.group not in (None, self.group):
            return
        self._seen.add(name)
        window = event.topic, event.window_start_ms, event.window_ms, event.server
        sums = self._sums if event.group is None else self._consumed
        count, sent_ms = sums.get(window, (0, 0))
        sums[window] = count + event.count, max(sent_ms, event.sent_ms)

    def topics(self) -> set[str]:
        """All that producers announced."""
        return {topic for topic, *_ in self._sums}

    def window_ms(self, topics: Collection[str], asked_ms: int | None = None) -> int | None:
        """How long the windows of these topics must be, as :func:`common_window_ms` says."""
        lengths = {length for topic, _, length, _ in (*self._sums, *self._consumed) if topic in topics}
        return common_window_ms(lengths, asked_ms)

    def sums(self, topics: Collection[str], window_ms: int) -> dict[Key, tuple[int, int]]:
        """Return what producers count in each window, and when the last announcement was sent."""
        return _by_window(self._sums, topics, window_ms)

    def consumed(self, topics: Collection[str], window_ms: int) -> dict[Key, tuple[int, int]] | None:
        """As :meth:`sums`, of the group's consumers; None where there is no group."""
        return None if self.group is None else _by_window(self._consumed, topics, window_ms)

    def servers(self, topics: Collection[str], window_ms: int) -> dict[Key, dict[str, int]]:
        """Return what producers count in each window, by their servers."""
        found: dict[Key, dict[str, int]] = {}
        for (topic, start_ms, _, server), (count, _) in self._sums.items():
            if topic in topics:
                by_server = found.setdefault((topic, window_start_ms(start_ms, window_ms)), {})
                by_server[server] = by_server.get(server, 0) + count
        return found


def _by_window(counted: _Sums, topics: Collection[str], window_ms: int) -> dict[Key, tuple[int, int]]:
    sums: dict[Key, tuple[int, int]] = {}
    for (topic, start_ms, _, _), (count, sent_ms) in counted.items():
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
    *,
    consumed: Mapping[Key, tuple[int, int]] | None = None,
    servers: Mapping[Key, Mapping[str, int]] = MappingProxyType({}),
) -> Iterator[Window]:
    """Each window that anybody knows of, by topic and time.

    It is open until *settle_ms* after the last announcement that may come for it, which is a window after its
    end, and until *settle_ms* after the last one that has come.

    :param consumed: what the consumers of a group announced; None: no group was asked for.
    :param servers: as :meth:`Announced.servers` gives them.
    """
    handed_out = consumed or {}
    for key in sorted(announced.keys() | found.keys() | handed_out.keys()):
        topic, start_ms = key
        count, sent_ms = announced.get(key, (0, None))
        taken, taken_ms = handed_out.get(key, (0, 0))
        there = found.get(key) or Count()
        last_ms = max(start_ms + 2 * window_ms, sent_ms or 0, taken_ms)
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
            None if consumed is None else taken,
            servers.get(key, {}),
        )


def between(windows: Iterable[Window], from_ms: int | None, until_ms: int | None) -> Iterator[Window]:
    """Those that begin at *from_ms* or later, and before *until_ms*."""
    for window in windows:
        late_enough = from_ms is None or window.start_ms >= from_ms
        if late_enough and (until_ms is None or window.start_ms < until_ms):
            yield window
