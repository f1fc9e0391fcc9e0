"""A registry in memory behind the client's transport; replies may be held back."""

from __future__ import annotations

from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from kafkatx.clientcore.registry.requests import Request
from tests.schemas.registry import MemoryRegistry

T = TypeVar("T")


class FakeTransport:
    """Answers requests from :attr:`registry`.

    :ivar held: requests that wait, while :attr:`hold` is true.
    """

    def __init__(self) -> None:
        self.registry = MemoryRegistry()
        self.hold = False
        self.held: list[Deferred[None]] = []
        self.closed = False

    def make(self, settings: Any, reactor: Any, tls: object) -> FakeTransport:
        """Return it, in place of a transport of these settings."""
        return self

    async def send(self, request: Request[T]) -> T:
        """Return the result of a request."""
        if self.hold:
            waiting: Deferred[None] = Deferred()
            self.held.append(waiting)
            await waiting
        return request.reply(*self.registry.answer(request.method, request.path, request.body))

    def release(self) -> None:
        """Answer the requests that wait; hold no others back."""
        self.hold = False
        held, self.held = self.held, []
        for waiting in held:
            waiting.callback(None)

    def close(self) -> Deferred[None]:
        """Note that it was closed."""
        self.closed = True
        done: Deferred[None] = Deferred()
        done.callback(None)
        return done


PATH = "kafkatx.client.registry.transport.Transport"
