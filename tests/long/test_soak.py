"""A long bad day: 100,000 frames that are almost requests."""

from __future__ import annotations

from tests.integration import test_soak


class LongSoakTests(test_soak.SoakTests):
    frames = 100_000
