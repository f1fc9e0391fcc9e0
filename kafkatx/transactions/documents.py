"""Generator of the page about transaction states: ``python -m kafkatx.transactions.documents PAGE``.

It also writes the drawing on that page, with the same name and ``.svg``. Both are made from
:data:`~kafkatx.transactions.states.TRANSITIONS`. The places of the states are fixed; each transition is an
arrow that bends to its left, so that there and back are two arrows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple, TypeAlias

from kafkatx.transactions.states import TRANSITIONS, Event, State

Table: TypeAlias = Mapping[State, Mapping[Event, State]]


class Place(NamedTuple):
    """A point of the drawing."""

    x: float
    y: float


BOX_WIDTH, BOX_HEIGHT, LOOP = 170, 40, 60
BEND = 0.16
"""How far the middle of an arrow is beside the straight line, as a part of its length."""

PLACES: Mapping[State, Place] = {
    State.EMPTY: Place(480, 70),
    State.ONGOING: Place(480, 260),
    State.PREPARE_EPOCH_FENCE: Place(650, 420),
    State.PREPARE_COMMIT: Place(180, 420),
    State.PREPARE_ABORT: Place(830, 260),
    State.COMPLETE_COMMIT: Place(180, 610),
    State.COMPLETE_ABORT: Place(830, 610),
    State.DEAD: Place(480, 740),
}
WIDTH, HEIGHT = 1080, 790

_PAGE = """\
# The states of a transaction

A transactional id has one transaction at a time. This page shows its states, with their names in
DescribeTransactions and `kafka-transactions.sh`, and the transitions between them.

![The states of a transactional id and the transitions between them](transaction-states.svg)

{events}
{transitions}
A new transactional id is `Empty`. Each state is a record of `__transaction_state`, and counts when that
record is committed; until then all requests for the id get CONCURRENT_TRANSACTIONS, which clients repeat.
`PrepareEpochFence` alone is never stored: its abort follows at once. After a restart, or on another broker,
everything goes on from the records: a prepared transaction has its markers written again. No other
transitions exist.

This page and the drawing are generated from the table in `kafkatx/transactions/states.py` by `make
documents`.
"""

_STYLE = """\
text { font: 14px sans-serif; text-anchor: middle; }
.event { font: 12px monospace; stroke: white; stroke-width: 4px; paint-order: stroke; }
.state { fill: #eef3fa; stroke: #35557d; stroke-width: 1.5px; }
.arrow { fill: none; stroke: #555; stroke-width: 1.3px; }"""


def page(table: Table = TRANSITIONS) -> str:
    """Return the page in Markdown."""
    events = [f"| `{event.name}` | {event.value} |\n" for event in Event]
    arrows = [f"| {a.value} | `{event.name}` | {b.value} |\n" for a, event, b in _arrows(table)]
    return _PAGE.format(
        events="| event | when |\n|---|---|\n" + "".join(events),
        transitions="| from | event | to |\n|---|---|---|\n" + "".join(arrows),
    )


def drawing(table: Table = TRANSITIONS) -> str:
    """Return the drawing in SVG."""
    parts = [_arrow(a, b, event) for a, event, b in _arrows(table)]
    parts += [_box(state, PLACES[state]) for state in State]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">\n'
        f"<style>\n{_STYLE}\n</style>\n"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "".join(parts) + "</svg>\n"
    )


def _arrows(table: Table) -> Iterator[tuple[State, Event, State]]:
    for state in State:
        for event, following in table[state].items():
            yield state, event, following


def _box(state: State, at: Place) -> str:
    return (
        f'<rect class="state" x="{at.x - BOX_WIDTH / 2:.0f}" y="{at.y - BOX_HEIGHT / 2:.0f}" '
        f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="10"/>\n'
        f'<text x="{at.x:.0f}" y="{at.y + 5:.0f}">{escape(state.value)}</text>\n'
    )


def _arrow(start: State, end: State, event: Event) -> str:
    """Return an arrow with its event's name; one from a state to itself is a loop on its right."""
    a, b = PLACES[start], PLACES[end]
    if start is end:
        x, y = a.x + BOX_WIDTH / 2, a.y
        out = x + LOOP
        path = f"M{x:.0f},{y - 10:.0f} C{out:.0f},{y - 40:.0f} {out:.0f},{y + 40:.0f} {x:.0f},{y + 10:.0f}"
        label = Place(x + LOOP * 0.9, y + 4)
    else:
        middle = Place((a.x + b.x) / 2 + (b.y - a.y) * BEND, (a.y + b.y) / 2 - (b.x - a.x) * BEND)
        first, last = _border(a, middle), _border(b, middle)
        path = f"M{first.x:.0f},{first.y:.0f} Q{middle.x:.0f},{middle.y:.0f} {last.x:.0f},{last.y:.0f}"
        label = Place((first.x + 2 * middle.x + last.x) / 4, (first.y + 2 * middle.y + last.y) / 4 + 4)
    return (
        f'<path class="arrow" d="{path}" marker-end="url(#head)"/>\n'
        f'<text class="event" x="{label.x:.0f}" y="{label.y:.0f}">{escape(event.name)}</text>\n'
    )


def _border(centre: Place, towards: Place) -> Place:
    """Return where the line from the centre of a box to a point leaves the box."""
    dx, dy = towards.x - centre.x, towards.y - centre.y
    across = BOX_WIDTH / 2 / abs(dx) if dx else math.inf
    down = BOX_HEIGHT / 2 / abs(dy) if dy else math.inf
    part = min(across, down)
    return Place(centre.x + dx * part, centre.y + dy * part)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    Path(sys.argv[1]).with_suffix(".svg").write_text(drawing(), encoding="utf-8")
