"""Contents as values of JSON."""

from __future__ import annotations

from decimal import Decimal

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.filter.operators import UNDECODED
from kafkatx.views.formats.content import Content, SchemaLabel, hidden, nothing


class ContentTests(SynchronousTestCase):
    def test_cut(self) -> None:
        """A long text is cut, and the size of all of it stays to be seen."""
        shown = Content("text", "abcd", "abcd", 400).shown(3)
        self.assertEqual(shown, {"format": "text", "text": "abc", "size": 400, "truncated": True})
        self.assertFalse(Content("text", "abc", "abc", 3).shown(3)["truncated"])

    def test_made(self) -> None:
        """A value without text is shown as JSON; a fault and a schema are beside it."""
        label = SchemaLabel("AVRO", 7)
        shown = Content("avro", {"a": [Decimal("1.50"), "é"]}, None, 9, "why", label).shown(100)
        self.assertEqual(shown["text"], '{"a":["1.50","é"]}')
        self.assertEqual(shown["fault"], "why")
        self.assertEqual(shown["schema"], {"id": 7, "guid": None, "subject": None, "type": "AVRO"})

    def test_nothing(self) -> None:
        """Null is told apart from what is hidden, and from an empty text."""
        self.assertEqual(nothing().shown(9), {"format": "null", "text": None, "size": -1, "truncated": False})
        self.assertEqual(
            hidden(5).shown(9), {"format": "hidden", "text": None, "size": 5, "truncated": False}
        )
        self.assertEqual(Content("text", "", "", 0).shown(9)["text"], "")
        self.assertIs(hidden(5).value, UNDECODED)
