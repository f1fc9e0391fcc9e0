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
    """Return the tiers from left to right, with their sums below; several readers are below each other."""
    sums = [str(sum(window.counts[step.tier] for window in windows)) for step in steps]
    readers = [number for number, step in enumerate(steps) if step.tier.kind in (CONSUMER, INGEST)]
    row = [number for number in range(len(steps)) if number not in readers[1:]]
    names, numbers, width = "", "", 0
    for number in row:
        arrow = ARROW if names else ""
        width = cells(names) if number in readers else 0
        name, total = str(steps[number].tier), sums[number]
        wide = max(cells(name), len(total))
        names += arrow + name + " " * (wide - cells(name))
        numbers += " " * len(arrow) + total.rjust(wide)
    lines = [topic, f"  {names}".rstrip(), f"  {numbers}".rstrip()]
    for number in readers[1:]:
        name = str(steps[number].tier)
        wide = max(cells(name), len(sums[number]))
        lines.append("  " + " " * width + ARROW + name)
        lines.append("  " + " " * (width + len(ARROW)) + sums[number].rjust(wide))
    return lines


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
