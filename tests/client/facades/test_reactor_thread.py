"""Tests of kafkatx.client.facades.reactor_thread: calls that wait for a reactor in another thread."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.facades import reactor_thread
from kafkatx.client.facades.reactor_thread import ReactorThread
from kafkatx.clientcore.errors import ClientClosed, ForkedClient, RequestTimedOut
from kafkatx.errors import KafkaTXError

SOON_S = 10.0


class ReactorThreadTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a thread."""
        self.thread = ReactorThread("test")
        self.addCleanup(self.thread.stop)

    def test_result(self) -> None:
        """A call returns the result of its Deferred, and is made in the reactor's thread."""
        self.assertEqual(self.thread.call(lambda: succeed(1)), 1)
        self.assertIsNot(self.thread.do(threading.current_thread), threading.current_thread())

    def test_failure(self) -> None:
        """A call raises the failure of its Deferred, or the exception of the function."""
        error = KafkaTXError("no")
        self.assertIs(self.assertRaises(KafkaTXError, self.thread.call, lambda: fail(error)), error)
        self.assertRaises(ZeroDivisionError, self.thread.do, lambda: 1 // 0)

    def test_time_out(self) -> None:
        """The Deferred is cancelled after the time-out, and the caller gets RequestTimedOut."""
        cancelled = threading.Event()
        waiting: Deferred[None] = Deferred(lambda _: cancelled.set())
        with self.assertRaises(RequestTimedOut):
            self.thread.call(lambda: waiting, 0.001)
        self.assertTrue(cancelled.wait(SOON_S))

    def test_late(self) -> None:
        """A result that comes after the time-out is passed to the callback for late results."""
        taken: Future[str] = Future()
        waiting: Deferred[str] = Deferred(lambda deferred: deferred.callback("records"))
        with self.assertRaises(RequestTimedOut):
            self.thread.call(lambda: waiting, 0.001, taken.set_result)
        self.assertEqual(taken.result(SOON_S), "records")

    def test_interrupted(self) -> None:
        """A call ends with Ctrl-C, and its Deferred is cancelled."""
        cancelled = threading.Event()
        waiting: Deferred[None] = Deferred(lambda _: cancelled.set())

        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt

        self.patch(reactor_thread, "wait", interrupt)
        self.assertRaises(KeyboardInterrupt, self.thread.call, lambda: waiting)
        self.assertTrue(cancelled.wait(SOON_S))

    def test_own_thread(self) -> None:
        """A call from the reactor's own thread fails instead of waiting for itself."""
        self.assertRaises(KafkaTXError, self.thread.do, lambda: self.thread.call(lambda: succeed(1)))

    def test_stopped(self) -> None:
        """Stopping ends the thread, twice is once, and calls fail then."""
        self.thread.stop()
        self.thread.stop()
        self.assertFalse(self.thread._thread.is_alive())
        self.assertRaises(KafkaTXError, self.thread.call, lambda: succeed(1))

    def test_stopped_meanwhile(self) -> None:
        """A call that waits when the thread ends fails with ClientClosed."""
        self.thread.do(lambda: None)
        asked = threading.Event()

        def ask() -> Deferred[None]:
            asked.set()
            return Deferred()

        outcome: Future[None] = Future()

        def wait() -> None:
            try:
                outcome.set_result(self.thread.call(ask))
            except ClientClosed as error:
                outcome.set_exception(error)

        waiter = threading.Thread(target=wait)
        waiter.start()
        self.assertTrue(asked.wait(SOON_S))
        self.thread.stop()
        self.assertIsInstance(outcome.exception(SOON_S), ClientClosed)
        waiter.join()

    def test_fork(self) -> None:
        """A call fails in the child of a fork, where the thread does not exist."""
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                self.thread.tell(lambda: None)
                self.thread.call(lambda: succeed(1), timeout_s=SOON_S)
            except ForkedClient as error:
                os.write(writing, str(error).encode())
            finally:
                self.thread.stop()
                os._exit(0)
        os.close(writing)
        with open(reading, "rb") as pipe:
            self.assertIn(b"make a client after the fork", pipe.read())
        os.waitpid(pid, 0)
        self.assertEqual(self.thread.call(lambda: succeed(1)), 1)

    def test_tell(self) -> None:
        """A call without a result is made in the reactor's thread, and dropped once that has ended."""
        called: Future[Any] = Future()
        self.thread.tell(lambda value: called.set_result((value, threading.current_thread())), 1)
        self.assertEqual(called.result(SOON_S), (1, self.thread._thread))
        self.thread.stop()
        self.thread.tell(self.fail)

    def test_pool(self) -> None:
        """Threads of the pool keep no process from ending."""
        daemon: Future[bool] = Future()
        pool = self.thread.do(self.thread.reactor.getThreadPool)
        pool.callInThread(lambda: daemon.set_result(threading.current_thread().daemon))
        self.assertTrue(daemon.result(SOON_S))
