"""Many runs of the simulation of mirrors, or one alone.

``python -m tests.simulation.mirror`` runs one seed after the other, at most SEEDS of them and until SECONDS
have passed, and stops at the first that fails. ``--seed N`` runs one seed, and prints its whole history if it
fails. ``--mutants`` takes one rule after the other out of the code, prints what finds that, and fails if
nothing does.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import nullcontext

from tests.simulation.mirror.mutants import MUTANTS, SEEDS
from tests.simulation.mirror.run import STEPS, Result, run
from tests.simulation.replication.mutants.search import Search, table
from tests.simulation.replication.run import Failed


def main() -> int:
    """Run the simulation; return 1 if a run has failed, or a mutant was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mirror")
    parser.add_argument("--seed", type=int, help="run this seed alone")
    parser.add_argument("--first", type=int, default=0, help="the first of many seeds")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds to run")
    parser.add_argument("--steps", type=int, default=STEPS, help="things that happen in a run")
    parser.add_argument("--seconds", type=float, default=300.0, help="seconds after which no run begins")
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
    began_s = time.monotonic()
    results: list[Result] = []
    seed = options.first
    for seed in range(options.first, options.first + options.seeds):
        try:
            results.append(run(seed, options.steps))
        except Failed as failed:
            _say(f"seed {seed}:\n{failed}")
            return 1
        if time.monotonic() - began_s > options.seconds:
            break
    rate = len(results) / (time.monotonic() - began_s)
    _say(
        f"mirror, seeds {options.first} to {seed}: 0 violations; {rate:.1f} seeds a second;"
        f" {sum(each.records for each in results)} records, {sum(each.losses for each in results)} losses at"
        f" the source, {sum(each.promoted for each in results)} promotions"
    )
    return 0


def _find(options: argparse.Namespace) -> int:
    """Run each mutant until a seed finds it; print a table; return 1 if a mutant was not found."""

    def attempt(name: str, seed: int) -> str | None:
        with MUTANTS[name].alive():
            try:
                run(seed, options.steps)
            except Failed as failed:
                return str(failed.violation).splitlines()[0][:150]
        return None

    search = Search(attempt, time.monotonic, _say)
    seeds = range(options.first, options.first + options.seeds)
    search.find(MUTANTS, SEEDS, seeds, options.seconds)
    _say("\n".join(table(MUTANTS, search.found, {})))
    missed = MUTANTS.keys() - search.found.keys()
    _say(f"mirror: {len(MUTANTS)} mutants, {len(missed)} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets of texts have an order that depends on it
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main())
