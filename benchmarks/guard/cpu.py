"""Broker CPU time: both trees' brokers run, and get the same loads in turn."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from tempfile import TemporaryDirectory

from benchmarks.guard.broker import Broker, blaming, broker
from benchmarks.guard.loads import Load

WARM_UP_ROUNDS = 2

Rounds = dict[str, dict[str, list[float]]]
"""For each load and each tree's name what each round took."""


def missing() -> str | None:
    """Return the reason why nothing can be measured here, or None."""
    return None if os.path.exists("/proc/self/schedstat") else "this system has no /proc/PID/schedstat"


def measure(
    trees: Mapping[str, str],
    loads: Sequence[Load],
    starts: int,
    rounds: int,
    folder: str,
    cores: tuple[int, int] | None,
    tell: Callable[[str], None],
) -> Rounds:
    """Microseconds of CPU for a request.

    The trees take turns, and take turns in who is first. Brokers are started more than once, for where a
    process has its memory makes it faster or slower by some percent.

    :param trees: two folders by their names.
    :param cores: the brokers' and the client's; None: wherever.
    :raises CannotRun: one of the brokers does not.
    :raises WrongTree: one of them runs other code.
    """
    took: Rounds = {load.name: defaultdict(list) for load in loads}
    if cores is not None:
        os.sched_setaffinity(0, {cores[1]})
    for start in range(starts):
        tell(f"CPU time: start {start + 1} of {starts}")
        with ExitStack() as stack:
            # what a start leaves to be written to the disk would slow the next ones
            own = stack.enter_context(TemporaryDirectory(dir=folder))
            brokers = {
                name: _start(stack, name, tree, os.path.join(own, name), cores and cores[0])
                for name, tree in trees.items()
            }
            for load in loads:
                _take_turns(brokers, load, rounds, took[load.name])
    return took


def _start(stack: ExitStack, name: str, tree: str, folder: str, core: int | None) -> Broker:
    os.mkdir(folder)
    with blaming(name):
        return stack.enter_context(broker(tree, folder, core))


def _take_turns(brokers: Mapping[str, Broker], load: Load, rounds: int, took: dict[str, list[float]]) -> None:
    """The rounds of one load."""
    for number in range(-WARM_UP_ROUNDS, rounds):
        for name in sorted(brokers, reverse=bool(number % 2)):
            with blaming(name):
                us = brokers[name].run(load)
            if number >= 0:
                took[name].append(us)
