"""The picture of the demonstration's facts."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.facts import Facts
from kafkatx.demo.picture import FILE, plot

HOURS = tuple((datetime(2015, 5, 17, hour, tzinfo=timezone.utc), 5) for hour in (10, 12))


class PictureTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A directory for the picture."""
        self.folder = os.path.abspath(self.mktemp())
        os.makedirs(self.folder)

    def test_drawn(self) -> None:
        """Lines with times give a PNG, whose name Spark does not read."""
        path = plot(Facts(12, 1, 100, 12, (), HOURS), "$access_$ log", self.folder)
        self.assertEqual(path, os.path.join(self.folder, FILE))
        self.assertEqual(Path(str(path)).read_bytes()[:4], b"\x89PNG")
        self.assertTrue(FILE.startswith("_"))

    def test_nothing_to_draw(self) -> None:
        """Without times there is no picture."""
        self.assertIsNone(plot(Facts(12, 1, 100, 0), "log", self.folder))
        self.assertEqual(os.listdir(self.folder), [])

    def test_without_matplotlib(self) -> None:
        """Without matplotlib there is no picture, and no error."""
        kept = {name: sys.modules.get(name) for name in ("matplotlib", "matplotlib.dates")}
        self.addCleanup(sys.modules.update, {name: module for name, module in kept.items() if module})
        sys.modules.update(dict.fromkeys(kept))  # type: ignore[arg-type]
        self.assertIsNone(plot(Facts(12, 1, 100, 12, (), HOURS), "log", self.folder))
