"""Runs experiments: a cell's load on each system in turn, in each round."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from benchmarks.broker_process import free_port
from benchmarks.compare.experiments.place import Cell, Experiment, Place, consume, produce
from benchmarks.compare.machine import Watch
from benchmarks.compare.results import CALM_PERCENT, STOLEN, Results
from benchmarks.compare.systems.system import System

BROKER_CORE, CLIENT_CORE = 1, 0
WARM_UPS, WARM_UP, WARM_UP_ALONE = 3, 300_000, 40_000

Tell = Callable[[str], None]


class Manner(NamedTuple):
    """Options of a run.

    :ivar scale: by what the counts of messages are multiplied.
    :ivar pinned: the broker on one core and its clients on another.
    """

    scale: float
    pinned: bool


def run(
    experiments: Sequence[Experiment],
    systems: Sequence[System],
    rounds: range,
    manner: Manner,
    results: Results,
    tell: Tell,
    after_round: Callable[[], None],
) -> None:
    """Measure all cells.

    :param rounds: their numbers, from 0.
    :param tell: called with a line before each system, and after each cell.
    :param after_round: called when all systems had their turn: what is done so far can be kept.
    """
    for sitting in sittings(experiments):
        if sitting[0].alone:
            for number in rounds:
                _announce(sitting, number, rounds, tell)
                for system in systems:
                    with Started(sitting, manner, results, tell) as one:
                        one.start(system)
                        one.measure(number)
                after_round()
            continue
        for number in rounds:
            with Started(sitting, manner, results, tell) as all_of_them:
                for system in systems:
                    all_of_them.start(system)
                _announce(sitting, number, rounds, tell)
                all_of_them.measure(number)
                after_round()


def _announce(sitting: Sequence[Experiment], number: int, rounds: range, tell: Tell) -> None:
    tell(f"({_letters(sitting)}) round {number + 1} of {rounds.stop}")


def _letters(sitting: Sequence[Experiment]) -> str:
    return "".join(experiment.letter for experiment in sitting)


def sittings(experiments: Sequence[Experiment]) -> list[list[Experiment]]:
    """Group the experiments that are measured with the same running system."""
    together = [experiment for experiment in experiments if not experiment.alone]
    return [*([together] if together else []), *([one] for one in experiments if one.alone)]


def taking_part(experiment: Experiment, system: System) -> list[Cell]:
    """The cells of an experiment that a system is measured in."""
    if experiment.systems is not None:
        takes_part = system.name in experiment.systems
    else:
        takes_part = system.kafka and not system.yardstick
    return [
        cell
        for cell in experiment.cells
        if takes_part and system.kafka >= cell.kafka and system.keeps >= cell.kept
    ]


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


class Started:
    """Systems that were started for some experiments: all are there, and all but one are stopped.

    So each cell is measured with all of them within a minute, and what the machine's neighbours do to one
    they do to the others; and none takes time from the one whose turn it is. A context manager: its end
    is theirs.
    """

    def __init__(self, sitting: Sequence[Experiment], manner: Manner, results: Results, tell: Tell) -> None:
        self._sitting = sitting
        self._manner = manner
        self._broker_core = BROKER_CORE if manner.pinned else None
        self._client_core = CLIENT_CORE if manner.pinned else None
        self._results = results
        self._tell = tell
        self._places: list[Place] = []
        self._begun = Watch()
        self._stack = ExitStack()

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, system: System) -> None:
        """Start one, if it takes part, and warm it up; one that fails is no reason to lose the others."""
        if not any(taking_part(experiment, system) for experiment in self._sitting):
            return
        self._tell(f"  {system.name} starts")
        folder, port = tempfile.mkdtemp(prefix="kafkatx-bench-"), free_port()
        self._begun = Watch()
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            server = self._stack.enter_context(system.start(folder, port, self._broker_core))
            place = Place(system, server, port, folder, self._client_core, self._manner.scale, [])
            if not any(experiment.cold for experiment in self._sitting):
                _warm_up(place)
                place.clean()
            server.pause()
        except Exception as error:
            self._note(f"({_letters(self._sitting)}) {system.name} failed: {error}")
            return
        self._places.append(place)

    def measure(self, number: int) -> None:
        """Measure each cell with each system that has it, once; who is first is another one each time.

        :param number: the round's.
        """
        for experiment in self._sitting:
            for at, cell in enumerate(experiment.cells, number):
                self._tell(f"    ({experiment.letter}) {cell.name}")
                first = at % len(self._places) if self._places else 0
                for place in self._places[first:] + self._places[:first]:
                    if cell in taking_part(experiment, place.system):
                        self._measure(experiment, cell, place, number)

    def _measure(self, experiment: Experiment, cell: Cell, place: Place, number: int) -> None:
        os.sync()  # what the ones before have written is not to be written now
        place.server.go_on()
        try:
            place.system.wake(place.port)
            place.server.forget_peak()
            watch = self._begun if experiment.cold else Watch()
            metrics = cell.measure(place)
            stolen_percent = watch.stolen_percent()
            place.clean()
        except Exception as error:
            self._note(f"({experiment.letter}) {cell.name} failed with {place.system.name}: {error}")
            return
        finally:
            place.server.pause()
        measured = {**metrics, STOLEN: stolen_percent}
        self._results.add(experiment.letter, cell.name, place.system.name, measured, number)
        shown = experiment.metrics[0]
        disturbed = stolen_percent > CALM_PERCENT
        taken = f" ({stolen_percent:.0f}% of a core was the host's)" if disturbed else ""
        self._tell(f"        {place.system.name}: {shown} {metrics[shown]:,.6g}{taken}")

    def _note(self, note: str) -> None:
        self._results.notes.append(note)
        self._tell(note)
