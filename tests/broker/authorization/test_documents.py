"""The page of demands has a row for each demand."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.authorization.demands import ROWS
from kafkatx.broker.authorization.documents import main, page
from kafkatx.broker.authorization.http_demands import HTTP_ROWS


class PageTests(SynchronousTestCase):
    def test_rows(self) -> None:
        """Each demand is a row, and an API without one says so."""
        kafka, http = page().split("## Over HTTP")
        lines = [line for line in kafka.splitlines() if line.startswith("|")][2:]
        self.assertEqual(len(lines), sum(max(1, len(row.demands)) for row in ROWS))
        self.assertIn("| 18 | ApiVersions | nothing | | |", lines)
        self.assertIn(
            "| 0 | Produce | Write on the transactional id | with a transactional id | the request: 53 |",
            lines,
        )

        over_http = [line for line in http.splitlines() if line.startswith("|")][2:]
        self.assertEqual(len(over_http), sum(len(row.patterns) for row in HTTP_ROWS))
        for line in (
            "| `GET /health/live` | nothing |  |",
            "| `GET /metrics` | Describe on the cluster |  |",
            "| `DELETE /subjects/{subject}` | Delete on the topic of the subject | Alter on the cluster |",
        ):
            self.assertIn(line, over_http)

    def test_main(self) -> None:
        """The page is written where the command says."""
        path = os.path.abspath(self.mktemp())
        main([path])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), page())
