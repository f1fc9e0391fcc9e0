"""Reactors that are nobody's default: made, run in a thread or over an event loop, and given back.

And their clocks. Twisted's reactors time delayed calls by the wall clock: while that is set back an hour no
call comes for an hour, and when it is set forward every session and every delivery ends at once.
:func:`make_monotonic` mends that for a reactor that is ours; :class:`WallClock` is for those who need
timestamps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from zope.interface import implementer


def new_reactor() -> Any:
    """A reactor of this platform's best kind, not installed as the process's own; its clock is monotonic."""
    try:
        from twisted.internet.epollreactor import EPollReactor as Reactor
    except ImportError:
        from twisted.internet.selectreactor import SelectReactor as Reactor
    reactor = Reactor()
    make_monotonic(reactor)
    return reactor


def make_monotonic(reactor: Any) -> None:
    """Time the delayed calls of *reactor* by the monotonic clock.

    The new clock goes on from where the old one is, so calls that already wait come when they are due. From
    then on ``reactor.seconds()`` tells durations, not the time of day. A second call does nothing.

    Only for a reactor that is the caller's own: its calls and its ``seconds()`` change for everybody in the
    process.
    """
    if "seconds" in vars(reactor):
        return
    ahead_s: float = reactor.seconds() - time.monotonic()

    def seconds() -> float:
        return time.monotonic() + ahead_s

    reactor.seconds = seconds
    for call in reactor.getDelayedCalls():
        call.seconds = seconds  # what reset() counts from


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

    def callLater(self, delay: float, callable: Callable[..., object], *args: Any, **kw: Any) -> IDelayedCall:
        """Call later, as the reactor does."""
        return self._reactor.callLater(delay, callable, *args, **kw)

    def getDelayedCalls(self) -> Any:
        """Return the reactor's delayed calls."""
        return self._reactor.getDelayedCalls()


def spare_exit(reactor: Any) -> None:
    """Let a process end although threads of this reactor's pool (which resolve names) wait for work."""
    reactor.getThreadPool().threadFactory = partial(threading.Thread, daemon=True)


def close_reactor(reactor: Any) -> None:
    """Give back the files of a reactor that has ended: it was made to last as long as its process."""
    for waker in list(reactor._internalReaders):
        waker.connectionLost(None)
    if hasattr(reactor, "_poller"):
        reactor._poller.close()
