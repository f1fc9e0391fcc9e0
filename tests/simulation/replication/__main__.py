"""Many runs of the simulation, or one alone.

``python -m tests.simulation.replication`` runs one seed after the other, at most SEEDS of them and until
SECONDS have passed, and stops at the first that fails. ``--seed N`` runs one seed, and prints its whole
history if it fails. ``--mutants`` takes one rule after the other out of the code, prints what finds that,
and fails if nothing does.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import nullcontext

from tests.simulation.replication.mutants.mutants import ALL, MUTANTS, PROVED, SEEDS, is_proved
from tests.simulation.replication.mutants.search import Search, table
from tests.simulation.replication.run import STEPS, Failed, Result, run

MOST_FAILURES = 40
"""Failures after which a run that goes on ends."""
MUTANT_SEEDS = 1000
"""Seeds within which a mutant must be found."""


def main() -> int:
    """Run the simulation; return 1 if a run has failed, or a mutant was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.replication")
    parser.add_argument("--seed", type=int, help="run this seed alone")
    parser.add_argument("--first", type=int, default=0, help="the first of many seeds")
    parser.add_argument("--seeds", type=int, default=1_000_000, help="how many seeds to run")
    parser.add_argument("--steps", type=int, default=STEPS, help="things that happen in a run")
    parser.add_argument("--seconds", type=float, default=600.0, help="seconds after which no run begins")
    parser.add_argument("--go-on", action="store_true", help="go on after a seed that fails")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="a rule to take out")
    parser.add_argument("--mutants", action="store_true", help="find all mutants")
    options = parser.parse_args()
    if options.mutants:
        return _find(options)
    with MUTANTS[options.mutant].alive() if options.mutant else nullcontext():
        if options.seed is not None:
            return _alone(options.seed, options.steps)
        return _many(options)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _alone(seed: int, steps: int) -> int:
    try:
        _say(f"seed {seed}: no violation; {run(seed, steps)}")
    except Failed as failed:
        _say("\n".join(failed.history))
        _say(f"VIOLATION: {failed.violation}")
        return 1
    return 0


def _many(options: argparse.Namespace) -> int:
    """Run one seed after the other."""
    began_s = said_s = time.monotonic()
    results: list[Result] = []
    failures: list[Failed] = []

    def say() -> None:
        rate = (seed - options.first + 1) / (time.monotonic() - began_s)
        _say(
            f"seeds {options.first} to {seed}: {len(failures)} violations; {rate:.1f}"
            f" seeds a second; {sum(each.committed for each in results)} records committed,"
            f" {sum(each.acknowledged for each in results)} batches acknowledged by all replicas,"
            f" {sum(each.losses for each in results)} losses where they are allowed"
        )

    seed = options.first
    for seed in range(options.first, options.first + options.seeds):
        try:
            results.append(run(seed, options.steps))
        except Failed as failed:
            failures.append(failed)
            _say(
                f"seed {seed}: {str(failed.violation).splitlines()[0][:300]}"
                if options.go_on
                else f"seed {seed}:\n{failed}"
            )
            if not options.go_on:
                return 1
            if len(failures) == MOST_FAILURES:
                break
        if time.monotonic() - said_s > 10:
            said_s = time.monotonic()
            say()
        if time.monotonic() - began_s > options.seconds:
            break
    say()
    return 1 if failures else 0


def _find(options: argparse.Namespace) -> int:
    """Run each mutant until a seed finds it, and the tests that prove the others; print a table.

    Return 1 if a mutant was not found.
    """

    def attempt(name: str, seed: int) -> str | None:
        with ALL[name].alive():
            try:
                run(seed, options.steps)
            except Failed as failed:
                return str(failed.violation).splitlines()[0][:150]
        return None

    search = Search(attempt, time.monotonic, _say)
    count = min(options.seeds, MUTANT_SEEDS)
    search.find(MUTANTS, SEEDS, range(options.first, options.first + count), options.seconds)
    proved = {name: f"test {test}" for name, test in PROVED.items() if is_proved(name)}
    _say("\n".join(table(ALL, search.found, proved)))
    missed = ALL.keys() - search.found.keys() - proved.keys()
    _say(f"{len(ALL)} mutants, {len(missed)} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets of texts have an order that depends on it
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main())
