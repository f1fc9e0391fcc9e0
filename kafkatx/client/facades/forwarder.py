"""Descriptors that forward method calls of a facade to its Twisted client.

A method is named once, in a class that both facades inherit (:mod:`kafkatx.client.facades.methods`)::

    class ConsumerMethods(Facade):
        commit = ForwardDeferred(consumer.Consumer.commit)

The result depends on the facade: for asyncio ``commit()`` returns a :class:`DeferredFuture`, for threads it
blocks and returns the result. Parameters, docstring and signature are the Twisted method's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from twisted.internet.defer import Deferred

from kafkatx.client.facades.future import DeferredFuture
from kafkatx.client.facades.reactor_thread import ReactorThread

P = ParamSpec("P")
T = TypeVar("T")


class Facade:
    """A facade of a Twisted client, or of a part of one.

    :ivar client: the Twisted client, to be used in the reactor's thread only.
    """

    client: Any

    def _wait(self, call: Callable[[], Deferred[T]]) -> object:
        """Call a function in the reactor's thread; return its Deferred's result or a future of it."""
        raise NotImplementedError

    def _do(self, call: Callable[[], T]) -> T:
        """Call a function that returns no Deferred in the reactor's thread; return its result."""
        raise NotImplementedError

    def _bridge(self, function: Callable[..., Any]) -> Callable[..., object]:
        """Wrap a function of the application, so that the Twisted client can call it."""
        raise NotImplementedError


class AsyncioFacade(Facade):
    """A facade for asyncio: the loop's thread is the reactor's."""

    def _wait(self, call: Callable[[], Deferred[T]]) -> DeferredFuture[T]:
        return DeferredFuture(call())

    def _do(self, call: Callable[[], T]) -> T:
        return call()


class BlockingFacade(Facade):
    """A facade for programs that block.

    :ivar thread: the thread of the client's reactor.
    :ivar timeout_s: the time-out of a call in seconds; None: only the client's settings limit it.
    """

    thread: ReactorThread
    timeout_s: float | None

    def _wait(self, call: Callable[[], Deferred[T]]) -> T:
        return self.thread.call(call, self.timeout_s)

    def _do(self, call: Callable[[], T]) -> T:
        return self.thread.do(call, self.timeout_s)


class ForwardCall(Generic[P, T]):
    """A forwarded method of the client that returns no Deferred."""

    def __init__(self, method: Callable[Concatenate[Any, P], T]) -> None:
        @wraps(method)
        def call(self: Facade, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return self._do(lambda: method(self.client, *args, **kwargs))

        self._call = call

    @overload
    def __get__(self, at: None, owner: type[Facade]) -> Callable[Concatenate[Any, P], T]: ...

    @overload
    def __get__(self, at: Facade, owner: type[Facade]) -> Callable[P, T]: ...

    def __get__(self, at: Facade | None, owner: type[Facade]) -> Any:
        return self._call if at is None else MethodType(self._call, at)


class ForwardDeferred(Generic[P, T]):
    """A forwarded method of the client that returns a Deferred."""

    def __init__(self, method: Callable[Concatenate[Any, P], Deferred[T]]) -> None:
        @wraps(method)
        def call(self: Facade, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._wait(lambda: method(self.client, *args, **kwargs))

        self._call = call

    @overload
    def __get__(self, at: None, owner: type[Facade]) -> Callable[Concatenate[Any, P], Any]: ...

    @overload
    def __get__(self, at: AsyncioFacade, owner: type[Facade]) -> Callable[P, DeferredFuture[T]]: ...

    @overload
    def __get__(self, at: BlockingFacade, owner: type[Facade]) -> Callable[P, T]: ...

    def __get__(self, at: Facade | None, owner: type[Facade]) -> Any:
        return self._call if at is None else MethodType(self._call, at)


class Listener:
    """An application's rebalance listener with wrapped methods; it may lack some of them."""

    def __init__(
        self, listener: object, bridge: Callable[[Callable[..., Any]], Callable[..., object]]
    ) -> None:
        self._listener = listener
        self._bridge = bridge

    def __getattr__(self, name: str) -> Callable[..., object]:
        return self._bridge(getattr(self._listener, name))
