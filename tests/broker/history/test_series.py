"""The table of series."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.series import ROWS, SERIES, find_series


class SeriesTests(SynchronousTestCase):
    def test_rows(self) -> None:
        """Each series has a name of its own and a title."""
        self.assertEqual(len(SERIES), len(ROWS))
        self.assertTrue(all(row.title and ":" not in row.name for row in ROWS))

    def test_found(self) -> None:
        """The series of the broker have no colon; those of topics and groups have the name after one."""
        for name, found in (
            ("bytesIn", True),
            ("lag", True),
            ("lag:a:b", True),
            ("topicBytesOut:t", True),
            ("bytesIn:t", False),
            ("topicBytesOut", False),
            ("", False),
        ):
            self.assertEqual(find_series(name) is not None, found, name)
