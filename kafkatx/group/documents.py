"""Generator of the page about group states: ``python -m kafkatx.group.documents docs/group-states.md``.

It also writes the drawing on that page, ``group-states.svg``. Both are made from
:data:`~kafkatx.group.classic.states.TRANSITIONS`. States are drawn in a column in the order of their
enumeration; final states are on the right. Arrows down are straight, arrows up go round on the left.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple, TypeAlias

from kafkatx.group.classic.states import TRANSITIONS, Event, State

Table: TypeAlias = Mapping[State, Mapping[Event, State]]

BOX_WIDTH, BOX_HEIGHT, STEP = 190, 44, 120
LEFT, RIGHT, TOP = 300, 640, 30
WIDTH = RIGHT + BOX_WIDTH + 30

_PAGE = """\
# The states of a classic group

Consumers that use JoinGroup, SyncGroup and Heartbeat are members of a *classic* group. This page shows its
states, with their names in DescribeGroups and `kafkatx groups list`, and the transitions between them.

![The states of a classic group and the transitions between them](group-states.svg)

{events}
{transitions}
A new group is `Empty`. A group that is loaded from `__consumer_offsets` with members is `Stable`: after a
restart its members continue without a rebalance. No other transitions exist.

This page and the drawing are generated from the table in `kafkatx/group/classic/states.py` by `make
documents`.
"""

_STYLE = """\
text { font: 14px sans-serif; text-anchor: middle; }
.event { font: 12px monospace; stroke: white; stroke-width: 4px; paint-order: stroke; }
.state { fill: #eef3fa; stroke: #35557d; stroke-width: 1.5px; }
.arrow { fill: none; stroke: #555; stroke-width: 1.3px; }"""


class Place(NamedTuple):
    """The centre of a box."""

    x: int
    y: int


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
    places = _places(table)
    height = max(place.y for place in places.values()) + BOX_HEIGHT // 2 + TOP
    parts = [_box(state, place) for state, place in places.items()]
    parts += [_arrow(places[a], places[b], event) for a, event, b in _arrows(table)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">\n'
        f"<style>\n{_STYLE}\n</style>\n"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n' + "".join(parts) + "</svg>\n"
    )


def _arrows(table: Table) -> Iterator[tuple[State, Event, State]]:
    for state in State:
        for event, following in table[state].items():
            yield state, event, following


def _places(table: Table) -> dict[State, Place]:
    """Return the place of each state."""
    column = [state for state in State if table[state]]
    ends = [state for state in State if not table[state]]
    places = {state: Place(LEFT, TOP + BOX_HEIGHT // 2 + STEP * at) for at, state in enumerate(column)}
    middle = STEP * (len(column) - 1) // 2
    for at, state in enumerate(ends):
        places[state] = Place(RIGHT + BOX_WIDTH // 2, TOP + BOX_HEIGHT // 2 + middle + STEP * at)
    return places


def _box(state: State, at: Place) -> str:
    return (
        f'<rect class="state" x="{at.x - BOX_WIDTH // 2}" y="{at.y - BOX_HEIGHT // 2}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="10"/>\n<text x="{at.x}" y="{at.y + 5}">{escape(state.value)}</text>\n'
    )


def _arrow(start: Place, end: Place, event: Event) -> str:
    """Return an arrow with its event's name: to the right, down to the next, or up round the left side."""
    if end.x != start.x:
        ax, ay, bx, by = start.x + BOX_WIDTH // 2, start.y, end.x - BOX_WIDTH // 2, end.y
        path, label = f"M{ax},{ay} L{bx},{by}", Place((2 * ax + bx) // 3, (2 * ay + by) // 3 + 4)
    elif end.y > start.y:
        ay, by = start.y + BOX_HEIGHT // 2, end.y - BOX_HEIGHT // 2
        path, label = f"M{start.x},{ay} L{end.x},{by}", Place(start.x, (ay + by) // 2 + 4)
    else:
        steps = (start.y - end.y) // STEP
        x, ay, by = start.x - BOX_WIDTH // 2, start.y - 10, end.y + 10
        out = x - 90 * steps - 10
        path = f"M{x},{ay} C{out},{ay} {out},{by} {x},{by}"
        label = Place((x + 3 * out) // 4, (ay + by) // 2 + 4)
    return (
        f'<path class="arrow" d="{path}" marker-end="url(#head)"/>\n'
        f'<text class="event" x="{label.x}" y="{label.y}">{escape(event.name)}</text>\n'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    Path(sys.argv[1]).with_suffix(".svg").write_text(drawing(), encoding="utf-8")
