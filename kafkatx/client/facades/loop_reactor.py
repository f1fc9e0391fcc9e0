"""The reactor of asyncio clients: Twisted's asyncio reactor over the loop that runs already.

:mod:`kafkatx.client.aio` acquires it for each client; :mod:`~kafkatx.client.facades.reactor_thread` is its
counterpart for programs that block.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from twisted.internet.asyncioreactor import AsyncioSelectorReactor

from kafkatx.net.reactors import close_reactor, make_monotonic, spare_exit


class LoopReactor(AsyncioSelectorReactor):
    """A reactor over a loop that the application runs; it neither runs nor stops the loop.

    All clients of a loop share one; it is closed with the last of them.
    """

    _registerAsIOThread = False  # another reactor may be the process's own

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        make_monotonic(self)
        self._clients = 0
        self.startRunning(installSignalHandlers=False)
        spare_exit(self)

    def acquire(self) -> None:
        """Count one more client."""
        self._clients += 1

    def release(self) -> None:
        """Count one client less; close the reactor after the last."""
        self._clients -= 1
        if not self._clients:
            self._asyncioEventloop.call_soon(self._end)

    def _end(self) -> None:
        """Close the reactor, unless another client has come meanwhile."""
        if self._clients or _reactors.get(self._asyncioEventloop) is not self:
            return
        del _reactors[self._asyncioEventloop]
        for reader in list(self._internalReaders):
            self.removeReader(reader)
        close_reactor(self)
        if self._timerHandle is not None:
            self._timerHandle.cancel()
        # Stopping the pool waits for its threads, which may be busy, so another thread does it.
        threading.Thread(target=self._stopThreadPool, daemon=True).start()


_reactors: MutableMapping[asyncio.AbstractEventLoop, LoopReactor] = WeakKeyDictionary()


class ReactorLease:
    """A client's use of the reactor of a loop, until :meth:`end`.

    :ivar reactor: the installed reactor if that is Twisted's asyncio reactor over this loop, else a
        :class:`LoopReactor`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        installed = sys.modules.get("twisted.internet.reactor")
        self._own: LoopReactor | None = None
        if getattr(installed, "_asyncioEventloop", None) is loop:
            self.reactor: Any = installed
            return
        own = _reactors.get(loop)
        if own is None:
            own = _reactors[loop] = LoopReactor(loop)
        own.acquire()
        self.reactor = self._own = own

    def end(self) -> None:
        """Release the reactor; a second call does nothing."""
        own, self._own = self._own, None
        if own is not None:
            own.release()
