"""Run all tests, a few processes at a time: most integration tests wait for time-outs of real clients.

``python -m tests.together [JOBS]``. A job is a package of unit tests, one module of integration tests, or
some modules that share a Spark, and :mod:`tests.run` runs it. What a job prints is shown if a test of it
failed; the sum of all comes last.

A module with a failed test runs once more, alone, after all others. If it passes then, its failure was a
race: the run is green, names the module in a line ``flaky: MODULE``, and keeps both outputs in :data:`LOGS`.
A race is a defect all the same: read the first output and mend it.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
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


FAILED_MODULE = re.compile(r"^failed module: (\S+)$", re.MULTILINE)

LOGS = Path("_flaky")
"""Where the outputs of modules that ran twice are kept: ``MODULE.first.log`` and ``MODULE.second.log``."""

MOST_AGAIN = 6
"""More failed modules than that are no races, and none of them runs again."""

AGAIN_S = 300
"""Seconds within which all second runs have to end."""


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


class Job(NamedTuple):
    """A job that has run."""

    name: str
    counts: Counted
    output: str
    seconds: float

    @property
    def modules_to_repeat(self) -> list[str]:
        """The modules with a failed test; all of the job if it crashed before it named them."""
        return list(dict.fromkeys(FAILED_MODULE.findall(self.output))) or self.name.split()


def run(name: str, most_s: float = MOST_S) -> Job:
    """Run the job of these packages or modules for at most *most_s* seconds."""
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
            timeout=most_s,
        )
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as expired:
        printed = expired.stdout or b""
        text = printed if isinstance(printed, str) else printed.decode(errors="replace")
        output, status = f"{text}\n{name} did not end within {most_s:.0f} s\n", 1
    result = counted(output)
    if status and not result.failed:
        result = result._replace(failed=1)
    return Job(name, result, output, time.monotonic() - started_s)


def repeat(
    failed: Sequence[Job], again: Callable[[str, float], Job] = run
) -> tuple[dict[str, Counted], list[str]]:
    """Run each module with a failed test once more, alone.

    :returns: the new counts of each job whose failed modules all passed, by the job's name; and the modules
        that passed.
    """
    modules = [module for job in failed for module in job.modules_to_repeat]
    if not 0 < len(modules) <= MOST_AGAIN:
        return {}, []
    mended: dict[str, Counted] = {}
    flaky: list[str] = []
    end_s = time.monotonic() + AGAIN_S
    LOGS.mkdir(exist_ok=True)
    for job in failed:
        seconds = []
        for module in job.modules_to_repeat:
            second = again(module, max(end_s - time.monotonic(), 1.0))
            (LOGS / f"{module}.first.log").write_text(job.output, encoding="utf-8")
            (LOGS / f"{module}.second.log").write_text(second.output, encoding="utf-8")
            sys.stdout.write(f"once more, alone: {module}: {second.counts} ({second.seconds:.0f} s)\n")
            if second.counts.failed:
                sys.stdout.write(second.output)
            sys.stdout.flush()
            seconds.append(second)
        flaky += [second.name for second in seconds if not second.counts.failed]
        if not any(second.counts.failed for second in seconds):
            mended[job.name] = mended_counts(job, [second.counts for second in seconds])
    return mended, flaky


def mended_counts(job: Job, seconds: Sequence[Counted]) -> Counted:
    """Return the counts of a job whose modules all passed in their second runs, which counted *seconds*."""
    if FAILED_MODULE.search(job.output):
        return Counted(job.counts.passed + job.counts.failed, 0, job.counts.skipped)
    return Counted(*map(sum, zip(*seconds, strict=True)))


def main(workers: int) -> int:
    """Run all jobs, report each, print the sum, and return the exit status."""
    names = jobs(Path(__file__).parent)
    done: dict[str, Job] = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(run, name) for name in names]
        for number, future in enumerate(concurrent.futures.as_completed(running), 1):
            job = future.result()
            done[job.name] = job
            if job.counts.failed:
                sys.stdout.write(job.output)
            took_s = sum(map(float, BUSY_FOR.findall(job.output)[-1:]))
            times = f"({job.seconds:.0f} s, {took_s:.0f} s of processors)"
            sys.stdout.write(f"[{number}/{len(names)}] {job.name}: {job.counts} {times}\n")
            sys.stdout.flush()
    report_slowest(done.values())
    mended, flaky = repeat([job for job in done.values() if job.counts.failed])
    counts = [mended.get(job.name, job.counts) for job in done.values()]
    in_all = Counted(*map(sum, zip(*counts, strict=True)))
    sys.stdout.write("".join(f"flaky: {module} (both outputs are in {LOGS})\n" for module in flaky))
    sys.stdout.write(f"{in_all}\n")
    return 1 if in_all.failed else 0


def report_slowest(done: Iterable[Job]) -> None:
    """Print the slowest tests of all jobs."""
    timed = [(float(spent), test) for job in done for spent, test in TIMED.findall(job.output)]
    sys.stdout.write(f"The {SLOWEST} slowest tests:\n")
    for seconds, test in sorted(timed, reverse=True)[:SLOWEST]:
        sys.stdout.write(f"{seconds:.1f} s  {test}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else JOBS))
