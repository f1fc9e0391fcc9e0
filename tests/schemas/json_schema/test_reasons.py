"""The words of reasons."""

from __future__ import annotations

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_schema import reasons as module
from kafkatx.schemas.json_schema.reasons import reason

FOLDER = Path(str(module.__file__)).parent


class ReasonsTests(SynchronousTestCase):
    def test_place(self) -> None:
        """A reason has the place of its keyword."""
        self.assertEqual(
            reason("MAX_LENGTH_DECREASED", "/properties/a"),
            "MAX_LENGTH_DECREASED at /properties/a/maxLength: "
            "the reader limits the length of a text more than the writer",
        )
        self.assertTrue(reason("TYPE_CHANGED", "").startswith("TYPE_CHANGED at /: the writer's type"))

    def test_complete(self) -> None:
        """Each name that the comparison knows has its words."""
        source = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
        names = set(
            re.findall(r'"([A-Z]+(?:_[A-Z]+)+_(?:ADDED|CHANGED|REMOVED|NARROWED|EXPANDED|MODEL))"', source)
        )
        self.assertGreater(len(names), 30)
        for name in names:
            self.assertIn(": ", reason(name, ""))
