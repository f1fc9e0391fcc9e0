"""Tables of Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are aligned."""
    everything = [list(head), *map(list, rows)]
    widths = [max(len(row[column]) for row in everything) for column in range(len(head))]
    everything.insert(1, ["-" * width for width in widths])
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in everything]
    return "".join("| " + " | ".join(row) + " |\n" for row in padded)
