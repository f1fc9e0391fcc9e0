"""A reactor in a thread of its own, and blocking calls into it from other threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred

from kafkatx.clientcore.errors import ClientClosed, RequestTimedOut
from kafkatx.errors import KafkaTXError
from kafkatx.net.reactors import close_reactor, new_reactor, spare_exit
from kafkatx.networkclient.forks import check_process

STOP_S = 10.0

T = TypeVar("T")


class ReactorThread:
    """A reactor in a daemon thread, which runs until :meth:`stop` or the end of the process.

    :ivar reactor: to be used in its thread only, except for ``callFromThread``.
    """

    def __init__(self, name: str) -> None:
        self.reactor = new_reactor()
        self.reactor._registerAsIOThread = False  # another reactor may be the process's own
        spare_exit(self.reactor)
        self._lock = threading.Lock()
        self._calls: set[_ThreadCall[Any]] = set()
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
        """Call a function in the reactor's thread; block until its Deferred fires, and return the result.

        After a time-out or KeyboardInterrupt the Deferred is cancelled.

        :param timeout_s: None: wait for ever.
        :param late: called in the reactor's thread with a result that came after a time-out or
            KeyboardInterrupt.
        :raises RequestTimedOut: it took longer.
        :raises ClientClosed: the thread has ended.
        :raises ForkedClient: this is a fork of the process that made it, and has no such thread.
        :raises KafkaTXError: this is the reactor's own thread, which must not wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise KafkaTXError("a blocking call must not be made in a callback in the reactor's own thread")
        call = _ThreadCall(function, late)
        self._start(call)
        try:
            done = wait([call.outcome], timeout_s).done
        except BaseException:
            self.tell(call.cancel)
            raise
        finally:
            with self._lock:
                self._calls.discard(call)
        if not done:
            self.tell(call.cancel)
            raise RequestTimedOut(f"not done within {timeout_s:g} s")
        return call.outcome.result()

    def _start(self, call: _ThreadCall[T]) -> None:
        check_process(self._pid)
        with self._lock:
            if self._ended:
                raise ClientClosed("the client's thread has ended")
            self._calls.add(call)
            self.reactor.callFromThread(call.start)

    def tell(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in the reactor's thread without waiting; do nothing if the thread has ended."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if not self._ended:
                self.reactor.callFromThread(function, *arguments)

    def do(self, function: Callable[[], T], timeout_s: float | None = None) -> T:
        """Call a function that returns no Deferred in the reactor's thread; otherwise as :meth:`call`."""
        return self.call(lambda: maybeDeferred(function), timeout_s)

    def stop(self) -> None:
        """Stop the reactor and end the thread; a second call does nothing."""
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
                calls = list(self._calls)
            for call in calls:
                call.end()


class _ThreadCall(Generic[T]):
    """One call. Its methods are called in the reactor's thread only, so they do not interleave.

    :ivar outcome: the future that the caller waits for.
    """

    def __init__(self, function: Callable[[], Deferred[T]], late: Callable[[T], None] | None) -> None:
        self.outcome: Future[T] = Future()
        self._function = function
        self._late = late
        self._deferred: Deferred[T] | None = None

    def start(self) -> None:
        """Call the function."""
        self._deferred = maybeDeferred(self._function)
        self._deferred.addCallbacks(
            self.outcome.set_result, lambda failure: self.outcome.set_exception(failure.value)
        )

    def end(self) -> None:
        """Fail the caller, because the thread ends."""
        if not self.outcome.done():
            self.outcome.set_exception(ClientClosed("the client's thread has ended"))

    def cancel(self) -> None:
        """Cancel the Deferred, because the caller does not wait any more."""
        assert self._deferred is not None
        self._deferred.cancel()
        self.outcome.add_done_callback(self._done_late)  # at once, if it is done

    def _done_late(self, outcome: Future[T]) -> None:
        if self._late is not None and outcome.exception() is None:
            self._late(outcome.result())
