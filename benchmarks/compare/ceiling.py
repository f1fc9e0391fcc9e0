"""Throughput beside that of a broker that keeps nothing: the limit that the client sets. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from benchmarks.compare.goals import OURS, RIVALS, THROUGHPUT
from benchmarks.compare.results import Figure, Key, ratios

SINK = "sink"
METRIC = "throughput_mb_per_s"
PAIRS = ((OURS, SINK), *((ours, rival) for rival in RIVALS for ours in (OURS, SINK)))


def shown(figures: Mapping[Key, Figure]) -> str:
    """A row for each cell of (a) to (e), and their median; empty if the sink was not measured."""
    columns = [ratios(figures, ours, theirs, METRIC) for ours, theirs in PAIRS]
    measured = [cell for cell in columns[0] if cell[0] in THROUGHPUT]
    if not measured:
        return ""
    rows = [
        (f"{letter}: {cell}", [column.get((letter, cell)) for column in columns]) for letter, cell in measured
    ]
    known = [[column[cell] for cell in measured if cell in column] for column in columns]
    rows.append(("**median**", [statistics.median(found) if found else None for found in known]))
    lines = [
        "| throughput with librdkafka | " + " | ".join(f"{ours} / {theirs}" for ours, theirs in PAIRS) + " |",
        "|---|" + "---|" * len(PAIRS),
    ]
    lines += [f"| {name} | {' | '.join(map(_entry, found))} |" for name, found in rows]
    return "\n".join(lines) + "\n"


def _entry(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"
