"""The documentation of the states agrees with the table."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.transactions.documents import drawing, page
from kafkatx.transactions.states import TRANSITIONS, State

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"


class DiagramTests(SynchronousTestCase):
    """Page and drawing."""

    def test_up_to_date(self) -> None:
        """``make documents`` would change neither the page nor the drawing."""
        self.assertEqual((DOCS / "transaction-states.md").read_text(), page())
        self.assertEqual((DOCS / "transaction-states.svg").read_text(), drawing())

    def test_every_entry_is_drawn(self) -> None:
        """The drawing has a box for each state, and an arrow of its own for each entry of the table."""
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
        """Drawing and page follow the table: a row less is its arrows and lines less."""
        table = {**TRANSITIONS, State.PREPARE_COMMIT: {}}
        self.assertEqual(drawing(table).count('class="arrow"'), drawing().count('class="arrow"') - 1)
        self.assertIn("| PrepareCommit | `COMPLETE` | CompleteCommit |", page())
        self.assertNotIn("| PrepareCommit | `COMPLETE` | CompleteCommit |", page(table))
