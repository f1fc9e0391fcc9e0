"""Many runs of the simulation, or one alone.

``python -m tests.simulation.restored`` runs one seed after the other until SECONDS have passed, and stops at
the first that fails. ``--seed N`` runs one seed, and prints its whole history if it fails; ``--mutants``
takes one rule after the other out of the code, and fails if no seed finds that.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import nullcontext

from tests.simulation.replication.run import Failed
from tests.simulation.restored.mutants import MUTANTS
from tests.simulation.restored.run import run

MUTANT_SEEDS = 25
"""Seeds within which a mutant must be found."""


def main() -> int:
    """Run the simulation; return 1 if a run has failed, or a mutant was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.restored")
    parser.add_argument("--seed", type=int, help="run this seed alone")
    parser.add_argument("--first", type=int, default=0, help="the first of many seeds")
    parser.add_argument("--steps", type=int, default=0, help="ignored: as other simulations are called")
    parser.add_argument("--seconds", type=float, default=600.0, help="seconds after which no run begins")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="a rule to take out")
    parser.add_argument("--mutants", action="store_true", help="find all mutants")
    options = parser.parse_args()
    if options.mutants:
        return _find()
    with MUTANTS[options.mutant].alive() if options.mutant else nullcontext():
        if options.seed is not None:
            return _alone(options.seed)
        return _many(options.first, options.seconds)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _alone(seed: int) -> int:
    try:
        _say(f"seed {seed}: no violation; {run(seed)} records acknowledged")
    except Failed as failed:
        _say("\n".join(failed.history))
        _say(f"VIOLATION: {failed.violation}")
        return 1
    return 0


def _many(first: int, seconds: float) -> int:
    """Run one seed after the other."""
    end_s = time.monotonic() + seconds
    seed, records = first, 0
    while time.monotonic() < end_s:
        try:
            records += run(seed)
        except Failed as failed:
            _say(f"seed {seed}:\n{failed}")
            return 1
        seed += 1
    _say(f"seeds {first} to {seed - 1}: no violation; {records} records acknowledged")
    return 0


def _find() -> int:
    """Run each mutant until a seed finds it."""
    missed = 0
    for name, mutant in MUTANTS.items():
        with mutant.alive():
            for seed in range(MUTANT_SEEDS):
                try:
                    run(seed)
                except Failed as failed:
                    _say(f"{name}: seed {seed}: {str(failed.violation).splitlines()[0][:120]}")
                    break
            else:
                _say(f"{name}: NOT FOUND in {MUTANT_SEEDS} seeds: {mutant.rule}")
                missed = 1
    return missed


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets of texts have an order that depends on it
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main())
