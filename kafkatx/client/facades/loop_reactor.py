"""The reactor underneath asyncio's clients: Twisted's own for asyncio, over the loop that runs."""

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
    """Twisted over a loop that somebody else runs: it is never run, nor does it stop the loop.

    One for all clients of a loop; it goes with the last of them.
    """

    _registerAsIOThread = False  # another reactor may be the process's own

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        make_monotonic(self)
        self._clients = 0
        self.startRunning(installSignalHandlers=False)
        spare_exit(self)

    def taken(self) -> None:
        """One client more."""
        self._clients += 1

    def left(self) -> None:
        """One client less."""
        self._clients -= 1
        if not self._clients:
            self._asyncioEventloop.call_soon(self._end)

    def _end(self) -> None:
        """Give everything back, unless another client has come meanwhile."""
        if self._clients or _reactors.get(self._asyncioEventloop) is not self:
            return
        del _reactors[self._asyncioEventloop]
        for reader in list(self._internalReaders):
            self.removeReader(reader)
        close_reactor(self)
        if self._timerHandle is not None:
            self._timerHandle.cancel()
        # Stopping the pool waits for its threads, and one may be at work: let it be waited for elsewhere.
        threading.Thread(target=self._stopThreadPool, daemon=True).start()


_reactors: MutableMapping[asyncio.AbstractEventLoop, LoopReactor] = WeakKeyDictionary()


class ReactorLease:
    """The right to a reactor over a loop, until :meth:`end`.

    :ivar reactor: where Twisted's asyncio reactor is installed and runs over this loop, that one.
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
        own.taken()
        self.reactor = self._own = own

    def end(self) -> None:
        """Give it back; a second call does nothing."""
        own, self._own = self._own, None
        if own is not None:
            own.left()
