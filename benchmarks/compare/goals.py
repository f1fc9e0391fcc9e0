"""The goals of kafkatx: limits, measured figures, and the cells that miss. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.compare.results import Figure, Key, calm_median, ratios, within_spread

OURS, FLOOR = "kafkatx", "floor"
RIVALS = ("kafka-4", "kafka-3.9")
THROUGHPUT = ("a", "b", "c", "d", "e")
GROWING = {"partitions": "partitions", "GB": "gigabytes in the log", "connections": "connections"}
FLAT = 0.9

Figures = Mapping[Key, Figure]


class Goal(NamedTuple):
    """A line of the table.

    :ivar measured: the number that the goal is about.
    :ivar where: which cell that is, if it is one.
    :ivar missing: the cells that miss, with their numbers.
    :ivar tied: the cells below the goal by less than the spread of their rounds: they hold.
    """

    what: str
    goal: str
    measured: float
    where: str
    held: bool
    missing: Sequence[str] = ()
    tied: Sequence[str] = ()


def goals(figures: Figures) -> list[Goal]:
    """All goals of which something was measured; those that are missed come first."""
    found = [*_against_kafka(figures), *_against_floor(figures), *_standing(figures), *_growth(figures)]
    return sorted(found, key=lambda goal: goal.held)


def shown(figures: Figures) -> str:
    """The goals as a table; empty if nothing of them was measured."""
    lines = ["| what | goal | measured | |", "|---|---|---|---|"]
    for goal in goals(figures):
        where = f" ({goal.where})" if goal.where else ""
        verdict = "held" if goal.held else "**missed**"
        missing = f": {', '.join(goal.missing)}" if goal.missing else ""
        tied = f"; ties: {', '.join(goal.tied)}" if goal.tied else ""
        lines.append(f"| {goal.what} | {goal.goal} | {goal.measured:.2f}{where} | {verdict}{missing}{tied} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def _found(figures: Figures, rival: str, metric: str, letters: Sequence[str]) -> dict[str, float]:
    return {
        f"{letter}: {cell}": ratio
        for (letter, cell), ratio in ratios(figures, OURS, rival, metric).items()
        if letter in letters
    }


def _ties(figures: Figures, rival: str, metric: str) -> set[str]:
    """Return the cells in which the rounds do not tell who is ahead: a tie holds a goal of 1.0."""
    return {
        f"{key.experiment}: {key.cell}"
        for key in figures
        if key.system == OURS and key.metric == metric
        if within_spread(figures, key, key._replace(system=rival))
    }


def _worst(
    what: str,
    goal: str,
    found: Mapping[str, float],
    holds: Callable[[float], bool],
    higher_is_better: bool,
    ties: Container[str] = (),
) -> Iterator[Goal]:
    """A goal that each cell has to reach.

    :param ties: cells whose difference lies within the spread of the rounds: they hold.
    """
    if found:
        at = (min if higher_is_better else max)(found, key=lambda cell: found[cell])
        below = {cell: f"{cell} {value:.2f}" for cell, value in found.items() if not holds(value)}
        missing = [text for cell, text in below.items() if cell not in ties]
        tied = [text for cell, text in below.items() if cell in ties]
        yield Goal(what, goal, found[at], at, not missing, missing, tied)


def _median(
    what: str, goal: str, found: Mapping[str, float], holds: Callable[[float], bool]
) -> Iterator[Goal]:
    """A goal that the cells have to reach in the median."""
    if found:
        median = statistics.median(found.values())
        yield Goal(what, goal, median, f"{len(found)} cells", holds(median))


def _against_kafka(figures: Figures) -> Iterator[Goal]:
    for rival in RIVALS:
        for metric, client in (("throughput_mb_per_s", "librdkafka"), ("replayed_mb_per_s", "replayed")):
            what, faster = f"throughput ({client}) / {rival}", _found(figures, rival, metric, THROUGHPUT)
            ties = _ties(figures, rival, metric)
            yield from _worst(f"{what}, worst cell", "at least 1.0", faster, lambda r: r >= 1, True, ties)
            yield from _median(f"{what}, median", "at least 1.5", faster, lambda r: r >= 1.5)
        for metric, per in (
            ("broker_cpu_s_per_gb", "GB"),
            ("broker_cpu_s_per_million_requests", "million requests"),
        ):
            cost = _found(figures, rival, metric, THROUGHPUT)
            yield from _median(
                f"CPU seconds per {per} / {rival}, median", "at most 0.5", cost, lambda r: r <= 0.5
            )
        late = _found(figures, rival, "p99_ms", ("f",))
        yield from _worst(f"p99 / {rival}", "at most 1.0", late, lambda r: r <= 1, False)


def _against_floor(figures: Figures) -> Iterator[Goal]:
    for what, letter, cell, most in (
        ("batches of 50", "a", "50", 1.5),
        ("single messages", "a", "1", 2.5),
        ("fetch", "b", "200 kB", 1.5),
    ):
        ratio = ratios(figures, OURS, FLOOR, "broker_cpu_s_per_gb").get((letter, cell))
        if ratio is not None:
            yield Goal(f"CPU / floor, {what}", f"at most {most}", ratio, "", ratio <= most)


def _standing(figures: Figures) -> Iterator[Goal]:
    for what, metric, most, goal in (
        ("start to the first produce, s", "first_produce_s", 0.5, "under 0.5"),
        ("RSS at rest, MiB", "rest_rss_mib", 60.0, "under 60"),
        ("RSS under load, MiB", "peak_rss_mib", 150.0, "under 150"),
    ):
        cells = {
            f"{key.experiment}: {key.cell}": calm_median(figures, key)
            for key in figures
            if key.system == OURS and key.metric == metric
        }
        yield from _worst(what, goal, cells, lambda value, most=most: value < most, False)  # type: ignore[misc]


def _growth(figures: Figures) -> Iterator[Goal]:
    """Yield the goals about growth: the share of the small case's throughput that each cell keeps."""
    for kind, what in GROWING.items():
        found = {
            f"i: {key.cell}": calm_median(figures, key)
            for key in figures
            if key.experiment == "i"
            and key.system == OURS
            and key.metric == "kept_throughput"
            and key.cell.endswith(kind)
        }
        yield from _worst(f"throughput with more {what}", "at least 0.9", found, lambda r: r >= FLAT, True)
