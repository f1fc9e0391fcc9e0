"""``python -m benchmarks.guard [BASE]``: exit status 1 if the tree takes more than the base commit, by 10%.

2 if nothing could be compared. Takes some four minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping

from benchmarks.compare.runner import BROKER_CORE, CLIENT_CORE
from benchmarks.guard import cpu, instructions
from benchmarks.guard.base import ROOT, NoBase, checked_out, choose
from benchmarks.guard.broker import CannotRun, WrongTree
from benchmarks.guard.loads import cpu_loads, instruction_loads
from benchmarks.guard.verdict import MOST, Compared, of_counts, of_rounds, table

STARTS, ROUNDS = 8, 4

Tell = Callable[[str], None]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard")
    parser.add_argument(
        "base",
        nargs="?",
        default="",
        help="a commit; without one origin/main where the tree's code is another,"
        " else HEAD where it is another, else HEAD~1",
    )
    return parser.parse_args()


def _cpu(trees: Mapping[str, str], folder: str, tell: Tell) -> list[Compared]:
    cores = (BROKER_CORE, CLIENT_CORE) if (os.cpu_count() or 1) > 1 else None
    took = cpu.measure(trees, cpu_loads(), STARTS, ROUNDS, folder, cores, tell)
    return [of_rounds(load, rounds["base"], rounds["tree"]) for load, rounds in took.items()]


def _instructions(trees: Mapping[str, str], folder: str, tell: Tell) -> list[Compared]:
    counts = instructions.measure(trees, instruction_loads(), folder, tell)
    return [of_counts(load, found["base"], found["tree"]) for load, found in counts.items()]


WAYS = (
    ("instructions", instructions.missing, _instructions),
    ("CPU time", cpu.missing, _cpu),
)


def _measured(trees: Mapping[str, str], folder: str, tell: Tell) -> list[Compared]:
    """All that can be compared; what this machine cannot measure, or a base is too old for, is said.

    :raises CannotRun: the tree itself does not run.
    """
    rows: list[Compared] = []
    for what, missing, measure in WAYS:
        reason = missing()
        if reason is None:
            try:
                rows += measure(trees, folder, tell)
            except CannotRun as error:
                if error.name != "base":
                    raise
                reason = f"the base does not run: {str(error).strip().splitlines()[-1]}"
        if reason is not None:
            tell(f"{what}: left out, {reason}")
    return rows


def _terminate(number: int, frame: object) -> None:
    raise SystemExit(128 + number)  # so that brokers end and folders go


def main() -> int:
    """Compare, print, and judge."""
    signal.signal(signal.SIGTERM, _terminate)
    begun_s = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - begun_s:6.0f} s  {line}", flush=True)

    try:
        name, commit = choose(_arguments().base)
        tell(f"the tree against {name} ({commit[:12]})")
        with checked_out(commit) as base, tempfile.TemporaryDirectory(prefix="kafkatx-guard-") as folder:
            trees = {"base": base, "tree": ROOT}
            rows = _measured(trees, folder, tell)
    except (NoBase, WrongTree, CannotRun) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    if not rows:
        return 2
    print(table(rows))
    slower = [row for row in rows if row.is_slower]
    if slower:
        print(f"{len(slower)} of {len(rows)} are slower by more than {MOST - 1:.0%}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
