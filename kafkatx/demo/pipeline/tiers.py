"""The audit of the deployment: waits until every tier has announced its counts, then shows the table."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

TIERS = (
    "producer",
    "broker:dc1",
    "consumer:newsfeed",
    "mirror:dc1-dc2",
    "broker:dc2",
    "ingest:warehouse",
)
BEHIND_FILTER = ("mirror:dc1-dc2", "broker:dc2", "ingest:warehouse")
"""The tiers that do not get what the mirror's filter drops."""


@attrs.frozen
class Audit:
    """``kafkatx audit --way`` over both data centres."""

    dc1: str
    dc2: str

    def command(self) -> list[str]:
        """Return the command, as a user types it behind ``kafkatx``."""
        return ["audit", "-b", self.dc1, "--also", self.dc2, "--way", "--settle", "0", "--all"]

    def show(self) -> int:
        """Print the table of the command; return its exit status, 1 if something is wrong."""
        sys.stdout.flush()
        return subprocess.run(self._run(), check=False).returncode

    def is_complete(self, sent: int, dropped: int) -> bool:
        """Return True if all tiers have announced all records, and no window is open any more."""
        done = subprocess.run([*self._run(), "--json"], capture_output=True, check=False)
        windows = [json.loads(line) for line in done.stdout.splitlines()]
        return complete(windows, sent, dropped)

    def _run(self) -> list[str]:
        return [sys.executable, "-m", "kafkatx", *self.command()]


def complete(windows: Collection[Mapping[str, Any]], sent: int, dropped: int) -> bool:
    """Return True if the windows are closed, and hold what was sent in all tiers, or more. Pure.

    :param dropped: the number of records that the mirror's filter drops.
    """
    sums: Counter[str] = Counter()
    for window in windows:
        sums.update(window["tiers"])
    closed = all(window["state"] != "open" for window in windows)
    return closed and all(sums[tier] >= count for tier, count in expected(sent, dropped))


def expected(sent: int, dropped: int) -> Iterator[tuple[str, int]]:
    """Yield each tier with the number of records that it should have."""
    for tier in TIERS:
        yield tier, sent - dropped if tier in BEHIND_FILTER else sent
