"""Tests of kafkatx.clientcore.documents."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

import kafkatx
from kafkatx.clientcore.documents import main, page
from kafkatx.clientcore.settings import KINDS, REFUSED
from kafkatx.clientcore.tables import common

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(kafkatx.__file__)))


class DocumentsTests(SynchronousTestCase):
    def test_up_to_date(self) -> None:
        """The page in the repository agrees with the tables; "make documents" writes it."""
        with open(os.path.join(ROOT, "docs/client-settings.md"), encoding="utf-8") as file:
            self.assertEqual(
                file.read(), page(), "docs/client-settings.md is not up to date; run: make documents"
            )

    def test_all_there(self) -> None:
        """Every setting is on the page, including refused ones."""
        text = page()
        for table in (common, *KINDS.values()):
            for section in (*table.SECTIONS, table.KEPT):
                for row in section.settings:
                    self.assertIn(f"| `{row.name}` |", text)
        for name, why in REFUSED.items():
            self.assertIn(name, text)
            self.assertIn(why, text)

    def test_main(self) -> None:
        """The command writes the page."""
        path = self.mktemp()
        main(path)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), page())
