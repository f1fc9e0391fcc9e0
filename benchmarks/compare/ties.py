"""Where two are close: in how many rounds which of them was ahead. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.compare.goals import OURS, RIVALS, tied
from benchmarks.compare.results import Figure, Key, calm_median, round_ratios

METRIC = "throughput_mb_per_s"
BUSY = "client_busy_percent"


def shown(figures: Mapping[Key, Figure]) -> str:
    """A row for each close cell, and one for all of their rounds together; empty if none is close.

    An entry is: rounds ahead of rounds, the median ratio, the least and the most.
    """
    near = tied(figures)
    cells = [key for key in figures if key.system == OURS and key.metric == METRIC and key[:2] in near]
    if not cells:
        return ""
    lines = [
        "| throughput with librdkafka, rounds ahead | "
        + " | ".join(f"{OURS} / {rival}" for rival in RIVALS)
        + " | client's core busy, % |",
        "|---|" + "---|" * (len(RIVALS) + 1),
    ]
    by_rival = [[round_ratios(figures, key, key._replace(system=rival)) for key in cells] for rival in RIVALS]
    for key, found in zip(cells, zip(*by_rival, strict=True), strict=True):
        busy = key._replace(metric=BUSY)
        percent = f"{calm_median(figures, busy):.0f}" if busy in figures else ""
        lines.append(f"| {key.experiment}: {key.cell} | {' | '.join(map(_entry, found))} | {percent} |")
    every = [_entry([ratio for found in cells_of_one for ratio in found]) for cells_of_one in by_rival]
    lines.append(f"| **all** | {' | '.join(every)} |  |")
    return "\n".join(lines) + "\n"


def _entry(found: Sequence[float]) -> str:
    if not found:
        return ""
    ahead = sum(ratio >= 1 for ratio in found)
    return f"{ahead} of {len(found)}, {statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})"
