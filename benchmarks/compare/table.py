"""The figures as Markdown, for people."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.compare.experiments.place import Experiment
from benchmarks.compare.results import Figure, Key, cells, ratios, systems

OURS = "kafkatx"
RIVALS = ("kafka-4", "kafka-3.9")
WORDS = {
    "throughput_mb_per_s": "MB/s",
    "records_per_s": "messages/s",
    "broker_cpu_s_per_gb": "broker's CPU seconds per GB",
    "broker_cpu_s_per_million_requests": "broker's CPU seconds per million requests",
    "p50_ms": "p50, ms",
    "p99_ms": "p99, ms",
    "p999_ms": "p99.9, ms",
    "start_s": "start to first reply, s",
    "first_produce_s": "start to first message, s",
    "rest_rss_mib": "memory at rest, MiB",
    "peak_rss_mib": "most memory under load, MiB",
    "rss_mib": "memory, MiB",
}


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(figures: Mapping[Key, Figure], experiment: Experiment, metric: str) -> str:
    """A row for each cell, a column for each system: the median, and least to most of several rounds."""
    names = systems(figures, experiment.letter)
    lines = [
        f"| {WORDS.get(metric, metric)} | {' | '.join(names)} |",
        "|---|" + "---|" * len(names),
    ]
    for cell in cells(figures, experiment.letter):
        found = [figures.get(Key(experiment.letter, cell, name, metric)) for name in names]
        if any(found):
            lines.append(f"| {cell} | {' | '.join(map(_entry, found))} |")
    return "\n".join(lines) + "\n"


def _entry(figure: Figure | None) -> str:
    if figure is None:
        return ""
    spread = f" ({number(figure.min)}-{number(figure.max)})" if figure.rounds > 1 else ""
    return number(figure.median) + spread


def section(figures: Mapping[Key, Figure], experiment: Experiment) -> str:
    """An experiment: its plot, and its tables."""
    parts = [f"### ({experiment.letter}) {experiment.title}\n", f"Source: {experiment.source}.\n"]
    parts.append(f"![{experiment.title}]({experiment.letter}.png)\n")
    parts += [table(figures, experiment, metric) for metric in experiment.metrics]
    return "\n".join(parts)


def goals(figures: Mapping[Key, Figure], throughput: Sequence[str] = ("a", "b", "c", "d", "e")) -> str:
    """How we stand to Apache Kafka: the median of the cells' ratios, and the worst cell."""
    lines = ["| kafkatx / | of | cells | median | worst |", "|---|---|---|---|---|"]
    for rival in RIVALS:
        for metric, letters, better in (
            ("throughput_mb_per_s", throughput, min),
            ("broker_cpu_s_per_gb", throughput, max),
            ("broker_cpu_s_per_million_requests", throughput, max),
            ("p99_ms", ("f",), max),
        ):
            found = {
                at: ratio for at, ratio in ratios(figures, OURS, rival, metric).items() if at[0] in letters
            }
            if found:
                worst = better(found, key=lambda at: found[at])
                lines.append(
                    f"| {rival} | {WORDS[metric]} | {len(found)} | {statistics.median(found.values()):.2f}"
                    f" | {found[worst]:.2f} ({worst[0]}: {worst[1]}) |"
                )
    return "\n".join(lines) + "\n"
