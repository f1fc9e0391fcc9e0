"""``python -m benchmarks.compare``: the experiments of ``docs/performance.md``, measured anew.

Writes ``results.json``, ``tables.md`` and a PNG for each experiment, after every experiment: a run may be
broken off.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from benchmarks.compare import ceiling, goals, plots, table
from benchmarks.compare.ballast import ballast, needed
from benchmarks.compare.experiments import EXPERIMENTS
from benchmarks.compare.experiments.place import Experiment
from benchmarks.compare.loads import librdkafka
from benchmarks.compare.loads.build import NotBuilt
from benchmarks.compare.machine import machine
from benchmarks.compare.results import Results, read
from benchmarks.compare.runner import Manner, run
from benchmarks.compare.systems import SYSTEMS
from benchmarks.compare.systems.system import System

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOTHING: dict[str, Any] = {"machine": {}, "notes": [], "results": []}
QUICK = ("abcefh", 1, 0.15)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare")
    parser.add_argument("--quick", action="store_true", help="a few experiments, small, once")
    parser.add_argument("--experiments", default="", help="letters, such as acf; all without it")
    parser.add_argument("--systems", default="", help=f"some of {','.join(SYSTEMS)}")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each experiment")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the counts of messages")
    parser.add_argument("--keep", action="store_true", help="keep what is there of other experiments")
    parser.add_argument("--to", default=os.path.join(ROOT, "docs", "performance"), help="where results go")
    asked = parser.parse_args()
    if asked.quick:
        letters, asked.rounds, asked.scale = QUICK
        asked.experiments = asked.experiments or letters
    return asked


def _chosen(names: str, results: Results) -> list[System]:
    """The systems that are asked for and can be measured here; the others are noted."""
    wanted = names.split(",") if names else list(SYSTEMS)
    found = []
    for name in wanted:
        if name not in SYSTEMS:
            raise SystemExit(f"--systems {name}: there are {', '.join(SYSTEMS)}")
        reason = SYSTEMS[name].missing()
        if reason is None:
            found.append(SYSTEMS[name])
        else:
            results.notes.append(f"{name} was left out: {reason}")
    return found


def _earlier(folder: str) -> dict[str, Any]:
    """Read the results that an earlier run has left in a folder."""
    path = os.path.join(folder, "results.json")
    if not os.path.exists(path):
        return NOTHING
    with open(path) as file:
        document: dict[str, Any] = json.load(file)
    return document


def _write(folder: str, results: Results) -> None:
    figures = results.figures()
    done: list[Experiment] = [
        experiment
        for letter, experiment in EXPERIMENTS.items()
        if any(key.experiment == letter for key in figures)
    ]
    with open(os.path.join(folder, "results.json"), "w") as file:
        file.write(results.as_json(table.WORDS))
    with open(os.path.join(folder, "tables.md"), "w") as file:
        file.write(table.page(figures, done, results.machine, results.notes))
    for experiment in done:
        plots.plot(figures, experiment, folder)


def main() -> int:
    """Measure, write, and say how we stand."""
    asked = _arguments()
    try:
        librdkafka.program()
    except NotBuilt as error:
        raise SystemExit(str(error)) from None
    pinned = (os.cpu_count() or 1) > 1
    letters = asked.experiments or "".join(EXPERIMENTS)
    earlier = _earlier(asked.to) if asked.keep else NOTHING
    results = Results(machine(), read(earlier))
    results.notes += earlier["notes"]
    results.forget(letters)
    systems = _chosen(asked.systems, results)
    told = {system.name: f"{system.version()}; {system.settings()}" for system in systems}
    results.machine |= {
        "systems": {**earlier["machine"].get("systems", {}), **told},
        "pinned": pinned,
        "ballast": needed(),
        "scale": {**earlier["machine"].get("scale", {}), **dict.fromkeys(letters, asked.scale)},
    }
    for note in results.notes:
        print(note)
    os.makedirs(asked.to, exist_ok=True)
    begun_s = time.monotonic()

    with ballast():
        run(
            [EXPERIMENTS[letter] for letter in letters],
            systems,
            range(asked.rounds),
            Manner(asked.scale, pinned),
            results,
            lambda line: print(f"{time.monotonic() - begun_s:6.0f} s  {line}", flush=True),
            lambda: _write(asked.to, results),
        )
    print(goals.shown(results.figures()))
    print(ceiling.shown(results.figures()))
    print(table.papers_order(results.figures()), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
