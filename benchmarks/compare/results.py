"""Measured figures: kept as JSON, with medians and the spread. Pure."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

STOLEN = "stolen_percent"
"""Of a core's time: what a virtual machine's host gave to others while it had work (proc(5): steal)."""
CALM_PERCENT = 10.0


class Key(NamedTuple):
    """The identity of a figure."""

    experiment: str
    cell: str
    system: str
    metric: str


class Figure(NamedTuple):
    """A metric over the rounds.

    :ivar values: each round's, in order; None where it failed. Empty: they were not kept.
    """

    median: float
    min: float
    max: float
    rounds: int
    values: tuple[float | None, ...] = ()

    @classmethod
    def of(cls, by_round: Mapping[int, float]) -> Figure:
        """The figure of what each round measured, by its number from 0."""
        known = list(by_round.values())
        values = tuple(by_round.get(number) for number in range(max(by_round) + 1))
        return cls(statistics.median(known), min(known), max(known), len(known), values)


class Results:
    """Figures as they come, and what went wrong.

    :ivar notes: what was left out or failed, and why.
    """

    def __init__(
        self, machine: Mapping[str, Any], earlier: Mapping[Key, Figure] = MappingProxyType({})
    ) -> None:
        """:param earlier: figures of an earlier run, which stay where nothing is measured anew."""
        self.machine = dict(machine)
        self._earlier = dict(earlier)
        self.notes: list[str] = []
        self._values: defaultdict[Key, dict[int, float]] = defaultdict(dict)

    def add(self, experiment: str, cell: str, system: str, metrics: Mapping[str, float], number: int) -> None:
        """Take in one round of one cell.

        :param number: the round's, from 0.
        """
        for metric, value in metrics.items():
            self._values[Key(experiment, cell, system, metric)][number] = value

    def forget(self, experiments: str) -> None:
        """Drop earlier figures and notes of these experiments: what is compared is to be of one run."""
        self._earlier = {
            key: figure for key, figure in self._earlier.items() if key.experiment not in experiments
        }
        self.notes = [
            note for note in self.notes if not note.startswith(tuple(f"({one}" for one in experiments))
        ]

    def figures(self) -> dict[Key, Figure]:
        """All of them, in the order in which they first came."""
        return self._earlier | {key: Figure.of(by_round) for key, by_round in self._values.items()}

    def as_json(self, metrics: Container[str]) -> str:
        """Return the text of ``results.json``: one line for each figure of *metrics*."""
        rows = [
            json.dumps({**key._asdict(), **_summary(figure)})
            for key, figure in self.figures().items()
            if key.metric in metrics
        ]
        machine, notes = json.dumps(self.machine, indent=1), json.dumps(self.notes, indent=1)
        return f'{{"machine": {machine},\n"notes": {notes},\n"results": [\n' + ",\n".join(rows) + "\n]}\n"


def _summary(figure: Figure) -> dict[str, float]:
    """Return a figure's numbers with six digits: what is beyond is noise."""
    return {
        "median": _rounded(figure.median),
        "min": _rounded(figure.min),
        "max": _rounded(figure.max),
        "rounds": figure.rounds,
    }


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def read(document: Mapping[str, Any]) -> dict[Key, Figure]:
    """The figures of a ``results.json``."""
    return {
        Key(row["experiment"], row["cell"], row["system"], row["metric"]): Figure(
            row["median"], row["min"], row["max"], row["rounds"]
        )
        for row in document["results"]
    }


def ratios(figures: Mapping[Key, Figure], ours: str, other: str, metric: str) -> dict[tuple[str, str], float]:
    """Ours by theirs, for every (experiment, cell) that has both."""
    found = {}
    for key in figures:
        if key.system == ours and key.metric == metric:
            by_theirs = ratio(figures, key, key._replace(system=other))
            if by_theirs is not None:
                found[key.experiment, key.cell] = by_theirs
    return found


def ratio(figures: Mapping[Key, Figure], ours: Key, theirs: Key) -> float | None:
    """The median of the rounds' ratios, for in a round the two were measured one right after the other.

    The machine changes its speed from round to round: the medians may be of different ones. They are taken
    where no round has both. Rounds count in which the machine was nearly ours for both, if there are such.
    None: one of the two was not measured.
    """
    a, b = figures.get(ours), figures.get(theirs)
    if a is None or b is None or not b.median:
        return None
    found = round_ratios(figures, ours, theirs)
    return statistics.median(found) if found else a.median / b.median


def round_ratios(figures: Mapping[Key, Figure], ours: Key, theirs: Key) -> list[float]:
    """Ours by theirs in each round that :func:`ratio` goes by; none if no round has both."""
    a, b = figures.get(ours), figures.get(theirs)
    if a is None or b is None:
        return []
    pairs = {
        number: one / other
        for number, (one, other) in enumerate(zip(a.values, b.values, strict=False))
        if one is not None and other
    }
    disturbed = _disturbed(figures, ours) | _disturbed(figures, theirs)
    return [pairs[number] for number in pairs if number not in disturbed] or list(pairs.values())


def within_spread(figures: Mapping[Key, Figure], ours: Key, theirs: Key) -> bool:
    """Return True if some rounds are above 1 and some below: which of the two is ahead is not known.

    Without rounds in common the whole ranges are compared.
    """
    found = round_ratios(figures, ours, theirs)
    if found:
        return min(found) <= 1 <= max(found)
    a, b = figures.get(ours), figures.get(theirs)
    return a is not None and b is not None and a.min <= b.max and b.min <= a.max


def calm_median(figures: Mapping[Key, Figure], key: Key) -> float:
    """The median of the rounds in which the machine was nearly ours, or of all if there are none."""
    disturbed = _disturbed(figures, key)
    values = enumerate(figures[key].values)
    calm = [value for number, value in values if value is not None and number not in disturbed]
    return statistics.median(calm) if calm else figures[key].median


def _disturbed(figures: Mapping[Key, Figure], key: Key) -> set[int]:
    """The rounds in which a cell was measured while the host took cores away."""
    stolen = figures.get(key._replace(metric=STOLEN))
    values = () if stolen is None else stolen.values
    return {number for number, value in enumerate(values) if value is not None and value > CALM_PERCENT}


def cells(figures: Iterable[Key], experiment: str) -> list[str]:
    """The cells of an experiment, in order."""
    return list(dict.fromkeys(key.cell for key in figures if key.experiment == experiment))


def systems(figures: Iterable[Key], experiment: str) -> list[str]:
    """The systems that an experiment was made with, in order."""
    return list(dict.fromkeys(key.system for key in figures if key.experiment == experiment))
