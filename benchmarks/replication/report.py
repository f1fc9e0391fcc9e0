"""The figures of three brokers: kept as JSON, shown as tables. It reads and writes files."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from benchmarks.replication.cells import CATCH_UP, GAPS, LATENCY, THROUGHPUT, Figures

OURS, THEIRS, WITH_ZOOKEEPER = "kafkatx", "kafka-4", "kafkatx-zookeeper"
WORDS = {
    OURS: "kafkatx",
    THEIRS: "Apache Kafka 4",
    WITH_ZOOKEEPER: "kafkatx with a ZooKeeper",
}
ROWS = {
    (LATENCY, "ack_p50_ms"): "1,000 messages/s of 1 kB: until acknowledged, median, ms",
    (LATENCY, "ack_p99_ms"): "until acknowledged, p99, ms",
    (LATENCY, "end_p50_ms"): "until a consumer has it, median, ms",
    (LATENCY, "end_p99_ms"): "until a consumer has it, p99, ms",
    (CATCH_UP, "mb_per_s"): "a follower that missed 1 GB: MB/s until it is in sync",
    (CATCH_UP, "quiet_p99_ms"): "until a consumer has it, p99, ms, before",
    (CATCH_UP, "p99_ms"): "until a consumer has it, p99, ms, meanwhile",
}
LEAST_WORST, LEAST_MEDIAN, MOST_CPU, MOST_P99, MOST_BUSY = 1.0, 1.5, 0.5, 1.0, 3.0
GAP_GOALS_S = {GAPS[0]: 1.0, GAPS[1]: 14.0}
"""SIGTERM: 1 s. kill -9: 5 s more than a session's time-out, 9 s."""


@attrs.frozen
class Measured:
    """One system in one round."""

    cells: Mapping[str, Figures]
    stolen_percent: float
    took_s: float


@attrs.define
class Run:
    """All rounds so far.

    :ivar begun: when, in words.
    :ivar rounds: what each round measured, by system.
    :ivar failed: a line for each cell that has no figures in a round.
    """

    machine: Mapping[str, Any]
    begun: str
    rounds: list[dict[str, Measured]] = attrs.field(factory=list)
    failed: list[str] = attrs.field(factory=list)

    def values(self, system: str, cell: str, metric: str) -> list[float]:
        """Return the figure of each round that has it."""
        found = (one[system].cells.get(cell, {}) for one in self.rounds if system in one)
        return [figures[metric] for figures in found if metric in figures]

    def ratios(self, cell: str, metric: str) -> list[float]:
        """Return ours to theirs in each round that has both."""
        found = []
        for one in self.rounds:
            ours, theirs = (
                one[name].cells.get(cell, {}).get(metric) if name in one else None for name in (OURS, THEIRS)
            )
            if ours is not None and theirs:
                found.append(ours / theirs)
        return found


def now_text(now: datetime) -> str:
    """Return a time in words."""
    return f"{now:%Y-%m-%d %H:%M} UTC"


def save(run: Run, path: Path | None) -> None:
    """Write a run, over an earlier part of it."""
    if path is not None:
        other = path.with_name(f"{path.name}.new")
        other.write_text(json.dumps(attrs.asdict(run), indent=1) + "\n")
        other.replace(path)


def save_table(run: Run, path: Path | None) -> None:
    """Write the table beside the figures."""
    if path is not None:
        path.with_suffix(".txt").write_text(table(run))


def load(path: Path) -> Run:
    """Read a run."""
    kept = json.loads(path.read_text())
    kept["rounds"] = [{name: Measured(**one) for name, one in each.items()} for each in kept["rounds"]]
    return Run(**kept)


def spread(values: Sequence[float], digits: int | None = None) -> str:
    """Return ``median (lowest-highest)``; empty if there are no values.

    :param digits: after the point; as many as make three figures if not given.
    """
    if not values:
        return ""
    middle = statistics.median(values)
    if digits is None:
        digits = 0 if middle >= 100 else 1 if middle >= 10 else 2
    if len(values) == 1:
        return f"{middle:,.{digits}f}"
    return f"{middle:,.{digits}f} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def throughput_table(run: Run) -> str:
    """Return messages a second and CPU time, as Markdown."""
    rows = [
        (
            name,
            *(spread(run.values(system, name, "per_s"), 0) for system in (OURS, THEIRS)),
            spread(run.ratios(name, "per_s"), 2),
            *(spread(run.values(system, name, "cpu_s")) for system in (OURS, THEIRS)),
            spread(run.ratios(name, "cpu_s"), 2),
        )
        for name in THROUGHPUT
        if any(run.values(system, name, "per_s") for system in (OURS, THEIRS))
    ]
    head = ("messages/s", WORDS[OURS], WORDS[THEIRS], "ratio", "CPU s per million", "theirs", "ratio")
    return _table(head, rows)


