"""Tests of kafkatx.demo.pipeline.tiers."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline.tiers import BEHIND_FILTER, TIERS, complete


def window(count: int, state: str = "ok", **others: int) -> dict[str, Any]:
    """Return a window as ``kafkatx audit --way --json`` prints it; tiers may have other counts."""
    tiers = dict.fromkeys(TIERS, count) | {name.replace("_", ":"): n for name, n in others.items()}
    return {"topic": "t", "tiers": tiers, "state": state}


class CompleteTests(SynchronousTestCase):
    def test_complete(self) -> None:
        """All windows of all topics are closed, and all tiers have everything."""
        self.assertTrue(complete([window(3), window(4)], 7, 0))
        self.assertFalse(complete([window(3)], 7, 0))
        self.assertFalse(complete([], 7, 0))

    def test_open(self) -> None:
        """An open window is waited for: its announcements may come in parts."""
        self.assertFalse(complete([window(3), window(4, "open")], 7, 0))

    def test_one_tier_late(self) -> None:
        """Each tier must have everything."""
        for tier in TIERS:
            late = window(7)
            late["tiers"][tier] = 6
            self.assertFalse(complete([late], 7, 0), tier)
            del late["tiers"][tier]
            self.assertFalse(complete([late], 7, 0), tier)

    def test_dropped(self) -> None:
        """A dropped record is not waited for behind the filter, but before it."""
        found = window(7, "wrong")
        found["tiers"] |= dict.fromkeys(BEHIND_FILTER, 6)
        self.assertTrue(complete([found], 7, 1))
        self.assertFalse(complete([found], 7, 0))
