"""Tests of kafkatx.cli.options.times."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options.times import BadTime, parse_duration, parse_time

TEN_MS = 1_795_255_200_000
"""2026-11-21 10:00 UTC, by ``date -u -d 2026-11-21T10:00 +%s``."""
HOUR_MS = 3_600_000


class TimeTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """UTC, an offset in each of its forms, or none, which is UTC; parts of a second."""
        for text, expected in (
            ("2026-11-21T10:00:00Z", TEN_MS),
            ("2026-11-21T10:00:00", TEN_MS),
            ("2026-11-21 10:00", TEN_MS),
            ("2026-11-21T11:00:00+01:00", TEN_MS),
            ("2026-11-21T11:00:00.000+0100", TEN_MS),
            ("2026-11-21T04:30-05:30", TEN_MS),
            ("2026-11-21T02:00-08", TEN_MS),
            ("2026-11-21", TEN_MS - 10 * HOUR_MS),
            ("2026-11-21+01:00", TEN_MS - 11 * HOUR_MS),
            ("2026-11-21T10:00:00.5Z", TEN_MS + 500),
            ("2026-11-21T10:00:00.0079999Z", TEN_MS + 7),
            ("1970-01-01", 0),
            ("1969-12-31T23:59:59.999Z", -1),
        ):
            self.assertEqual(parse_time(text), expected, text)

    def test_bad(self) -> None:
        """Other texts are refused with an example of a time."""
        for text in (
            "",
            "now",
            "10:00",
            "2026-11-21T",
            "1732183200000",
            "2026-11-21T02-08",
            "\u0662026-11-21",
        ):
            error = self.assertRaises(BadTime, parse_time, text)
            self.assertIn("give a time as 2026-11-21T10:00:00Z", str(error))
        for text in ("2026-02-30", "2026-11-21T25:00", "2026-11-21T10:00+25:00"):
            error = self.assertRaises(BadTime, parse_time, text)
            self.assertIn(repr(text), str(error))


class DurationTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """Days, hours, minutes and seconds, each of which may be missing."""
        for text, expected in (
            ("P1D", 24 * HOUR_MS),
            ("PT2H30M", 2 * HOUR_MS + HOUR_MS // 2),
            ("PT90S", 90_000),
            ("PT0.25S", 250),
            ("P1DT2H3M4S", 26 * HOUR_MS + 184_000),
        ):
            self.assertEqual(parse_duration(text), expected, text)

    def test_bad(self) -> None:
        """Other texts are refused."""
        for text in (
            "",
            "P",
            "PT",
            "P1DT",
            "1D",
            "PT1D",
            "P1H",
            "-PT1S",
            "PT1.5H",
            "P\u0662D",
            "PT9999999999S",
        ):
            self.assertRaises(BadTime, parse_duration, text)
