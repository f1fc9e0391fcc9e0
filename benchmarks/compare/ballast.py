"""Keeps a virtual machine's free memory its own while brokers are measured.

A guest whose balloon reports free pages gives them back to its host, in blocks of 2 MiB, and DAMON makes more
of them. The next page of a log then waits for the host: writing to a file that is not in the page cache went
at 0.6 GB/s here, and at 5 GB/s where the guest still had the memory. What is measured then is the host.

So a process takes memory, touches it, and frees all but one page of every 2 MiB: what is free lies in smaller
blocks, which are not reported.

    python -m benchmarks.compare.ballast GIB      # until it is told to end; prints "ready"
"""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REPORTING = "/sys/module/page_reporting"
BLOCK_BYTES, PAGE_BYTES, GIB = 2 << 20, 4096, 1 << 30
SHARE = 0.9
"""How much of the memory that is available is taken."""


def needed() -> bool:
    """Return True if this machine gives free memory back to a host."""
    return os.path.isdir(REPORTING)


def available_gib() -> float:
    """Return the available memory in GiB."""
    with open("/proc/meminfo", encoding="ascii") as file:
        found = next(line for line in file if line.startswith("MemAvailable:"))
    return int(found.split()[1]) * 1024 / GIB


@contextmanager
def ballast() -> Iterator[None]:
    """Hold it, in a process of its own; where it is not needed, nothing is done.

    :raises RuntimeError: the process has ended.
    """
    if not needed():
        yield
        return
    command = [sys.executable, "-m", __name__, f"{available_gib() * SHARE:.3f}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the ballast could not be taken")
        yield
    finally:
        process.kill()
        process.wait()


def hold(size: int) -> mmap.mmap:
    """Take memory and free it again, but for a page of each block.

    :param size: bytes, some blocks of them.
    """
    taken = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    taken.madvise(mmap.MADV_NOHUGEPAGE)
    block = b"\1" * BLOCK_BYTES
    for at in range(0, size, BLOCK_BYTES):
        taken[at : at + BLOCK_BYTES] = block
    for at in range(0, size, BLOCK_BYTES):
        taken.madvise(mmap.MADV_DONTNEED, at + PAGE_BYTES, BLOCK_BYTES - PAGE_BYTES)
    return taken


def main(gib: str) -> None:
    """Hold it until the end."""
    held = hold(int(float(gib) * GIB) // BLOCK_BYTES * BLOCK_BYTES)
    print("ready", flush=True)
    signal.pause()
    held.close()


if __name__ == "__main__":
    main(sys.argv[1])
