"""The page of demands has a row for each demand."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.authorization.demands import ROWS
from kafkatx.broker.authorization.documents import main, page


class PageTests(SynchronousTestCase):
    def test_rows(self) -> None:
        """Each demand is a row, and an API without one says so."""
        lines = [line for line in page().splitlines() if line.startswith("|")][2:]
        self.assertEqual(len(lines), sum(max(1, len(row.demands)) for row in ROWS))
        self.assertIn("| 18 | ApiVersions | nothing | | |", lines)
        self.assertIn(
            "| 0 | Produce | Write on the transactional id | with a transactional id | the request: 53 |",
            lines,
        )

    def test_main(self) -> None:
        """The page is written where the command says."""
        path = os.path.abspath(self.mktemp())
        main([path])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), page())
