"""A reactor driven by the test, in a world whose wall clock jumps; it never waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.base import ReactorBase
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net import reactors

HOUR_S = 3600.0


class World:
    """The monotonic clock and the wall clock, in place of the module ``time``.

    :ivar uptime_s: time of the monotonic clock.
    :ivar wall_s: time of the wall clock.
    """

    def __init__(self, wall_s: float = 1_700_000_000.0) -> None:
        self.uptime_s = 500.0
        self.wall_s = wall_s

    def monotonic(self) -> float:
        """Return the uptime, like :func:`time.monotonic`."""
        return self.uptime_s

    def time(self) -> float:
        """Return the wall clock's time, like :func:`time.time`."""
        return self.wall_s


class JumpingClock:
    """A kafkatx reactor as an IReactorTime that tests advance like a Clock.

    :ivar world: set its ``wall_s`` to set the wall clock.
    """

    def __init__(
        self,
        test: SynchronousTestCase,
        make: Callable[[], Any] | None = None,
        wall_s: float = 1_700_000_000.0,
    ) -> None:
        """Make a reactor in a world of its own.

        :param make: factory of the reactor; None stands for :func:`~kafkatx.net.reactors.new_reactor`.
        """
        self.world = World(wall_s)
        test.patch(reactors, "time", self.world)
        test.patch(ReactorBase, "seconds", staticmethod(self.world.time))
        self.reactor = (make or reactors.new_reactor)()
        test.addCleanup(reactors.close_reactor, self.reactor)
        self.seconds = self.reactor.seconds
        self.callLater = self.reactor.callLater
        self.getDelayedCalls = self.reactor.getDelayedCalls

    def advance(self, seconds: float) -> None:
        """Advance both clocks in steps of at most a tenth of a second, and run the calls that are due."""
        left = seconds
        while left > 1e-9:
            step = min(left, 0.1)
            left -= step
            self.world.uptime_s += step
            self.world.wall_s += step
            self.reactor.runUntilCurrent()
