"""A picture of an audit: announced and found records, window by window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Protocol

from kafkatx.audit.comparison import Window
from kafkatx.errors import KafkaTXError

MOST_TOPICS = 12
_FOUND, _OPEN, _ANNOUNCED, _MISSING, _DOUBLED = "#9ec5e8", "#d9d9d9", "#1f3a5f", "#d62728", "#ff7f0e"


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LATEST_MS = 253_370_764_800_000
"""Year 9999. Later times, of producers that write microseconds say, cannot be drawn."""


class _Panel(Protocol):
    """The methods of matplotlib's Axes that are used. Its own types do not admit times."""

    def bar(self, *arguments: object, **options: object) -> object: ...
    def hlines(self, *arguments: object, **options: object) -> object: ...
    def scatter(self, *arguments: object, **options: object) -> object: ...
    def margins(self, *, y: float) -> object: ...
    def set_ylim(self, *, bottom: float) -> object: ...
    def set_ylabel(self, ylabel: str) -> object: ...
    def set_title(self, label: str, *, loc: str) -> object: ...
    def legend(self, **options: object) -> object: ...


class NoPlot(KafkaTXError):
    """The picture cannot be drawn; the message says why."""


def plot(windows: Sequence[Window], path: str, found_where: str) -> None:
    """Draw a panel for each topic, in the format of *path*'s ending: ``.png``, ``.svg``, ``.pdf``.

    :param found_where: the place of the found records, for the legend.
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


def _draw(panel: _Panel, topic: str, windows: Sequence[Window], found_where: str) -> None:
    """Draw a topic: bars for found records, lines for announced ones, marks where they differ."""
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
    panel: _Panel,
    windows: Sequence[Window],
    heights: Sequence[int] | None,
    bottom: Sequence[int] | int,
    colour: str,
    label: str | None = None,
) -> None:
    if not windows:
        return
    width = timedelta(milliseconds=windows[0].window_ms)
    starts = [_time(window.start_ms) for window in windows]
    if heights is None:
        heights = [window.found for window in windows]
    panel.bar(starts, heights, width, bottom, align="edge", color=colour, label=label)


def _mark(panel: _Panel, windows: Sequence[Window], what: str, marker: str, colour: str) -> None:
    """Draw a mark above each window that differs: a bar of few records among many could not be seen."""
    marked = [window for window in windows if getattr(window, what)]
    if marked:
        total = sum(getattr(window, what) for window in marked)
        times = [_time((window.start_ms + window.end_ms) // 2) for window in marked]
        heights = [max(window.announced, window.found) for window in marked]
        label = f"{what}: {total}"
        panel.scatter(times, heights, 60, colour, marker, edgecolors="white", zorder=3, label=label)


def _time(time_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=time_ms)
