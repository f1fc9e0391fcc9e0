"""A reactor in a thread of its own, and calls into it that wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred

from kafkatx.clientcore.errors import ClientClosed, RequestTimedOut
from kafkatx.errors import KafkaTXError
from kafkatx.net.reactors import close_reactor, new_reactor, spare_exit
from kafkatx.networkclient.forks import check_process

STOP_S = 10.0

T = TypeVar("T")


class ReactorThread:
    """A reactor that runs until :meth:`stop`; the process may end without that.

    :ivar reactor: to be used in its thread only, but for ``callFromThread``.
    """

    def __init__(self, name: str) -> None:
        self.reactor = new_reactor()
        self.reactor._registerAsIOThread = False  # another reactor may be the process's own
        spare_exit(self.reactor)
        self._lock = threading.Lock()
        self._asked: set[_ThreadCall] = set()
        self._ended = False
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(
        self,
        function: Callable[[], Deferred[T]],
        timeout_s: float | None = None,
        late: Callable[[T], None] | None = None,
    ) -> T:
        """Call a function in the reactor's thread, and wait for what its Deferred fires with.

        When nobody waits any more (a time-out, Ctrl-C), the Deferred is cancelled.

        :param timeout_s: None: wait for ever.
        :param late: called in the reactor's thread with a result that came when nobody waited any more.
        :raises RequestTimedOut: it took longer.
        :raises ClientClosed: the thread has ended, perhaps meanwhile.
        :raises ForkedClient: this is a fork of the process that made it, and has no such thread.
        :raises KafkaTXError: this is the reactor's own thread, which must not wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise KafkaTXError("a call that blocks, from a callback in the reactor's own thread")
        asking = _ThreadCall(function, late)
        self._ask(asking)
        try:
            done = wait([asking.outcome], timeout_s).done
        except BaseException:
            self.tell(asking.give_up)
            raise
        finally:
            with self._lock:
                self._asked.discard(asking)
        if not done:
            self.tell(asking.give_up)
            raise RequestTimedOut(f"not done within {timeout_s:g} s")
        result: T = asking.outcome.result()
        return result

    def _ask(self, asking: _ThreadCall) -> None:
        check_process(self._pid)
        with self._lock:
            if self._ended:
                raise ClientClosed("the client's thread has ended")
            self._asked.add(asking)
            self.reactor.callFromThread(asking.start)

    def tell(self, function: Callable[..., object], *arguments: Any) -> None:
        """Have a function called in the reactor's thread, unless that has ended; waits for nothing."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if not self._ended:
                self.reactor.callFromThread(function, *arguments)

    def do(self, function: Callable[[], T], timeout_s: float | None = None) -> T:
        """Call a function that waits for nothing in the reactor's thread; otherwise as :meth:`call`."""
        return self.call(lambda: maybeDeferred(function), timeout_s)

    def stop(self) -> None:
        """End the thread; a second call does nothing."""
        if self._ended or self._pid != os.getpid():
            return
        self.tell(self.reactor.stop)
        self._thread.join(STOP_S)
        if not self._thread.is_alive():
            close_reactor(self.reactor)

    def _run(self) -> None:
        try:
            self.reactor.run(installSignalHandlers=False)
        finally:
            with self._lock:
                self._ended = True
                left = list(self._asked)
            for asking in left:
                asking.end()


class _ThreadCall:
    """One call. Its methods are called in the reactor's thread, so that none of them is in between another.

    :ivar outcome: what the one who waits gets.
    """

    def __init__(self, function: Callable[[], Any], late: Callable[[Any], None] | None) -> None:
        self.outcome: Future[Any] = Future()
        self._function = function
        self._late = late
        self._deferred: Deferred[Any] | None = None

    def start(self) -> None:
        """Call it."""
        self._deferred = maybeDeferred(self._function)
        self._deferred.addCallbacks(
            self.outcome.set_result, lambda failure: self.outcome.set_exception(failure.value)
        )

    def end(self) -> None:
        """The thread ends: who still waits waits in vain."""
        if not self.outcome.done():
            self.outcome.set_exception(ClientClosed("the client's thread has ended"))

    def give_up(self) -> None:
        """Nobody waits any more."""
        assert self._deferred is not None
        self._deferred.cancel()
        self.outcome.add_done_callback(self._come_late)  # which is at once, if it is done

    def _come_late(self, outcome: Future[Any]) -> None:
        if self._late is not None and outcome.exception() is None:
            self._late(outcome.result())
