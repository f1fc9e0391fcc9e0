"""The figures as Markdown, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.compare import ceiling, goals
from benchmarks.compare.experiments.place import Experiment
from benchmarks.compare.results import Figure, Key, cells, ratio, systems

OURS = "kafkatx"
APPENDIX = "<!-- appendix -->"
"""Parts the goals, which ``docs/performance.md`` has, from the rest, which its appendix has."""
# the paper's section 5: Kafka's messages a second by theirs, for a producer and for a consumer
PAPERS_RIVALS = {
    "rabbitmq": ("at least 2", "at least 2", "more than 4"),
    "activemq": ("orders of magnitude", "orders of magnitude", "more than 4"),
}
# our cell and theirs: their clients send message by message
PAPERS_CELLS = {
    "(a) 1 a batch": ("a", "1", "1"),
    "(a) 50 a batch, theirs 1": ("a", "50", "1"),
    "(b) consumer": ("b", "200 kB", "200 kB"),
}
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
    "kept_throughput": "throughput by that of one partition, an empty log, no other connections",
    "first_records_per_s": "messages/s, the first 100 of each partition",
    "client_busy_percent": "client's core busy, %",
    "replayed_mb_per_s": "MB/s, of requests made beforehand",
    "replayed_broker_cpu_s_per_gb": "broker's CPU seconds per GB, of requests made beforehand",
    "replayed_client_busy_percent": "client's core busy, %, sending requests made beforehand",
    "installed_mib": "installed, MiB",
    "runtime_mib": "runtime below it (Python, JDK), MiB",
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


def page(
    figures: Mapping[Key, Figure],
    done: Sequence[Experiment],
    machine: Mapping[str, Any],
    notes: Sequence[str],
) -> str:
    """All of it, to be read: the goals first."""
    parts = [f"## The goals\n\n{goals.shown(figures)}\n{APPENDIX}\n"]
    parts += [f"## {title}\n\n{text}" for title, text in _summary(figures) if text]
    parts.append("## What was measured\n")
    memory = f"{machine['memory_gib']} GiB"
    parts.append(f"{machine['processor']}, {machine['cores']} cores, {memory}, {machine['system']}.\n")
    parts += [f"*   **{name}** {told}." for name, told in machine["systems"].items()]
    parts += [f"*   {note}" for note in notes]
    return "\n".join([*parts, "", *(section(figures, experiment) for experiment in done)])


def _summary(figures: Mapping[Key, Figure]) -> list[tuple[str, str]]:
    return [
        ("What the client allows", ceiling.shown(figures)),
        ("The paper's order", papers_order(figures)),
    ]


def section(figures: Mapping[Key, Figure], experiment: Experiment) -> str:
    """An experiment: its plot, and its tables."""
    parts = [f"## ({experiment.letter}) {experiment.title}\n", f"Source: {experiment.source}.\n"]
    parts.append(f"![{experiment.title}]({experiment.letter}.png)\n")
    parts += [table(figures, experiment, metric) for metric in experiment.metrics]
    return "\n".join(parts)


def papers_order(figures: Mapping[Key, Figure]) -> str:
    """Return the table about the paper's rivals in its figures 4 and 5; empty if none was measured."""
    lines = [f"| messages/s, ours by theirs | {' | '.join(PAPERS_CELLS)} |"]
    lines.append("|---|" + "---|" * len(PAPERS_CELLS))
    for rival in PAPERS_RIVALS:
        shown = [_by(figures, rival, *cell) for cell in PAPERS_CELLS.values()]
        if any(shown):
            lines.append(f"| kafkatx / {rival} | {' | '.join(shown)} |")
            lines.append(f"| the paper's Kafka / {rival} | {' | '.join(PAPERS_RIVALS[rival])} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def _by(figures: Mapping[Key, Figure], rival: str, experiment: str, ours: str, theirs: str) -> str:
    """Our messages a second by a rival's; empty if one of the two is not known."""
    found = ratio(
        figures,
        Key(experiment, ours, OURS, "records_per_s"),
        Key(experiment, theirs, rival, "records_per_s"),
    )
    return "" if found is None else f"{found:.2f}"