def latency_table(run: Run) -> str:
    """Return latencies and the way back of a follower, as Markdown."""
    rows = [
        (
            words,
            *(spread(run.values(system, *key)) for system in (OURS, THEIRS)),
            spread(run.ratios(*key), 2),
        )
        for key, words in ROWS.items()
        if any(run.values(system, *key) for system in (OURS, THEIRS))
    ]
    return _table(("", WORDS[OURS], WORDS[THEIRS], "ratio"), rows)


def gap_table(run: Run) -> str:
    """Return the longest times without an acknowledgement, in seconds, as Markdown."""
    rows = [
        (name, *(spread([ms / 1000 for ms in run.values(system, name, "gap_ms")], 2) for system in WORDS))
        for name in GAPS
        if any(run.values(system, name, "gap_ms") for system in WORDS)
    ]
    return _table(("longest time without an acknowledgement, s", *WORDS.values()), rows)


HELD, TIE, MISSED = "held", "a tie", "**missed**"


def goals(run: Run) -> list[tuple[str, str, str, str]]:
    """Return what was to be reached: what, the goal, the figure, and whether it is held.

    A median that misses the goal by less than the rounds differ from each other is a tie.
    """
    by_cell = {
        name: statistics.median(ratios) for name in THROUGHPUT if (ratios := run.ratios(name, "per_s"))
    }
    cpu = {name: statistics.median(ratios) for name in THROUGHPUT if (ratios := run.ratios(name, "cpu_s"))}
    found: list[tuple[str, str, str, str]] = []
    if by_cell:
        worst = min(by_cell, key=lambda name: by_cell[name])
        middle = statistics.median(by_cell.values())
        found += [
            (
                "throughput to Apache Kafka's, worst cell",
                f"at least {LEAST_WORST}",
                f"{by_cell[worst]:.2f} ({worst})",
                _word(by_cell[worst] >= LEAST_WORST),
            ),
            (
                "throughput, median of the cells",
                f"at least {LEAST_MEDIAN}",
                f"{middle:.2f}",
                _word(middle >= LEAST_MEDIAN),
            ),
        ]
    if cpu:
        worst = max(cpu, key=lambda name: cpu[name])
        found.append(
            (
                "CPU time of the brokers, worst cell",
                f"at most {MOST_CPU}",
                f"{cpu[worst]:.2f} ({worst}); median {statistics.median(cpu.values()):.2f}",
                _word(cpu[worst] <= MOST_CPU),
            )
        )
    for metric, what in (("ack_p99_ms", "until acknowledged"), ("end_p99_ms", "until a consumer has it")):
        if p99 := run.ratios(LATENCY, metric):
            ratio = statistics.median(p99)
            word = TIE if min(p99) <= MOST_P99 < ratio else _word(ratio <= MOST_P99)
            found.append((f"p99 {what}, to theirs", f"at most {MOST_P99}", spread(p99, 2), word))
    ours = zip(run.values(OURS, CATCH_UP, "p99_ms"), run.values(OURS, CATCH_UP, "quiet_p99_ms"), strict=True)
    if slower := [busy / quiet for busy, quiet in ours]:
        times = statistics.median(slower)
        found.append(
            (
                "p99 while a follower catches up, to that before",
                f"at most {MOST_BUSY}",
                spread(slower),
                _word(times <= MOST_BUSY),
            )
        )
    for name, goal_s in GAP_GOALS_S.items():
        for system in (OURS, WITH_ZOOKEEPER):
            if values := run.values(system, name, "gap_ms"):
                longest_s = max(values) / 1000
                found.append(
                    (
                        f"{name}, {WORDS[system]}: longest gap, s",
                        f"at most {goal_s:g}",
                        f"{longest_s:.2f}",
                        _word(longest_s <= goal_s),
                    )
                )
    return found


def _word(is_held: bool) -> str:
    return HELD if is_held else MISSED


def _goal_table(run: Run) -> str:
    return _table(("what", "goal", "measured", ""), goals(run))


def _about(run: Run) -> str:
    stolen = [one.stolen_percent for each in run.rounds for one in each.values()]
    told = ", ".join(f"{name} {value}" for name, value in run.machine.items())
    return (
        f"{len(run.rounds)} rounds, begun {run.begun}; {told}; up to {max(stolen, default=0):.0f}% of a core "
        f"stolen by the host. Medians of the rounds, smallest and largest in parentheses.\n"
    )


def table(run: Run) -> str:
    """Return all of it as text."""
    parts = [_about(run), throughput_table(run), latency_table(run), gap_table(run), _goal_table(run)]
    if run.failed:
        parts.append("Failed:\n" + "".join(f"*   {line}\n" for line in run.failed))
    return "\n".join(parts)


def page(run: Run) -> str:
    """Return what docs/performance.md includes."""
    return "\n".join(
        [
            _about(run),
            "![Throughput of three brokers](copies-throughput.png)\n",
            throughput_table(run),
            "![Latency of three brokers](copies-latency.png)\n",
            latency_table(run),
            gap_table(run),
            "The goals of this comparison:\n",
            _goal_table(run),
            *(["Without figures:\n", "".join(f"*   {line}\n" for line in run.failed)] if run.failed else []),
        ]
    )
