"""The comparison of announced and found records, by topic and window. Pure.

===============  ========================================================================================
``announced``    records that producers say they wrote
``found``        records found: every copy of every record
``distinct``     different records: one is identified by its topic, partition and offset
``missing``      ``announced - distinct``, if above 0: records that were not found
``doubled``      ``found - distinct``: superfluous copies
``unannounced``  ``distinct - announced``, if above 0: a producer has no audit or has ended before its last
                 announcement, or a retry put a record into the topic twice
``consumed``     records that the consumers of a group say they returned
``unconsumed``   ``announced - consumed``, if above 0: not consumed yet, lost, or not announced by a consumer
                 that crashed
``reread``       ``consumed - max(announced, distinct)``, if above 0: records that were returned again
===============  ========================================================================================

The last three exist if a group is asked for. Counts cannot tell which records are missing. A missing record
hides an unannounced one of the same window, and one that was not consumed hides one that was returned twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

import attrs

from kafkatx.clientcore.audit.counts import SETTLE_MS, Announcement, common_window_ms, window_start_ms
from kafkatx.clientcore.audit.ranges import RangeAnnouncement

Key = tuple[str, int]
"""A topic, and the start of a window in ms since the epoch."""

_Sums: TypeAlias = "dict[tuple[str, int, int, str], tuple[int, int]]"
"""By topic, start and length of the window, server: the count, and the time of the last announcement."""


@attrs.define
class Count:
    """The records found in a window. ``written_ms``: the time of the last commit; None if it is not known."""

    found: int = 0
    distinct: int = 0
    written_ms: int | None = None


@attrs.frozen
class Window:
    """One topic's window; times are in ms since the epoch.

    :ivar open: records or announcements may still arrive, so the window is not judged.
    :ivar sent_ms: the time of its last announcement, if there was one.
    :ivar written_ms: the time of the last commit of its records to the table, if it is known.
    :ivar consumed: the number that the consumers of a group announced; None without a group.
    :ivar servers: the announced number of each server; empty if not known.
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
        """The end, exclusive."""
        return self.start_ms + self.window_ms

    @property
    def missing(self) -> int:
        """The number of records that were not found."""
        return max(self.announced - self.distinct, 0)

    @property
    def doubled(self) -> int:
        """The number of superfluous copies."""
        return self.found - self.distinct

    @property
    def unannounced(self) -> int:
        """The number of records that were found and not announced."""
        return max(self.distinct - self.announced, 0)

    @property
    def unconsumed(self) -> int:
        """The number of records that the group has not announced."""
        return 0 if self.consumed is None else max(self.announced - self.consumed, 0)

    @property
    def reread(self) -> int:
        """The number of records that the group got once too often."""
        return 0 if self.consumed is None else max(self.consumed - max(self.announced, self.distinct), 0)

    @property
    def wrong(self) -> bool:
        """True if something is missing or doubled, in the topic or with the group."""
        return not self.open and bool(self.missing or self.doubled or self.unconsumed or self.reread)

    @property
    def differs(self) -> bool:
        """True unless the window is closed and all its numbers agree."""
        return self.open or self.wrong or bool(self.unannounced)


class Announced:
    """The sum of all announcements: of producers, and of the consumers of a group.

    :ivar group: the group; None counts no consumers.
    :ivar unreadable: the number of records of the audit topic that are not announcements.
    """

    def __init__(self, group: str | None = None) -> None:
        self.group = group
        self.unreadable = 0
        self._seen: set[tuple[str | None, str, int]] = set()
        self._sums: _Sums = {}
        self._consumed: _Sums = {}

    def add(self, value: bytes | None) -> None:
        """Add a record of the audit topic; one that was sent twice counts once."""
        try:
            event = Announcement.decode(value)
        except ValueError:
            self.unreadable += not _is_range(value)
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
        """Return the topics that producers announced."""
        return {topic for topic, *_ in self._sums}

    def window_ms(self, topics: Collection[str], asked_ms: int | None = None) -> int | None:
        """Return the length of the windows that these topics need, as :func:`common_window_ms` does."""
        lengths = {length for topic, _, length, _ in (*self._sums, *self._consumed) if topic in topics}
        return common_window_ms(lengths, asked_ms)

    def sums(self, topics: Collection[str], window_ms: int) -> dict[Key, tuple[int, int]]:
        """Return the producers' count in each window, and the time of its last announcement."""
        return _by_window(self._sums, topics, window_ms)

    def consumed(self, topics: Collection[str], window_ms: int) -> dict[Key, tuple[int, int]] | None:
        """Return the same of the group's consumers; None without a group."""
        return None if self.group is None else _by_window(self._consumed, topics, window_ms)

    def servers(self, topics: Collection[str], window_ms: int) -> dict[Key, dict[str, int]]:
        """Return the producers' counts in each window, by server."""
        found: dict[Key, dict[str, int]] = {}
        for (topic, start_ms, _, server), (count, _) in self._sums.items():
            if topic in topics:
                by_server = found.setdefault((topic, window_start_ms(start_ms, window_ms)), {})
                by_server[server] = by_server.get(server, 0) + count
        return found


def _is_range(value: bytes | None) -> bool:
    """Return True if this is an announcement of another tier: those are not compared here."""
    try:
        RangeAnnouncement.decode(value)
    except ValueError:
        return False
    return True


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
    """Yield each window that was announced, found or consumed, by topic and time.

    A window is open until *settle_ms* after the last possible announcement, which is a window's length after
    its end, and until *settle_ms* after the last one that has arrived.

    :param consumed: the counts of a group's consumers; None without a group.
    :param servers: as :meth:`Announced.servers` returns them.
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
    """Yield the windows that begin at *from_ms* or later, and before *until_ms*."""
    for window in windows:
        late_enough = from_ms is None or window.start_ms >= from_ms
        if late_enough and (until_ms is None or window.start_ms < until_ms):
            yield window
