"""The clocks of reactors: calls run in time while the wall clock is set back and forward."""

from __future__ import annotations

import asyncio
from typing import Any

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx import tap
from kafkatx.client.facades.loop_reactor import LoopReactor
from kafkatx.net import reactors
from tests.net.jumping import HOUR_S, JumpingClock, World


def twisted_reactor() -> Any:
    """Make a reactor as Twisted makes it."""
    from twisted.internet.selectreactor import SelectReactor

    return SelectReactor()


class MakeMonotonicTests(SynchronousTestCase):
    def test_delayed_calls(self) -> None:
        """A call runs after its delay, however the wall clock is set meanwhile."""
        for jump_s in (-HOUR_S, HOUR_S):
            clock, came = JumpingClock(self), list[float]()
            clock.callLater(5, lambda clock=clock, came=came: came.append(clock.world.uptime_s))
            began_s = clock.world.uptime_s
            clock.advance(1)
            clock.world.wall_s += jump_s
            clock.advance(10)
            self.assertEqual([round(when - began_s) for when in came], [5])

    def test_timeout(self) -> None:
        """The reactor waits for its sockets only until the next call."""
        clock = JumpingClock(self)
        clock.callLater(5, lambda: None)
        clock.reactor.runUntilCurrent()
        clock.world.wall_s -= HOUR_S
        self.assertAlmostEqual(clock.reactor.timeout(), 5)

    def test_looping_call(self) -> None:
        """A LoopingCall keeps its interval while the wall clock jumps."""
        clock, rounds = JumpingClock(self), list[int]()
        chore = LoopingCall(rounds.append, 1)
        chore.clock = clock.reactor
        chore.start(2, now=False)
        for jump_s in (0, -HOUR_S, 2 * HOUR_S):
            clock.world.wall_s += jump_s
            del rounds[:]
            clock.advance(10)
            self.assertIn(len(rounds), (4, 5))
        chore.stop()

    def test_calls_from_before(self) -> None:
        """Calls scheduled before the change run when they are due, and can be rescheduled."""
        clock, came = JumpingClock(self, twisted_reactor), list[str]()
        clock.callLater(5, came.append, "kept")
        moved = clock.callLater(5, came.append, "moved")
        gone = clock.callLater(1, came.append, "gone")
        reactors.make_monotonic(clock.reactor)
        clock.world.wall_s -= HOUR_S
        gone.cancel()
        moved.reset(8)
        clock.advance(7)
        self.assertEqual(came, ["kept"])
        clock.advance(2)
        self.assertEqual(came, ["kept", "moved"])

    def test_twice(self) -> None:
        """A second call changes nothing."""
        clock = JumpingClock(self, twisted_reactor)
        reactors.make_monotonic(clock.reactor)
        seconds = clock.reactor.seconds
        reactors.make_monotonic(clock.reactor)
        self.assertIs(clock.reactor.seconds, seconds)


class OwnReactorsTests(SynchronousTestCase):
    """The reactors that kafkatx makes or is given for itself."""

    def check(self, reactor: Any, world: World) -> None:
        """Assert that setting the wall clock does not move the reactor's clock."""
        before_s = reactor.seconds()
        world.wall_s -= HOUR_S
        self.assertEqual(reactor.seconds(), before_s)
        world.uptime_s += 1
        self.assertEqual(reactor.seconds(), before_s + 1)

    def test_asyncio(self) -> None:
        """The reactor of asyncio clients does not follow the wall clock."""
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        clock = JumpingClock(self, lambda: LoopReactor(loop))
        self.check(clock.reactor, clock.world)

    def test_twistd(self) -> None:
        """The reactor of twistd does not follow the wall clock once the service is made."""
        from twisted import internet

        clock = JumpingClock(self, twisted_reactor)
        self.patch(internet, "reactor", clock.reactor)
        self.patch(tap, "allow_open_files", lambda: None)
        options = tap.Options()
        options.parseOptions(["--set", f"log.dirs={self.mktemp()}"])
        tap.makeService(options)
        self.check(clock.reactor, clock.world)


class WallClockTests(SynchronousTestCase):
    def test_interface(self) -> None:
        """The clock is an IReactorTime with the wall clock's seconds and the reactor's calls."""
        jumping, came = JumpingClock(self), list[str]()
        clock = reactors.WallClock(jumping.reactor)
        self.assertTrue(verifyObject(IReactorTime, clock))
        call = clock.callLater(5, came.append, "came")
        jumping.reactor.runUntilCurrent()
        self.assertEqual(clock.getDelayedCalls(), [call])
        jumping.world.wall_s -= HOUR_S
        self.assertEqual(clock.seconds(), jumping.world.wall_s)
        jumping.advance(6)
        self.assertEqual(came, ["came"])
