"""The layout of tables: rows of text in, lines of at most the terminal's width out. Pure.

Numbers, times and ids are never wrapped or cut. Names are wrapped. If a terminal is too narrow for that, each
row becomes a list of ``column  value`` lines.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

import attrs

GAP = 2
"""Cells between two columns."""

NAME_CELLS = 10
"""A column of names is not made narrower than this."""

HEADING_CELLS = 6
"""A heading over narrow numbers is not wrapped to less than this."""

NUMBER, WHOLE, BAR = "#", "!", "|"
"""Endings of column names: numbers, aligned right; text that is never wrapped; a bar, dropped if need be."""

_ENDINGS = NUMBER + WHOLE + BAR


def heading(column: str) -> str:
    """Return the name that is shown for a column."""
    return column.rstrip(_ENDINGS)


def cells(text: str) -> int:
    """Return how many cells of a terminal *text* takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fold(text: str, width: int) -> list[str]:
    """Split *text* into lines of at most *width* cells: between words if it can be, else anywhere."""
    lines = []
    while cells(text) > width:
        used, end = 0, 0
        while end < len(text) and used + _cells(text[end]) <= width:
            used += _cells(text[end])
            end += 1
        end = max(end, 1)
        space = text.rfind(" ", 0, end + 1)
        if space > 0:
            lines.append(text[:space])
            text = text[space + 1 :]
        else:
            lines.append(text[:end])
            text = text[end:]
    return [*lines, text]


@attrs.define
class _Column:
    """One column.

    :ivar least: the smallest width; *whole_words* the smallest that breaks no word of the heading.
    :ivar width: the natural width first, then the one that it gets.
    """

    name: str
    kind: str
    least: int
    whole_words: int
    width: int

    @classmethod
    def over(cls, column: str, found: Iterable[str]) -> _Column:
        name = heading(column)
        kind = column[len(name) :]
        widest = max(map(cells, found), default=0)
        if kind in (NUMBER, WHOLE):
            least = max(widest, min(cells(name), HEADING_CELLS))
        else:
            least = min(max(widest, min(cells(name), HEADING_CELLS)), NAME_CELLS)
        words = max(map(cells, name.split()), default=0)
        return cls(name, kind, least, max(least, words), max(widest, cells(name)))

    def shown(self, text: str) -> str:
        filler = " " * (self.width - cells(text))
        return filler + text if self.kind == NUMBER else text + filler


def layout(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    emphasis: Callable[[str], str] = str,
) -> list[str]:
    """Return the lines of a table, without the columns that are empty in all rows.

    :param columns: names; their last character may be one of the endings above.
    :param width: of the terminal, in cells. No line is longer, unless a single number is.
    :param emphasis: applied to the headings.
    """
    kept = [at for at, _ in enumerate(columns) if any(row[at] for row in rows)]
    found = [_Column.over(columns[at], (row[at] for row in rows)) for at in kept]
    if _total(column.least for column in found) > width:
        kept = [at for at, column in zip(kept, found, strict=True) if column.kind != BAR]
        found = [column for column in found if column.kind != BAR]
    if _total(column.least for column in found) > width:
        return _vertical(found, rows, kept, width, emphasis)
    _shrink(found, [column.whole_words for column in found], width)
    _shrink(found, [column.least for column in found], width)
    names = [column.name for column in found]
    lines = [emphasis(line) if line else line for line in _row(found, names)]
    lines.append("─" * _total(column.width for column in found))
    for row in rows:
        lines += _row(found, [row[at] for at in kept])
    return lines


def _shrink(columns: Sequence[_Column], least: Sequence[int], width: int) -> None:
    """Make columns narrower, those with the most room first, until they fit or all have their least width."""
    while _total(column.width for column in columns) > width:
        room, at = max((column.width - least[at], at) for at, column in enumerate(columns))
        if room <= 0:
            return
        columns[at].width -= 1


def _total(widths: Iterable[int]) -> int:
    found = list(widths)
    return sum(found) + GAP * max(0, len(found) - 1)


def _row(columns: Sequence[_Column], texts: Sequence[str]) -> list[str]:
    """Return the lines of one row: as many as its longest cell needs."""
    folded = [fold(text, column.width) for column, text in zip(columns, texts, strict=True)]
    height = max(map(len, folded), default=0)
    lines = []
    for at in range(height):
        parts = [
            column.shown(pieces[at] if at < len(pieces) else "")
            for column, pieces in zip(columns, folded, strict=True)
        ]
        lines.append((" " * GAP).join(parts).rstrip())
    return lines


def _vertical(
    columns: Sequence[_Column],
    rows: Sequence[Sequence[str]],
    kept: Sequence[int],
    width: int,
    emphasis: Callable[[str], str],
) -> list[str]:
    """Return each row as lines of a heading and a value, with an empty line between rows."""
    margin = max((cells(column.name) for column in columns), default=0) + GAP
    lines: list[str] = []
    for row in rows:
        if lines:
            lines.append("")
        for column, at in zip(columns, kept, strict=True):
            whole = column.kind in (NUMBER, WHOLE)
            first, *others = [row[at]] if whole else fold(row[at], max(width - margin, NAME_CELLS))
            filler = " " * (margin - cells(column.name))
            lines.append((emphasis(column.name) + filler + first).rstrip())
            lines += [" " * margin + other for other in others]
    return lines
