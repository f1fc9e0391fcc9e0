"""Reactors that are nobody's default: made, run in a thread or over an event loop, and given back."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any


def new_reactor() -> Any:
    """A reactor of this platform's best kind, not installed as the process's own."""
    try:
        from twisted.internet.epollreactor import EPollReactor as Reactor
    except ImportError:
        from twisted.internet.selectreactor import SelectReactor as Reactor
    return Reactor()


def spare_exit(reactor: Any) -> None:
    """Let a process end although threads of this reactor's pool (which resolve names) wait for work."""
    reactor.getThreadPool().threadFactory = partial(threading.Thread, daemon=True)


def close_reactor(reactor: Any) -> None:
    """Give back the files of a reactor that has ended: it was made to last as long as its process."""
    for waker in list(reactor._internalReaders):
        waker.connectionLost(None)
    if hasattr(reactor, "_poller"):
        reactor._poller.close()
