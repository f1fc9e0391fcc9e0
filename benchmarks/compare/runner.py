"""Runs experiments: each system in turn, in each round, with a cell's load on it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence

from benchmarks.compare.experiments.place import Cell, Experiment, Place, consume, produce
from benchmarks.compare.results import Results
from benchmarks.compare.systems.system import System
from benchmarks.running import free_port

BROKER_CORE, CLIENT_CORE = 1, 0
WARM_UPS, WARM_UP, WARM_UP_ALONE = 3, 300_000, 40_000

Tell = Callable[[str], None]


def run(
    experiments: Sequence[Experiment],
    systems: Sequence[System],
    rounds: int,
    scale: float,
    pinned: bool,
    results: Results,
    tell: Tell,
    after_round: Callable[[], None],
) -> None:
    """Measure all cells.

    :param pinned: the broker on one core and its clients on another.
    :param tell: called with a line before each system, and after each cell.
    :param after_round: called when all systems had their turn: what is done so far can be kept.
    """
    for sitting in sittings(experiments):
        letters = "".join(experiment.letter for experiment in sitting)
        for number in range(rounds):
            for system in systems:
                if any(taking_part(experiment, system) for experiment in sitting):
                    tell(f"({letters}) round {number + 1} of {rounds}: {system.name}")
                    try:
                        _run_one(sitting, system, scale, pinned, results, tell)
                    except Exception as error:  # one system's failure is no reason to lose the others'
                        results.notes.append(f"({letters}) {system.name} failed: {error}")
                        tell(results.notes[-1])
            after_round()


def sittings(experiments: Sequence[Experiment]) -> list[list[Experiment]]:
    """Which experiments are measured with the same running system: all that do not have one of their own."""
    together = [experiment for experiment in experiments if not experiment.alone]
    return [*([together] if together else []), *([one] for one in experiments if one.alone)]


def taking_part(experiment: Experiment, system: System) -> list[Cell]:
    """The cells of an experiment that a system is measured in."""
    if experiment.systems is not None:
        takes_part = system.name in experiment.systems
    else:
        takes_part = system.kafka and system.name != "floor"
    return [cell for cell in experiment.cells if takes_part and (system.kafka or not cell.kafka)]


def _warm_up(place: Place) -> None:
    """Loads of all kinds: a JVM needs them to be as fast as it gets, on one core for some ten seconds.

    They end with a consumer, for what is in a queue of a rival would hold memory.
    """
    topic, many = place.topic(), place.count(WARM_UP)
    for _ in range(WARM_UPS if place.system.kafka else 1):
        produce(place, topic, many, 200, {"linger.ms": 5})
        if place.system.kafka:
            alone = {"linger.ms": 0, "batch.num.messages": 1}
            produce(place, topic, place.count(WARM_UP_ALONE), 200, alone)
        consume(place, topic, many, {})


def _run_one(
    sitting: Sequence[Experiment], system: System, scale: float, pinned: bool, results: Results, tell: Tell
) -> None:
    """One round of all cells of some experiments, with one system."""
    folder, port = tempfile.mkdtemp(prefix="kafkatx-bench-"), free_port()
    broker_core, client_core = (BROKER_CORE, CLIENT_CORE) if pinned else (None, None)
    try:
        with system.start(folder, port, broker_core) as server:
            place = Place(system, server, port, folder, client_core, scale)
            if not any(experiment.cold for experiment in sitting):
                _warm_up(place)
            for experiment in sitting:
                for cell in taking_part(experiment, system):
                    _measure(experiment, cell, place, results, tell)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(experiment: Experiment, cell: Cell, place: Place, results: Results, tell: Tell) -> None:
    """One round of a cell."""
    os.sync()  # what the ones before have written is not to be written now
    place.server.forget_peak()
    try:
        metrics = cell.measure(place)
    except (RuntimeError, OSError) as error:
        results.notes.append(f"({experiment.letter}) {cell.name} failed with {place.system.name}: {error}")
        tell(results.notes[-1])
        return
    results.add(experiment.letter, cell.name, place.system.name, metrics)
    shown = experiment.metrics[0]
    tell(f"    ({experiment.letter}) {cell.name}: {shown} {metrics[shown]:,.6g}")
