"""The schedule of metadata requests: at a maximum age, on demand, and again until a broker replies.

The requests themselves and what replies say are :mod:`kafkatx.networkclient.metadata`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.wait_warning import WaitWarning
from kafkatx.networkclient.waiters import Waiters


class MetadataRefresh:
    """Calls *refresh* when metadata is old or wrong: one call at a time, with the pauses of *backoff*.

    :param servers: the addresses of the brokers, for warnings while none answers.
    :param max_age_s: seconds after a reply until the next call.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        refresh: Callable[[], Awaitable[None]],
        backoff: Backoff,
        max_age_s: float,
        servers: str,
    ) -> None:
        self._reactor = reactor
        self._refresh = refresh
        self._backoff = backoff
        self._max_age_s = max_age_s
        self._servers = servers
        self._called_s = float("-inf")
        self._timer: IDelayedCall | None = None
        self._running: Deferred[None] | None = None
        self._waiting: Waiters[None] = Waiters()
        self._closed = False

    def fresh(self) -> None:
        """Restart the maximum age: a reply has just come."""
        self._called_s = self._reactor.seconds()
        self._stop_timer()
        if not self._closed:
            self._timer = self._reactor.callLater(self._max_age_s, self.stale)

    def set_max_age(self, max_age_s: float) -> None:
        """Change the maximum age; it counts from the last reply."""
        if max_age_s == self._max_age_s:
            return
        self._max_age_s = max_age_s
        if self._timer is not None and self._timer.active():
            self._stop_timer()
            due_s = max(0.0, self._called_s + max_age_s - self._reactor.seconds())
            self._timer = self._reactor.callLater(due_s, self.stale)

    def stale(self) -> None:
        """Refresh soon, and repeat until a reply comes."""
        if self._running is None and not self._closed:
            self._stop_timer()
            self._running = Deferred()  # the coroutine may end before fromCoroutine() returns
            running = Deferred.fromCoroutine(self._run())
            if self._running is not None:
                self._running = running

    def next(self) -> Deferred[None]:
        """Refresh soon; fires after the next reply, fails with ClientClosed."""
        if self._closed:
            return fail(ClientClosed("the client is closed"))
        waiting = self._waiting.wait()
        self.stale()
        return waiting

    async def _run(self) -> None:
        failures = 0
        with WaitWarning(self._reactor, self._servers) as waiting:
            while True:
                pause_s = self._called_s + self._backoff.pause_s(failures) - self._reactor.seconds()
                if pause_s > 0:
                    await deferLater(self._reactor, pause_s)
                self._called_s = self._reactor.seconds()
                try:
                    await self._refresh()
                    break
                except KafkaTXError as error:
                    failures += 1
                    waiting.error = error
        self._running = None
        self.fresh()
        self._waiting.fire(None)

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def close(self) -> None:
        """Stop refreshing; waiting callers fail with ClientClosed."""
        self._closed = True
        self._stop_timer()
        running, self._running = self._running, None
        if running is not None:
            running.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed))
            running.cancel()
        self._waiting.fail(ClientClosed("the client was closed"))
