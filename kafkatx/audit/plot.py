"""A picture of an audit: what was announced and what was found, window by window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from kafkatx.audit.comparison import Window
from kafkatx.errors import KafkaTXError

MOST_TOPICS = 12
_FOUND, _OPEN, _ANNOUNCED, _MISSING, _DOUBLED = "#9ec5e8", "#d9d9d9", "#1f3a5f", "#d62728", "#ff7f0e"


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LATEST_MS = 253_370_764_800_000
"""Year 9999: times that are none, and those of who counts in microseconds, have no place in a calendar."""


class NoPlot(KafkaTXError):
    """There is nothing to draw, or nothing to draw with."""


def plot(windows: Sequence[Window], path: str, found_where: str) -> None:
    """Draw a panel for each topic, in the format that the end of *path*'s name says: ``.png``, ``.svg``.

    :param found_where: what the records were found in, for the legend.
    :raises NoPlot: there are no windows, too many topics, or ``kafkatx[plot]`` is not installed.
    :raises OSError: the file cannot be written.
    """
    try:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NoPlot("to plot matplotlib is needed: pip install 'kafkatx[plot]'") from error
    windows = [window for window in windows if 0 <= window.start_ms < _LATEST_MS]
    topics = list(dict.fromkeys(window.topic for window in windows))
    if not topics:
        raise NoPlot("there are no windows to plot")
    if len(topics) > MOST_TOPICS:
        raise NoPlot(
            f"{len(topics)} topics are too many for one plot: name at most {MOST_TOPICS} with --topic"
        )
    figure = Figure(figsize=(10, 1.2 + 2.8 * len(topics)), layout="constrained")
    panels = figure.subplots(len(topics), 1, sharex=True, squeeze=False)[:, 0]
    for topic, panel in zip(topics, panels, strict=True):
        _draw(panel, topic, [window for window in windows if window.topic == topic], found_where)
    locator = AutoDateLocator()
    panels[-1].xaxis.set_major_locator(locator)
    panels[-1].xaxis.set_major_formatter(ConciseDateFormatter(locator))
    panels[-1].set_xlabel("window (UTC)")
    try:
        figure.savefig(path, dpi=100)
    except ValueError as error:
        raise NoPlot(f"{path}: {error}") from error


def _draw(panel: Any, topic: str, windows: Sequence[Window], found_where: str) -> None:
    """One topic: bars of what was found, a line of what was announced, marks where they differ."""
    closed = [window for window in windows if not window.open]
    distinct = [window.distinct for window in closed]
    _bars(panel, closed, distinct, 0, _FOUND, f"found in {found_where}")
    _bars(panel, [window for window in windows if window.open], None, 0, _OPEN, "found, still open")
    _bars(panel, closed, [window.doubled for window in closed], distinct, _DOUBLED)
    _bars(panel, closed, [window.missing for window in closed], distinct, _MISSING)
    panel.hlines(
        [window.announced for window in windows],
        [_time(window.start_ms) for window in windows],
        [_time(window.end_ms) for window in windows],
        color=_ANNOUNCED,
        linewidth=1.5,
        label="announced by producers",
    )
    _mark(panel, closed, "missing", "v", _MISSING)
    _mark(panel, closed, "doubled", "^", _DOUBLED)
    panel.margins(y=0.15)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("records")
    panel.set_title(topic, loc="left")
    panel.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def _bars(
    panel: Any, windows: Sequence[Window], heights: Any, bottom: Any, colour: str, label: str | None = None
) -> None:
    if not windows:
        return
    width = timedelta(milliseconds=windows[0].window_ms)
    starts = [_time(window.start_ms) for window in windows]
    if heights is None:
        heights = [window.found for window in windows]
    panel.bar(starts, heights, width, bottom, align="edge", color=colour, label=label)


def _mark(panel: Any, windows: Sequence[Window], what: str, marker: str, colour: str) -> None:
    """A mark above each window that lacks or has too much, which a bar of few among many would not show."""
    marked = [window for window in windows if getattr(window, what)]
    if marked:
        total = sum(getattr(window, what) for window in marked)
        times = [_time((window.start_ms + window.end_ms) // 2) for window in marked]
        heights = [max(window.announced, window.found) for window in marked]
        label = f"{what}: {total}"
        panel.scatter(times, heights, 60, colour, marker, edgecolors="white", zorder=3, label=label)


def _time(time_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=time_ms)
