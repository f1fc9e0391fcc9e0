"""Waiting in tests that watch real processes. It reads the clock and sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_S = 180.0
"""Only a test that fails waits so long: on a loaded machine a process takes its time."""

LOOK_EVERY_S = 0.02


def until(condition: Callable[[], object], what: str, wait_s: float = WAIT_S) -> None:
    """Wait until a condition holds.

    :param what: the condition in words.
    :raises AssertionError: it does not hold in time.
    """
    end_s = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() > end_s:
            raise AssertionError(f"not within {wait_s:g} s: {what}")
        time.sleep(LOOK_EVERY_S)
