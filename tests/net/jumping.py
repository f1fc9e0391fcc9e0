"""A reactor in a world whose wall clock jumps: driven by the test, it never waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.base import ReactorBase
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net import reactors

HOUR_S = 3600.0


class World:
    """The two clocks, in place of the module ``time``.

    :ivar uptime_s: what the monotonic clock says.
    :ivar wall_s: what the wall clock says.
    """

    def __init__(self, wall_s: float = 1_700_000_000.0) -> None:
        self.uptime_s = 500.0
        self.wall_s = wall_s

    def monotonic(self) -> float:
        """As :func:`time.monotonic`."""
        return self.uptime_s

    def time(self) -> float:
        """As :func:`time.time`."""
        return self.wall_s


class JumpingClock:
    """A reactor of our own as an IReactorTime that tests advance, as they do a Clock.

    :ivar world: set its ``wall_s`` to set the wall clock.
    """

    def __init__(
        self,
        test: SynchronousTestCase,
        make: Callable[[], Any] | None = None,
        wall_s: float = 1_700_000_000.0,
    ) -> None:
        """Make a reactor in a world of its own.

        :param make: makes the reactor; None: :func:`~kafkatx.net.reactors.new_reactor`.
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
        """Let time pass, in steps of at most a tenth of a second, and run what is due."""
        left = seconds
        while left > 1e-9:
            step = min(left, 0.1)
            left -= step
            self.world.uptime_s += step
            self.world.wall_s += step
            self.reactor.runUntilCurrent()
