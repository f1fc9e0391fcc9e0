"""Tests of kafkatx.client.facades.forwarder: methods declared once, for asyncio and for threads."""

from __future__ import annotations

import asyncio
import inspect
import threading
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.facades.forwarder import (
    AsyncioFacade,
    BlockingFacade,
    Facade,
    ForwardCall,
    ForwardDeferred,
    Listener,
)
from kafkatx.client.facades.future import DeferredFuture
from kafkatx.client.facades.reactor_thread import ReactorThread
from kafkatx.clientcore.errors import RequestTimedOut


class Client:
    """Stands for a Twisted client."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.waiting: Deferred[int] = Deferred()

    def twice(self, number: int, *, plus: int = 0) -> Deferred[int]:
        """Fire with twice *number*, and *plus*."""
        return succeed(2 * number + plus)

    def never(self) -> Deferred[int]:
        """Return a Deferred that does not fire."""
        return self.waiting

    def keep(self, what: Any) -> int:
        """Keep the argument; return the number of calls so far."""
        self.calls.append(what)
        return len(self.calls)

    def where(self) -> threading.Thread:
        """Return the current thread."""
        return threading.current_thread()


class Methods(Facade):
    """The methods of both facades."""

    twice = ForwardDeferred(Client.twice)
    never = ForwardDeferred(Client.never)
    keep = ForwardCall(Client.keep)
    where = ForwardCall(Client.where)


class Async(Methods, AsyncioFacade):
    """The facade for asyncio."""

    def __init__(self) -> None:
        self.client = Client()


class Blocked(Methods, BlockingFacade):
    """The facade for threads."""

    def __init__(self, thread: ReactorThread) -> None:
        self.client = Client()
        self.thread = thread
        self.timeout_s = None


class ForwardingTests(SynchronousTestCase):
    def test_asyncio(self) -> None:
        """A Deferred becomes a future with asyncio, and its type is known."""

        async def main() -> tuple[int, int]:
            facade = Async()
            answer: DeferredFuture[int] = facade.never()
            asyncio.get_running_loop().call_soon(facade.client.waiting.callback, 5)
            kept: int = facade.keep("x")
            return await facade.twice(await answer, plus=1), kept

        self.assertEqual(asyncio.run(main()), (11, 1))

    def test_threads(self) -> None:
        """A call in a thread returns the result of its Deferred, and is made in the reactor's thread."""
        thread = ReactorThread("test")
        self.addCleanup(thread.stop)
        facade = Blocked(thread)
        number: int = facade.twice(3, plus=1)
        self.assertEqual((number, facade.keep("x")), (7, 1))
        self.assertEqual(facade.where(), thread.do(threading.current_thread))

    def test_time_out(self) -> None:
        """A facade's time-out holds for each of its calls."""
        thread = ReactorThread("test")
        self.addCleanup(thread.stop)
        facade = Blocked(thread)
        facade.timeout_s = 0.001
        self.assertRaises(RequestTimedOut, facade.never)
        for name in ("call", "do"):
            self.patch(thread, name, lambda _, timeout_s: timeout_s)
        self.assertEqual((facade.never(), facade.keep("x")), (0.001, 0.001))

    def test_documented(self) -> None:
        """A method of the facade's class is a function with the client's docstring and parameters."""
        for facade in (Async, Blocked):
            function: Any = facade.twice
            self.assertTrue(inspect.isfunction(function))
            self.assertEqual(function.__doc__, Client.twice.__doc__)
            self.assertEqual(list(inspect.signature(function).parameters), ["self", "number", "plus"])
            kept: Any = facade.keep
            self.assertEqual(kept.__doc__, Client.keep.__doc__)

    def test_listener(self) -> None:
        """A listener's methods are called as the facade does it; missing methods stay missing."""
        told = SimpleNamespace(on_partitions_assigned=lambda places: len(places))
        listener = Listener(told, lambda function: lambda *args: ("bridged", function(*args)))
        self.assertEqual(listener.on_partitions_assigned({1, 2}), ("bridged", 2))
        self.assertFalse(hasattr(listener, "on_partitions_revoked"))
