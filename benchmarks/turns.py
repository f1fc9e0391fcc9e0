"""Two running systems, measured in turns beside Apache Kafka: while one is measured the other is stopped."""

from __future__ import annotations

import argparse
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeAlias, TypeVar

from benchmarks.compare.machine import Watch, machine
from benchmarks.compare.process import Server
from benchmarks.compare.systems.system import System

OURS, THEIRS = "kafkatx", "kafka-4"
Figures: TypeAlias = "dict[str, float]"
"""Figures of a cell by their names."""


class Place(Protocol):
    """A running system."""

    @property
    def system(self) -> System:
        """The system."""

    @property
    def server(self) -> Server:
        """Its processes."""

    @property
    def port(self) -> int:
        """Its port for clients."""


PlaceT = TypeVar("PlaceT", bound=Place)
Cell: TypeAlias = "Callable[[PlaceT, str, float], Figures]"
"""Measures for some seconds with a topic of this name."""


@contextmanager
def awake(place: Place) -> Iterator[None]:
    """Wake a system, and stop it again at the end."""
    place.server.go_on()
    place.system.wake(place.port)
    try:
        yield
    finally:
        place.server.pause()


def measure(place: PlaceT, cells: Mapping[str, Cell[PlaceT]], seconds: float, turn: str) -> Figures:
    """Measure all cells of one system; one that fails is left out."""
    found: Figures = {}
    with awake(place):
        for number, (name, cell) in enumerate(cells.items()):
            told = f"round {turn}: {place.system.name}: {name}"
            try:
                figures = cell(place, f"t-{turn}-{number}", seconds)
            except RuntimeError as error:
                print(f"{told}: failed: {error}", flush=True)
            else:
                print(f"{told}: {', '.join(f'{one:.2f}' for one in figures.values())}", flush=True)
                found |= figures
    return found


def take_turns(
    places: Sequence[PlaceT], cells: Mapping[str, Cell[PlaceT]], seconds: float, count: int
) -> list[dict[str, Figures]]:
    """Warm all systems up by every cell, then measure *count* rounds; each is first in every other one."""
    for place in places:
        measure(place, cells, seconds, "warm")
    rounds = []
    for number in range(count):
        order = places if number % 2 == 0 else places[::-1]
        rounds.append({p.system.name: measure(p, cells, seconds, str(number)) for p in order})
    return rounds


def table(rounds: Sequence[Mapping[str, Figures]], form: Callable[[str], str] = lambda name: ",.0f") -> str:
    """Return a Markdown table of the rounds' figures: median and range, and the ratios within a round.

    :param form: returns the format of a figure.
    """
    lines = ["| | kafkatx | Apache Kafka 4 | ratio |", "|---|---|---|---|"]
    for name in dict.fromkeys(name for one in rounds for name in one[OURS]):
        both = [one for one in rounds if name in one[OURS] and name in one[THEIRS]]
        if both:
            ours, theirs = ([one[system][name] for one in both] for system in (OURS, THEIRS))
            ratios = [one[OURS][name] / one[THEIRS][name] for one in both]
            cells = (name, spread(ours, form(name)), spread(theirs, form(name)), spread(ratios, ".2f"))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def spread(values: Sequence[float], form: str) -> str:
    """Return ``median (lowest-highest)``."""
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def run(
    parser: argparse.ArgumentParser,
    every: Mapping[str, Cell[PlaceT]],
    running: Callable[[], AbstractContextManager[Sequence[PlaceT]]],
    form: Callable[[str], str] = lambda name: ",.0f",
) -> None:
    """Measure what the command line asks for, and print it.

    :param running: starts the systems, each of them stopped until :func:`awake`.
    """
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a cell whose work is not fixed")
    parser.add_argument("--cells", default="", help="measure cells whose names have this text")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the brokers are to end, too
    cells = {name: cell for name, cell in every.items() if given.cells in name}
    begun_s, watch = time.monotonic(), Watch()
    with running() as places:
        rounds = take_turns(places, cells, given.seconds, given.rounds)
        told = ", ".join(f"{place.system.name} {place.system.version()}" for place in places)
    print(
        f"\n{given.rounds} rounds in {time.monotonic() - begun_s:.0f} s; {told}; {machine()};"
        f" {watch.stolen_percent():.0f}% of a core taken by the host\n"
    )
    print(table(rounds, form))
