"""When metadata is asked for: at an age, when somebody says it is wrong, and again until a reply comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.waiters import Waiters

FIRST_TOLD_S = 5.0
"""After so long without an answer the log says so; again each time that it has lasted twice as long."""


class MetadataRefresh:
    """Calls *ask*, never twice at once, and not again before the pause of *backoff* is over."""

    _log = Logger()

    def __init__(
        self, reactor: Any, ask: Callable[[], Awaitable[None]], backoff: Backoff, age_s: float
    ) -> None:
        self._reactor = reactor
        self._ask = ask
        self._backoff = backoff
        self._age_s = age_s
        self._asked = float("-inf")
        self._timer: Any = None
        self._running: Deferred[None] | None = None
        self._waiting: Waiters[None] = Waiters()
        self._closed = False

    def fresh(self) -> None:
        """A reply has come: the next is due at its age."""
        self._asked = self._reactor.seconds()
        self._stop_timer()
        if not self._closed:
            self._timer = self._reactor.callLater(self._age_s, self.stale)

    def set_age(self, age_s: float) -> None:
        """Let what was asked for grow no older than this; *age_s* counts from the last reply."""
        if age_s == self._age_s:
            return
        self._age_s = age_s
        if self._timer is not None and self._timer.active():
            self._stop_timer()
            due_s = max(0.0, self._asked + age_s - self._reactor.seconds())
            self._timer = self._reactor.callLater(due_s, self.stale)

    def stale(self) -> None:
        """Ask soon, and until a reply comes."""
        if self._running is None and not self._closed:
            self._stop_timer()
            self._running = Deferred()  # the coroutine may end before its Deferred is there
            running = Deferred.fromCoroutine(self._run())
            if self._running is not None:
                self._running = running

    def next(self) -> Deferred[None]:
        """Fires after the next reply; fails with ClientClosed."""
        if self._closed:
            return fail(ClientClosed("the client is closed"))
        waiting = self._waiting.wait()
        self.stale()
        return waiting

    async def _run(self) -> None:
        failures = 0
        began_s = self._reactor.seconds()
        tell_after_s = FIRST_TOLD_S
        while True:
            pause_s = self._asked + self._backoff.pause_s(failures) - self._reactor.seconds()
            if pause_s > 0:
                await deferLater(self._reactor, pause_s)
            self._asked = self._reactor.seconds()
            try:
                await self._ask()
                break
            except KafkaTXError as error:
                failures += 1
                lasted_s = self._reactor.seconds() - began_s
                # Ever more seldom, and not for each attempt of a long night.
                if lasted_s >= tell_after_s:
                    tell_after_s = 2 * lasted_s
                    self._log.warn(
                        "no broker has answered for {seconds:.0f} s, asking again until one does: {error}",
                        seconds=lasted_s,
                        error=error,
                    )
        if failures:
            lasted_s = self._reactor.seconds() - began_s
            if lasted_s >= FIRST_TOLD_S:
                self._log.info("a broker has answered after {seconds:.0f} s", seconds=lasted_s)
        self._running = None
        self.fresh()
        self._waiting.fire(None)

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def close(self) -> None:
        """Ask no more; who waits gets ClientClosed."""
        self._closed = True
        self._stop_timer()
        running, self._running = self._running, None
        if running is not None:
            running.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed))
            running.cancel()
        self._waiting.fail(ClientClosed("the client was closed"))
