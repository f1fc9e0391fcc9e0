"""A picture of the facts: lines per hour."""

from __future__ import annotations

import os

from kafkatx.demo.facts import Facts

FILE = "_lines-per-hour.png"
"""In the directory with the Parquet files: Spark takes no notice of names that begin with ``_``."""

HOUR_DAYS = 1 / 24
"""matplotlib counts time in days."""

COLOUR = "#2f6fab"


def plot(facts: Facts, title: str, directory: str) -> str | None:
    """Draw a bar for each hour; return the picture's path.

    None: no line has a time, or matplotlib (``kafkatx[plot]``) is not installed.
    """
    if not facts.per_hour:
        return None
    try:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=(10, 4), layout="constrained")
    panel = figure.subplots()
    starts = [date2num(hour) for hour, _ in facts.per_hour]
    panel.bar(starts, [lines for _, lines in facts.per_hour], HOUR_DAYS, align="edge", color=COLOUR)
    locator = AutoDateLocator()
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    panel.set_title(title, loc="left", parse_math=False)
    panel.set_ylabel("lines per hour")
    panel.set_xlabel("UTC")
    panel.spines[["top", "right"]].set_visible(False)
    path = os.path.join(directory, FILE)
    figure.savefig(path, dpi=100)
    return path
