"""Measured seconds and bytes: they decide in ``make attack`` and are printed elsewhere.

A loaded machine makes everything slower, and an allocator keeps memory: a test that fails for that is flaky.
"""

from __future__ import annotations

import os
import sys
from unittest import TestCase

DECIDES = os.environ.get("KAFKATX_ATTACK") == "full"
"""True in ``make attack``."""


def check_below(test: TestCase, measured: float, limit: float, what: str) -> None:
    """Fail *test* in ``make attack`` if *measured* is not below *limit*; print both otherwise."""
    if DECIDES:
        test.assertLess(measured, limit, what)
    else:
        sys.stdout.write(f"{test.id()}: {what}: {measured:.6g} (limit {limit:.6g})\n")
