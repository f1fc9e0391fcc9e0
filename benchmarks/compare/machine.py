"""The machine that figures come from."""

from __future__ import annotations

import os
import platform
import re
import time
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
_STEAL = 8
"""Where it stands in a line of ``/proc/stat``."""


def machine() -> dict[str, Any]:
    """The machine, in a few words."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*:\s*(.+)", file.read())
    with open("/proc/meminfo", encoding="ascii") as file:
        total = re.search(r"MemTotal:\s+(\d+)", file.read())
    return {
        "processor": model[1] if model else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(total[1]) / (1 << 20), 1) if total else None,
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
    }


class Watch:
    """Tells how much of a core's time the host has taken since it was made."""

    def __init__(self) -> None:
        self._begun_s, self._stolen_s = time.monotonic(), stolen_s()

    def stolen_percent(self) -> float:
        """Percent of a core."""
        passed_s = max(time.monotonic() - self._begun_s, 1 / TICKS)
        return 100 * (stolen_s() - self._stolen_s) / passed_s


def stolen_s() -> float:
    """Seconds, of all cores together, that the host has given to others while they had work."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[_STEAL]) / TICKS
