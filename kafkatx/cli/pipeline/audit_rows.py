"""The forms in which ``kafkatx audit`` shows windows: a table with bars, lines or JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from kafkatx.cli.output.terminal import interactive, print_rows, print_table, show_json
from kafkatx.names import counted, verb

if TYPE_CHECKING:
    from kafkatx.audit.comparison import Window

BAR_CELLS = 20
COLUMNS = ("topic", "window!", "announced#", "found#", "missing#", "doubled#", "unannounced#", "state")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def print_windows(
    windows: Sequence[Window],
    as_json: bool,
    lateness: bool,
    *,
    by_server: bool = False,
    header: bool = False,
) -> None:
    """Print windows: JSON, a table if stdout is a terminal, or lines with tabs between the fields."""
    if as_json:
        for window in windows:
            show_json(_as_json(window, lateness, by_server), compact=True)
        return
    group = any(window.consumed is not None for window in windows)
    rows = [
        [
            *_row(window),
            *((window.consumed, window.unconsumed, window.reread) if group else ()),
            *((_servers(window),) if by_server else ()),
            *(_lateness(window) if lateness else ()),
        ]
        for window in windows
    ]
    columns = [
        *COLUMNS,
        *(("consumed#", "unconsumed#", "reread#") if group else ()),
        *(("servers",) if by_server else ()),
        *(("announced after#", "loaded after#") if lateness else ()),
    ]
    if not interactive(sys.stdout):
        print_rows(rows, columns if header else ())
    elif rows:
        most = max(max(window.announced, window.found) for window in windows)
        bars = [[*row, bar(window, most)] for row, window in zip(rows, windows, strict=True)]
        print_table([*columns, "|"], bars)


def summary(windows: Sequence[Window], window_ms: int, unreadable: int) -> str:
    """Return one line about all windows."""
    equal = sum(not window.differs for window in windows)
    closed = [window for window in windows if not window.open]
    missing, doubled, unannounced = (
        sum(getattr(window, what) for window in closed) for what in ("missing", "doubled", "unannounced")
    )
    still_open = len(windows) - len(closed)
    text = (
        f"{_many(len(windows), 'window')} of {window_ms / 1000:g} s: {equal} equal, {still_open} still open; "
        f"{_many(missing, 'record')} missing, {doubled} doubled, {unannounced} unannounced"
    )
    if any(window.consumed is not None for window in windows):
        unconsumed, reread = (
            sum(getattr(each, what) for each in closed) for what in ("unconsumed", "reread")
        )
        text += f"; {unconsumed} not consumed, {reread} read again"
    return text + (
        f"; {counted(unreadable, 'record')} of the audit topic {verb(unreadable, 'is', 'are')}"
        f" not announcements"
        if unreadable
        else ""
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def time_text(time_ms: int) -> str:
    """Return a time in the form of ISO 8601, or the number if it is out of the calendar's range."""
    try:
        time = _EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return str(time_ms)
    return time.isoformat(timespec="milliseconds" if time_ms % 1000 else "seconds").replace("+00:00", "Z")


def bar(window: Window, most: int) -> str:
    """Return a bar: ``=`` for found records, ``+`` for copies, ``-`` for missing ones; *most* fills it."""
    ends = [window.distinct, max(window.found, window.announced)]
    distinct, end = (-(-BAR_CELLS * amount // most) if most else 0 for amount in ends)
    if window.missing or window.doubled:
        distinct = min(distinct, end - 1)  # a small difference is visible, too
    return "=" * distinct + ("+" if window.doubled else "-" if window.missing else "=") * (end - distinct)


def _row(window: Window) -> list[object]:
    state = "open" if window.open else "wrong" if window.wrong else "ok"
    numbers = (window.announced, window.found, window.missing, window.doubled, window.unannounced)
    return [window.topic, time_text(window.start_ms), *numbers, state]


def _servers(window: Window) -> str:
    """Return the announced number of each server, the largest first; ``?`` for an unknown server."""
    by_count = sorted(window.servers.items(), key=lambda item: (-item[1], item[0]))
    return " ".join(f"{server or '?'}={count}" for server, count in by_count) or "-"


def _lateness(window: Window) -> list[str]:
    """Return the seconds from the window's end to its last announcement, and to its last loaded record."""
    return [
        "-" if time_ms is None else f"{(time_ms - window.end_ms) / 1000:.1f}"
        for time_ms in (window.sent_ms, window.written_ms)
    ]


def _as_json(window: Window, lateness: bool, by_server: bool) -> dict[str, object]:
    fields: dict[str, object] = {
        "topic": window.topic,
        "window_start": time_text(window.start_ms),
        "window_start_ms": window.start_ms,
        "window_ms": window.window_ms,
        "announced": window.announced,
        "found": window.found,
        "distinct": window.distinct,
        "missing": window.missing,
        "doubled": window.doubled,
        "unannounced": window.unannounced,
        "open": window.open,
    }
    if window.consumed is not None:
        for what in ("consumed", "unconsumed", "reread"):
            fields[what] = getattr(window, what)
    if by_server:
        fields["servers"] = dict(window.servers)
    if lateness:
        for name, time_ms in (("announced", window.sent_ms), ("loaded", window.written_ms)):
            fields[f"{name}_after_ms"] = None if time_ms is None else time_ms - window.end_ms
    return fields
