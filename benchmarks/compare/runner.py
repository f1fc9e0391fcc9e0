"""Runs experiments: each system in turn, in each round, with a cell's load on it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence

from benchmarks.compare.experiments.place import Experiment, Place, produce
from benchmarks.compare.results import Results
from benchmarks.compare.systems.system import System
from benchmarks.running import free_port

BROKER_CORE, CLIENT_CORE = 1, 0
WARM_UP = 300_000

Tell = Callable[[str], None]


def run(
    experiments: Sequence[Experiment],
    systems: Sequence[System],
    rounds: int,
    scale: float,
    pinned: bool,
    results: Results,
    tell: Tell,
    after_experiment: Callable[[], None],
) -> None:
    """Measure all cells.

    :param pinned: the broker on one core and its clients on another.
    :param tell: called with a line before each cell.
    :param after_experiment: called after each: what is done so far can be kept.
    """
    for experiment in experiments:
        for number in range(rounds):
            for system in systems:
                if _takes_part(experiment, system):
                    tell(f"({experiment.letter}) round {number + 1} of {rounds}: {system.name}")
                    try:
                        _run_one(experiment, system, scale, pinned, results, tell)
                    except Exception as error:  # one system's failure is no reason to lose the others'
                        results.notes.append(f"({experiment.letter}) {system.name} failed: {error}")
                        tell(results.notes[-1])
        after_experiment()


def _takes_part(experiment: Experiment, system: System) -> bool:
    if experiment.systems is not None:
        return system.name in experiment.systems
    return system.kafka and system.name != "floor"


def _run_one(
    experiment: Experiment, system: System, scale: float, pinned: bool, results: Results, tell: Tell
) -> None:
    """One round of all cells of an experiment, with one system."""
    folder, port = tempfile.mkdtemp(prefix="kafkatx-bench-"), free_port()
    broker_core, client_core = (BROKER_CORE, CLIENT_CORE) if pinned else (None, None)
    try:
        with system.start(folder, port, broker_core) as server:
            place = Place(system, server, port, folder, client_core, scale)
            if experiment.letter != "h":  # JVMs need it to be as fast as they get
                produce(place, place.topic(), place.count(WARM_UP), 200, {"linger.ms": 5})
            for cell in experiment.cells:
                server.forget_peak()
                try:
                    metrics = cell.measure(place)
                except (RuntimeError, OSError) as error:
                    results.notes.append(
                        f"({experiment.letter}) {cell.name} failed with {system.name}: {error}"
                    )
                    tell(results.notes[-1])
                    continue
                results.add(experiment.letter, cell.name, system.name, metrics)
                shown = experiment.metrics[0]
                tell(f"    {cell.name}: {shown} {metrics[shown]:,.6g}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
