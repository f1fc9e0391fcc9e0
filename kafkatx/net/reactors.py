"""Reactors that are not the process's default, and monotonic clocks for reactors.

Twisted's reactors time delayed calls by the wall clock: when that is set back an hour, no call comes for an
hour, and when it is set forward, every session and every delivery times out at once. :func:`make_monotonic`
fixes that for a reactor of our own; :class:`WallClock` is for code that needs timestamps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.posixbase import PosixReactorBase
from zope.interface import implementer


def new_reactor() -> PosixReactorBase:
    """Return a new reactor of this platform's best kind, not installed; its clock is monotonic."""
    try:
        from twisted.internet.epollreactor import EPollReactor as Reactor
    except ImportError:
        from twisted.internet.selectreactor import SelectReactor as Reactor
    reactor: PosixReactorBase = Reactor()
    make_monotonic(reactor)
    return reactor


def make_monotonic(reactor: IReactorTime) -> None:
    """Time the delayed calls of *reactor* by the monotonic clock.

    The new clock goes on from where the old one is, so calls that already wait come when they are due. From
    then on ``reactor.seconds()`` tells durations, not the time of day. A second call does nothing.

    Use it for a reactor of the caller's own only: its calls and its ``seconds()`` change for all its users.
    """
    if "seconds" in vars(reactor):
        return
    ahead_s = reactor.seconds() - time.monotonic()

    def seconds() -> float:
        return time.monotonic() + ahead_s

    vars(reactor)["seconds"] = seconds
    for call in reactor.getDelayedCalls():
        vars(call)["seconds"] = seconds  # what reset() counts from


@implementer(IReactorTime)
class WallClock:
    """A reactor's delayed calls, and the wall clock's seconds.

    For a log store: it stamps segments, and compares them with timestamps of records.
    """

    def __init__(self, reactor: IReactorTime) -> None:
        self._reactor = reactor

    def seconds(self) -> float:
        """Return the seconds since the epoch."""
        return time.time()

    def callLater(
        self, delay: float, callable: Callable[..., object], *args: object, **kw: object
    ) -> IDelayedCall:
        """Call later, as the reactor does."""
        return self._reactor.callLater(delay, callable, *args, **kw)

    def getDelayedCalls(self) -> Sequence[IDelayedCall]:
        """Return the reactor's delayed calls."""
        return self._reactor.getDelayedCalls()


def spare_exit(reactor: PosixReactorBase) -> None:
    """Make the threads of this reactor's pool daemons, so that a process can end before they do."""
    vars(reactor.getThreadPool())["threadFactory"] = partial(threading.Thread, daemon=True)


def close_reactor(reactor: PosixReactorBase) -> None:
    """Close the files of a reactor that has stopped: Twisted leaves them open until the process ends."""
    for waker in list(reactor._internalReaders):
        waker.connectionLost(None)
    if hasattr(reactor, "_poller"):
        reactor._poller.close()
