"""Facts about this process and its machine, for people who look for faults: limits, memory, disks, kernel.

It reads ``/proc``, ``/sys`` and file systems, and blocks: a broker calls it in a worker. A fact that a system
does not have is left out.
"""

from __future__ import annotations

import contextlib
import os
import platform
import resource
from collections.abc import Iterable, Mapping

OPEN_FILES_LIMIT, OPEN_FILES = "open.files.limit", "open.files"
SWAPPED_BYTES, RESIDENT_BYTES = "process.swapped.bytes", "process.resident.bytes"
MEMORY_BYTES, SWAP_BYTES = "memory.total.bytes", "swap.total.bytes"
SWAPPINESS, DIRTY_RATIO = "vm.swappiness", "vm.dirty_ratio"
HUGE_PAGES = "transparent_hugepage"
VOLUME = "volume."
HTTP_URL = "http.url"
"""The address of the first HTTP listener of a broker, for programs on its machine; the broker adds it."""

FREE_BYTES, ALL_BYTES, FREE_INODES, ALL_INODES = "free.bytes", "total.bytes", "free.inodes", "total.inodes"

_KERNEL = {
    SWAPPINESS: "/proc/sys/vm/swappiness",
    DIRTY_RATIO: "/proc/sys/vm/dirty_ratio",
    HUGE_PAGES: "/sys/kernel/mm/transparent_hugepage/enabled",
}
_MEMORY = {"MemTotal": MEMORY_BYTES, "SwapTotal": SWAP_BYTES}
_PROCESS = {"VmSwap": SWAPPED_BYTES, "VmRSS": RESIDENT_BYTES}


def process_facts(pid: int | None = None) -> dict[str, str]:
    """Return facts about a process: this one, or another one of this machine."""
    who = "self" if pid is None else str(pid)
    found: dict[str, str] = {}
    if pid is None:
        found[OPEN_FILES_LIMIT] = str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        found["python"] = platform.python_version()
    else:
        found |= _limits(_read(f"/proc/{pid}/limits"))
    with contextlib.suppress(OSError):
        found[OPEN_FILES] = str(len(os.listdir(f"/proc/{who}/fd")))
    return found | _kibibytes(f"/proc/{who}/status", _PROCESS)


def _limits(text: str) -> dict[str, str]:
    """Return the soft limit of open files: ``Max open files  1024  524288  files``."""
    for line in text.splitlines():
        if line.startswith("Max open files"):
            return {OPEN_FILES_LIMIT: line.split()[3]}
    return {}


def machine_facts() -> dict[str, str]:
    """Return facts about the machine and its kernel."""
    found = {"system": f"{platform.system()} {platform.release()}", "processors": str(os.cpu_count() or 0)}
    found |= _kibibytes("/proc/meminfo", _MEMORY)
    for name, path in _KERNEL.items():
        text = _read(path).strip()
        if text:
            found[name] = text
    return found


def volume_facts(paths: Iterable[str]) -> dict[str, str]:
    """Return the room on the file systems of some directories: ``volume.PATH.free.bytes`` and so on."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            volume = os.statvfs(path)
        except OSError:
            continue
        found |= {
            f"{VOLUME}{path}.{FREE_BYTES}": str(volume.f_bavail * volume.f_frsize),
            f"{VOLUME}{path}.{ALL_BYTES}": str(volume.f_blocks * volume.f_frsize),
            f"{VOLUME}{path}.{FREE_INODES}": str(volume.f_favail),
            f"{VOLUME}{path}.{ALL_INODES}": str(volume.f_files),
        }
    return found


def volumes(facts: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the room of each directory from facts: numbers by ``free.bytes`` and so on."""
    found: dict[str, dict[str, int]] = {}
    for name, text in facts.items():
        for end in (FREE_BYTES, ALL_BYTES, FREE_INODES, ALL_INODES):
            if name.startswith(VOLUME) and name.endswith(f".{end}") and text.isdecimal():
                path = name[len(VOLUME) : -len(end) - 1]
                found.setdefault(path, {})[end] = int(text)
    return found


def _kibibytes(path: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return numbers of lines such as ``VmSwap:  12 kB``, in bytes."""
    found = {}
    for line in _read(path).splitlines():
        name, _, rest = line.partition(":")
        parts = rest.split()
        if name in names and parts and parts[0].isdecimal():
            found[names[name]] = str(int(parts[0]) * 1024)
    return found


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(100_000)
    except OSError:
        return ""
