"""Orders and reports are read as they were written."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.supervisor.status import Order, Report

ORDER = Order("2", "/etc/x", [("a", "b\n"), ("ü", "")], "info", "json", None, True)


class StatusTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """Each is one line, and is read as it was written."""
        self.assertEqual(Order.read(ORDER.line()), ORDER)
        for report in (Report(None, "127.0.0.1:9"), Report("why\nnot")):
            self.assertEqual(Report.read(report.line()), report)
        for line in (ORDER.line(), Report("a\nb").line()):
            self.assertEqual(line.count(b"\n"), 1)

    def test_wrong(self) -> None:
        """Anything else is a ValueError."""
        for line in (b"", b"[]", b"{}", b"7", b'{"name":1}', b"\xff"):
            self.assertRaises(ValueError, Order.read, line)
            self.assertRaises(ValueError, Report.read, line)
