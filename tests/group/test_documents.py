"""The documentation of the states agrees with the table."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.classic.states import TRANSITIONS, Event, State
from kafkatx.group.documents import drawing, page

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"


class DiagramTests(SynchronousTestCase):
    def test_up_to_date(self) -> None:
        """``make documents`` would change neither the page nor the drawing."""
        self.assertEqual((DOCS / "group-states.md").read_text(), page())
        self.assertEqual((DOCS / "group-states.svg").read_text(), drawing())

    def test_every_entry_is_drawn(self) -> None:
        """The drawing has a box for each state, and an arrow for each entry of the table."""
        root = ElementTree.fromstring(drawing())
        events = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "event"]
        states = [text.text for text in root.iter(f"{SVG}text") if text.get("class") is None]
        self.assertEqual(states, [state.value for state in State])
        self.assertEqual(
            sorted(map(str, events)), sorted(event.name for row in TRANSITIONS.values() for event in row)
        )
        arrows = [path for path in root.iter(f"{SVG}path") if path.get("class") == "arrow"]
        self.assertEqual(len({arrow.get("d") for arrow in arrows}), len(events))

    def test_another_table(self) -> None:
        """Drawing and page follow the table: one entry less is one arrow and one row less."""
        table = {**TRANSITIONS, State.STABLE: {Event.REBALANCE: State.PREPARING_REBALANCE}}
        self.assertEqual(drawing(table).count('class="arrow"'), drawing().count('class="arrow"') - 1)
        self.assertIn("| Stable | `UNLOADED` | Dead |", page())
        self.assertNotIn("| Stable | `UNLOADED` | Dead |", page(table))
