"""The forms in which ``kafkatx audit --way`` shows a topic: a drawing with a table, lines or JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkatx.cli.output.table import cells
from kafkatx.cli.output.terminal import interactive, print_rows, print_table, show, show_json
from kafkatx.cli.pipeline.audit_rows import time_text
from kafkatx.clientcore.audit.tiers import CONSUMER, INGEST

if TYPE_CHECKING:
    from kafkatx.audit.way import Fault, Step, WayWindow
    from kafkatx.clientcore.audit.tiers import Tier

COLUMNS = ("topic", "window!", "tier", "count#", "expected#", "missing#", "more#", "state")
ARROW = " --> "


def print_way(
    topic: str, steps: Sequence[Step], windows: Sequence[WayWindow], shown: Sequence[WayWindow], as_json: bool
) -> None:
    """Print one topic: JSON, at a terminal a drawing and a table, else a line for each window and tier.

    :param windows: all windows: the drawing has their sums.
    :param shown: the windows to print.
    """
    if as_json:
        for window in shown:
            show_json(as_object(window, steps), compact=True)
    elif interactive(sys.stdout):
        for line in drawing(topic, steps, windows):
            show(line)
        if shown:
            columns = ["window!", *(f"{step.tier}#" for step in steps), "state"]
            print_table(columns, [_row(window, steps) for window in shown])
        show("")
    else:
        print_rows(row for window in shown for row in _lines(window, steps))


def drawing(topic: str, steps: Sequence[Step], windows: Sequence[WayWindow]) -> list[str]:
    """Return the tiers from left to right, with their sums below.

    The first reader of the last brokers ends the row. All others stand below, each at the end of the tier
    that it reads from.
    """
    sums = {step.tier: str(sum(window.counts[step.tier] for window in windows)) for step in steps}
    ends: dict[Tier, int] = {}
    names, numbers = "", ""
    readers = [step for step in steps if step.tier.kind in (CONSUMER, INGEST)]
    row = [step for step in steps if step not in readers]
    last = row[-1:]
    ending = next((step for step in readers if not last or last[0].tier in step.feeders), None)
    for step in [*row, ending] if ending else row:
        arrow = ARROW if names else ""
        name, total = _column(step.tier, sums[step.tier])
        names += arrow + name
        numbers += " " * len(arrow) + total
        ends[step.tier] = cells(names)
    lines = [topic, f"  {names}".rstrip(), f"  {numbers}".rstrip()]
    below = [
        (max((ends[tier] for tier in step.feeders), default=0), step) for step in readers if step != ending
    ]
    for end, step in sorted(below, key=lambda one: -one[0]):
        name, total = _column(step.tier, sums[step.tier])
        lines.append(f"  {' ' * end}{ARROW}{name}".rstrip())
        lines.append(f"  {' ' * (end + len(ARROW))}{total}".rstrip())
    return lines


def _column(tier: Tier, total: str) -> tuple[str, str]:
    """Return a tier's name and its sum, equally wide."""
    name = str(tier)
    wide = max(cells(name), len(total))
    return name + " " * (wide - cells(name)), total.rjust(wide)


def state(window: WayWindow) -> str:
    """Return the state of a window in one word."""
    return "open" if window.open else "wrong" if window.wrong else "more" if window.faults else "ok"


def _faults(window: WayWindow) -> dict[Tier, Fault]:
    return {fault.tier: fault for fault in window.faults}


def _row(window: WayWindow, steps: Sequence[Step]) -> list[object]:
    faults = _faults(window)
    numbers = []
    for step in steps:
        fault = faults.get(step.tier)
        sign = "" if fault is None else f" ({fault.count - fault.expected:+d})"
        numbers.append(f"{window.counts[step.tier]}{sign}")
    return [time_text(window.start_ms), *numbers, state(window)]


def _lines(window: WayWindow, steps: Sequence[Step]) -> list[list[object]]:
    faults = _faults(window)
    lines: list[list[object]] = []
    for step in steps:
        fault, count = faults.get(step.tier), window.counts[step.tier]
        expected: object = "-" if not step.feeders else count if fault is None else fault.expected
        differences = (0, 0) if fault is None else (fault.missing, fault.more)
        start = time_text(window.start_ms)
        lines.append([window.topic, start, step.tier, count, expected, *differences, state(window)])
    return lines


def as_object(window: WayWindow, steps: Sequence[Step]) -> dict[str, object]:
    """Return a window as an object of JSON."""
    return {
        "topic": window.topic,
        "window_start": time_text(window.start_ms),
        "window_start_ms": window.start_ms,
        "window_ms": window.window_ms,
        "state": state(window),
        "tiers": {str(step.tier): window.counts[step.tier] for step in steps},
        "faults": [
            {
                "tier": str(fault.tier),
                "expected": fault.expected,
                "count": fault.count,
                "missing": fault.missing,
                "more": fault.more,
            }
            for fault in window.faults
        ],
    }
