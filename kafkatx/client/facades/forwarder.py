"""How the facades for asyncio and for threads hand calls on to the Twisted clients.

A method is named once, in a class that both facades inherit (:mod:`kafkatx.client.facades.methods`)::

    class ConsumerMethods(Facade):
        commit = ForwardDeferred(consumer.Consumer.commit)

Its type depends on the facade: for asyncio ``commit()`` returns a :class:`DeferredFuture`, in a thread the
result itself. Parameters, docstring and signature are the Twisted method's.
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
    """What stands before a Twisted client, or before a part of one.

    :ivar client: that, for the reactor's thread only.
    """

    client: Any

    def _wait(self, call: Callable[[], Deferred[Any]]) -> Any:
        """Call a function in the reactor's thread; give what its Deferred fires with, as this side does."""
        raise NotImplementedError

    def _do(self, call: Callable[[], T]) -> T:
        """Call a function that waits for nothing in the reactor's thread."""
        raise NotImplementedError

    def _bridge(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the application's, as Twisted is to call it."""
        raise NotImplementedError


class AsyncioFacade(Facade):
    """The side of asyncio: the loop's thread is the reactor's."""

    def _wait(self, call: Callable[[], Deferred[Any]]) -> DeferredFuture[Any]:
        return DeferredFuture(call())

    def _do(self, call: Callable[[], T]) -> T:
        return call()


class BlockingFacade(Facade):
    """The side of programs that block.

    :ivar thread: where the client runs.
    :ivar timeout_s: how long a call may take; None: as long as the client's settings let it.
    """

    thread: ReactorThread
    timeout_s: float | None

    def _wait(self, call: Callable[[], Deferred[Any]]) -> Any:
        return self.thread.call(call, self.timeout_s)

    def _do(self, call: Callable[[], T]) -> T:
        return self.thread.do(call, self.timeout_s)


class ForwardCall(Generic[P, T]):
    """A method of the client that waits for nothing."""

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
    """A method of the client that returns a Deferred."""

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
    """A rebalance listener of the application's, which may lack methods."""

    def __init__(self, listener: Any, bridged: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self._listener = listener
        self._bridge = bridged

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._bridge(getattr(self._listener, name))
