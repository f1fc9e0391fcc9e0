"""Tests of kafkatx.audit.plot."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.comparison import Window
from kafkatx.audit.plot import NoPlot, plot

START_MS = 1_431_857_100_000


def windows(topic: str = "t") -> list[Window]:
    """One that is right, one with too few, one with too many, and one that is open."""
    numbers = [(500, 500, 500, False), (500, 450, 450, False), (500, 600, 500, False), (90, 10, 10, True)]
    return [
        Window(topic, START_MS + at * 10_000, 10_000, announced, found, distinct, opened)
        for at, (announced, found, distinct, opened) in enumerate(numbers)
    ]


class PlotTests(SynchronousTestCase):
    def drawn(self, some: list[Window]) -> str:
        """Return the texts of the picture."""
        path = Path(self.mktemp()).with_suffix(".svg")
        plot(some, str(path), "DIR")
        return path.read_text()

    def test_formats(self) -> None:
        """The end of the name chooses the format."""
        path = Path(self.mktemp()).with_suffix(".png")
        plot(windows(), str(path), "DIR")
        self.assertEqual(path.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("<svg", self.drawn(windows()))
        self.assertRaises(NoPlot, plot, windows(), str(path.with_suffix(".doc")), "DIR")

    def test_legend(self) -> None:
        """Totals of what is missing and doubled are in the legend, those of open windows not among them."""
        text = self.drawn(windows())
        for words in ("found in DIR", "announced by producers", "missing: 50", "doubled: 100", "still open"):
            self.assertIn(f"<!-- {words}" if "open" not in words else words, text)
        self.assertNotIn("missing", self.drawn(windows()[:1]))

    def test_panels(self) -> None:
        """A panel for each topic, up to a dozen."""
        text = self.drawn(windows("one") + windows("two"))
        self.assertIn("<!-- one -->", text)
        self.assertIn("<!-- two -->", text)
        many = [window for number in range(13) for window in windows(f"t{number}")]
        self.assertRaises(NoPlot, self.drawn, many)

    def test_times_that_are_none(self) -> None:
        """Times that no calendar has are left out; if there is nothing else, that is an error."""
        odd = [Window("t", start_ms, 10_000, 1, 1, 1) for start_ms in (-10_000, 1 << 60)]
        self.assertIn("announced", self.drawn(odd + windows()))
        self.assertRaises(NoPlot, self.drawn, odd)
