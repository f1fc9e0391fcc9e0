"""Pictures of three brokers, like those of ``benchmarks.compare``: throughput, latencies. Writes PNGs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare.plots import COLOURS
from benchmarks.replication.cells import CATCH_UP, LATENCY, THROUGHPUT, bytes_of
from benchmarks.replication.report import OURS, THEIRS, WORDS, Run

NAMES = ("copies-throughput.png", "copies-latency.png")
LATENCIES = {
    "acknowledged,\nmedian": (LATENCY, "ack_p50_ms"),
    "acknowledged,\np99": (LATENCY, "ack_p99_ms"),
    "consumed,\nmedian": (LATENCY, "end_p50_ms"),
    "consumed,\np99": (LATENCY, "end_p99_ms"),
    "consumed, p99,\nduring catch-up": (CATCH_UP, "p99_ms"),
}


def draw(run: Run, folder: Path) -> None:
    """Write the pictures into a folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    picture, panels = pyplot.subplots(1, 2, figsize=(11, 4), dpi=110)
    for axes, single in zip(panels, (False, True), strict=True):
        chosen = [cell for cell in THROUGHPUT.values() if cell.single == single]
        # Batches differ by their bytes, single messages by their number.
        scale = {cell.name: 1e3 if single else 1e6 / cell.size for cell in chosen}
        values = [
            [
                [value / scale[cell.name] for value in run.values(system, cell.name, "per_s")]
                for cell in chosen
            ]
            for system in (OURS, THEIRS)
        ]
        labels = [f"{bytes_of(cell.size)}\n{cell.producers} prod." for cell in chosen]
        _bars(axes, labels, values, "1,000 messages/s" if single else "MB/s")
        axes.set_title("single messages" if single else "batches as the client makes them", fontsize=9)
        axes.set_ylim(bottom=0)
    picture.suptitle("Three brokers, three copies, acks=all, min.insync.replicas=2", fontsize=10)
    _save(picture, folder / NAMES[0])
    picture, axes = pyplot.subplots(figsize=(8, 4), dpi=110)
    values = [[run.values(system, *key) for key in LATENCIES.values()] for system in (OURS, THEIRS)]
    _bars(axes, list(LATENCIES), values, "ms")
    axes.set_yscale("log")
    axes.set_title("Three copies, acks=all: 1,000 messages of 1 kB a second", fontsize=10)
    _save(picture, folder / NAMES[1])


def _save(picture: Any, path: Path) -> None:
    from matplotlib import pyplot

    picture.tight_layout()
    picture.savefig(path)
    pyplot.close(picture)


def _bars(axes: Any, labels: Sequence[str], values: Sequence[Sequence[Sequence[float]]], unit: str) -> None:
    """Draw bars of medians, with least and most as bars of error; a cell without figures has none.

    :param values: of each system and each label those of the rounds.
    """
    width = 0.8 / len(values)
    for place, (system, found) in enumerate(zip((OURS, THEIRS), values, strict=True)):
        known = [(at, rounds) for at, rounds in enumerate(found) if rounds]
        medians = [statistics.median(rounds) for _, rounds in known]
        errors = [
            [middle - min(rounds) for middle, (_, rounds) in zip(medians, known, strict=True)],
            [max(rounds) - middle for middle, (_, rounds) in zip(medians, known, strict=True)],
        ]
        shifted = [at + (place - (len(values) - 1) / 2) * width for at, _ in known]
        colour = COLOURS[system]
        axes.bar(shifted, medians, width, yerr=errors, capsize=2, color=colour, label=WORDS[system])
    axes.set_xticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylabel(unit)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=8)
