"""The verdict about two trees: ratios of figures, and whether one is too large. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

MOST = 1.10
"""A ratio above it fails."""


class Compared(NamedTuple):
    """A load's cost in both trees.

    :ivar base: what a request takes.
    :ivar ratio: the tree's by the base's; it need not be that of the two figures.
    """

    load: str
    unit: str
    base: float
    tree: float
    ratio: float

    @property
    def is_slower(self) -> bool:
        """Return True if the tree takes too much."""
        return self.ratio > MOST


def of_rounds(load: str, base: Sequence[float], tree: Sequence[float]) -> Compared:
    """Compare CPU microseconds of rounds that both trees made in turn.

    The ratio is the median of those of the rounds that followed each other: whatever else the machine does
    changes both, and what strikes one of them alone is an exception.
    """
    ratios = [ours / theirs for ours, theirs in zip(tree, base, strict=True)]
    return Compared(
        load, "us of CPU", statistics.median(base), statistics.median(tree), statistics.median(ratios)
    )


def of_counts(load: str, base: float, tree: float) -> Compared:
    """Compare instructions."""
    return Compared(load, "instructions", base, tree, tree / base)


def table(rows: Sequence[Compared]) -> str:
    """A line for each."""
    lines = [f"{'a request':<32}{'unit':<14}{'base':>12}{'tree':>12}{'ratio':>8}"]
    for row in rows:
        figures = "".join(f"{_number(value):>12}" for value in (row.base, row.tree))
        lines.append(
            f"{row.load:<32}{row.unit:<14}{figures}{row.ratio:>8.3f}  {'SLOWER' if row.is_slower else 'ok'}"
        )
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
