"""What was measured: kept as JSON, with medians and the spread. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Key(NamedTuple):
    """What a figure is of."""

    experiment: str
    cell: str
    system: str
    metric: str


class Figure(NamedTuple):
    """A metric over the rounds."""

    median: float
    min: float
    max: float
    rounds: int


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
        self._values: defaultdict[Key, list[float]] = defaultdict(list)

    def add(self, experiment: str, cell: str, system: str, metrics: Mapping[str, float]) -> None:
        """Take in one round of one cell."""
        for metric, value in metrics.items():
            self._values[Key(experiment, cell, system, metric)].append(value)

    def forget(self, experiments: str) -> None:
        """Drop the earlier figures of these experiments: what is compared is to be from one run."""
        self._earlier = {
            key: figure for key, figure in self._earlier.items() if key.experiment not in experiments
        }

    def figures(self) -> dict[Key, Figure]:
        """All of them, in the order in which they first came."""
        return self._earlier | {
            key: Figure(statistics.median(values), min(values), max(values), len(values))
            for key, values in self._values.items()
        }

    def as_json(self) -> dict[str, Any]:
        """As ``results.json`` has it."""
        rows = [{**key._asdict(), **rounded(figure)} for key, figure in self.figures().items()]
        return {"machine": self.machine, "notes": self.notes, "results": rows}


def rounded(figure: Figure) -> dict[str, float]:
    """A figure's numbers with six digits: what is beyond is noise."""
    return {
        name: value if name == "rounds" else float(f"{value:.6g}") for name, value in figure._asdict().items()
    }


def read(document: Mapping[str, Any]) -> dict[Key, Figure]:
    """The figures of a ``results.json``."""
    return {
        Key(row["experiment"], row["cell"], row["system"], row["metric"]): Figure(
            row["median"], row["min"], row["max"], row["rounds"]
        )
        for row in document["results"]
    }


def ratios(figures: Mapping[Key, Figure], ours: str, other: str, metric: str) -> dict[tuple[str, str], float]:
    """Our median by theirs, for every (experiment, cell) that has both."""
    found = {}
    for key, figure in figures.items():
        if key.system == ours and key.metric == metric:
            theirs = figures.get(key._replace(system=other))
            if theirs is not None and theirs.median:
                found[key.experiment, key.cell] = figure.median / theirs.median
    return found


def cells(figures: Iterable[Key], experiment: str) -> list[str]:
    """The cells of an experiment, in order."""
    return list(dict.fromkeys(key.cell for key in figures if key.experiment == experiment))


def systems(figures: Iterable[Key], experiment: str) -> list[str]:
    """The systems that an experiment was made with, in order."""
    return list(dict.fromkeys(key.system for key in figures if key.experiment == experiment))
