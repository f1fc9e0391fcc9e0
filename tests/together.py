"""Run all tests, a few processes at a time: most integration tests wait for time-outs of real clients.

``python -m tests.together [JOBS]``. A job is a package of unit tests, one module of integration tests, or
some modules that share a Spark, and :mod:`tests.run` runs it. What a job prints is shown if a test of it
failed; the sum of all comes last.
"""

from __future__ import annotations

import collections
import concurrent.futures
import itertools
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

SLOWEST = 20
"""How many of the slowest tests are listed at the end."""

JOBS = 4
"""More than there are processors, for waiting needs none."""

BUSY = ("audit", "cli_ingest", "readme")
"""Modules that run Spark without it being in the name."""

SHARING = 3
"""Modules that use one Spark, whose start takes ten seconds of a processor."""

SPLIT = ("attack", "broker", "client", "integration", "log")
"""Packages that are more than one job."""

LEFT_OUT = "long"
"""The package of tests that have a target of their own."""

MOST_S = 1500
TIMED = re.compile(r"^(\d+\.\d) s  (\S+)$", re.MULTILINE)
"""A line of :mod:`tests.run` about one of its slowest tests."""

BUSY_FOR = re.compile(r"^(\d+\.\d) s of processors$", re.MULTILINE)
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)


class Counted(NamedTuple):
    """The results of the tests of a job."""

    passed: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def jobs(root: Path) -> list[str]:
    """Return packages and modules with the tests under *root*, separated by spaces where a job has several.

    The slow ones come first; those with Spark, which keep a processor busy, are spread among those that wait.
    """
    found: dict[str, None] = {}
    sharing = []
    for path in sorted(root.rglob("test_*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        if parts[1] == LEFT_OUT:
            continue
        name = ".".join(parts[: 3 if parts[1] in SPLIT else 2])
        if parts[1] == "integration" and "shared_spark()" in path.read_text(encoding="utf-8"):
            sharing.append(name)
        else:
            found[name] = None
    count = -(-len(sharing) // SHARING)
    shared = [" ".join(sharing[at::count]) for at in range(count)]
    slow = [name for name in found if name.startswith(("tests.integration.", "tests.test_readme"))]
    alone = [name for name in slow if name.partition("test_")[2] in BUSY or "spark" in name]
    busy = [*shared, *alone]
    waiting = iter([name for name in slow if name not in alone])
    between = len(slow) // len(busy) - 1 if busy else 0
    mixed = [name for one in busy for name in (one, *itertools.islice(waiting, between))]
    return [*mixed, *waiting, *(name for name in found if name not in slow)]


def counted(output: str) -> Counted:
    """Return the counts of a job's closing line; a job without one counts as a failed test."""
    lines = CLOSING.findall(output)
    if not lines:
        return Counted(0, 1, 0)
    passed, failed, skipped = lines[-1]
    return Counted(int(passed), int(failed), int(skipped or 0))


def run(name: str) -> tuple[str, Counted, str, float]:
    """Run one job; return its name, counts, output and seconds."""
    started_s = time.monotonic()
    # trial's own choice of a directory is not safe where several begin at once
    names = name.split()
    command = [sys.executable, "-m", "tests.run", f"--directory=_trial_temp-{names[0]}", *names]
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=MOST_S,
        )
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, status = f"{expired.stdout!r}\n{name} did not end within {MOST_S} s", 1
    result = counted(output)
    if status and not result.failed:
        result = result._replace(failed=1)
    return name, result, output, time.monotonic() - started_s


def main(workers: int) -> int:
    """Run all jobs, report each, print the sum, and return the exit status."""
    names = jobs(Path(__file__).parent)
    total: collections.Counter[str] = collections.Counter()
    timed: list[tuple[float, str]] = []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(run, name) for name in names]
        for number, future in enumerate(concurrent.futures.as_completed(running), 1):
            name, result, output, seconds = future.result()
            total.update(result._asdict())
            timed += [(float(spent), test) for spent, test in TIMED.findall(output)]
            if result.failed:
                sys.stdout.write(output)
            took_s = sum(map(float, BUSY_FOR.findall(output)[-1:]))
            sys.stdout.write(
                f"[{number}/{len(names)}] {name}: {result} ({seconds:.0f} s, {took_s:.0f} s of processors)\n"
            )
            sys.stdout.flush()
    sys.stdout.write(f"The {SLOWEST} slowest tests:\n")
    for seconds, test in sorted(timed, reverse=True)[:SLOWEST]:
        sys.stdout.write(f"{seconds:.1f} s  {test}\n")
    in_all = Counted(**{field: total[field] for field in Counted._fields})
    sys.stdout.write(f"{in_all}\n")
    return 1 if in_all.failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else JOBS))
