"""Worker threads for blocking calls: one thread per name, so that calls of one name keep their order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

from kafkatx.interfaces import Worker

T = TypeVar("T")


class ThreadWorkers:
    """Makes workers (``kafkatx.interfaces.Workers``); a name's thread starts with its first call.

    :param daemon: True to let the process end before the threads do. Otherwise they are as the thread that
        starts them: those of a reactor in a daemon thread (an embedded broker's) do not hold up an exit.
    """

    def __init__(self, reactor: IReactorFromThreads, daemon: bool = False) -> None:
        self._reactor = reactor
        self._daemon = daemon
        self._pools: dict[str, ThreadPool] = {}

    def __call__(self, name: str) -> Worker:
        """Return the worker called *name*."""

        def run(function: Callable[[], T]) -> Deferred[T]:
            return deferToThreadPool(self._reactor, self._pool(name), function)

        return run

    def _pool(self, name: str) -> ThreadPool:
        pool = self._pools.get(name)
        if pool is None:
            pool = self._pools[name] = ThreadPool(0, 1, name)
            vars(pool)["threadFactory"] = partial(threading.Thread, daemon=self._daemon or None)
            pool.start()
        return pool

    def stop(self) -> None:
        """Stop every thread after its queued calls."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.stop()
