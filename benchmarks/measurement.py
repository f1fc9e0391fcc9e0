"""Tools for loads of clients: a stop watch, and a reactor to run them in."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Coroutine
from typing import Any


class Stopwatch:
    """Wall time and the process's CPU time."""

    def __init__(self) -> None:
        self._wall_s = time.perf_counter()
        self._cpu_s = self._used()

    @staticmethod
    def _used() -> float:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime

    def stop(self, messages: int) -> dict[str, float]:
        """The figures of one load."""
        seconds = time.perf_counter() - self._wall_s
        return {"per_s": messages / seconds, "cpu_us": (self._used() - self._cpu_s) / messages * 1e6}


def run_twisted(main: Callable[[Any], Coroutine[Any, Any, dict[str, float]]]) -> dict[str, float]:
    """Run a coroutine in a reactor."""
    from twisted.internet import reactor as installed
    from twisted.internet.defer import Deferred

    reactor: Any = installed
    outcome: list[Any] = []

    def start() -> None:
        done = Deferred.fromCoroutine(main(reactor))
        done.addBoth(outcome.append).addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(start)
    reactor.run()
    if not isinstance(outcome[0], dict):
        raise RuntimeError(str(outcome[0]))
    measured: dict[str, float] = outcome[0]
    return measured
