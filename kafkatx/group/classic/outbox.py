"""The actions that one call of a classic group returns, and the callbacks of its unfinished stores. Pure.

The parts of a group add actions here while they serve a call. At the end of the call
:class:`~kafkatx.group.classic.group.ClassicGroup` returns them to the broker, which performs them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Action, Answer, LogLine, Record, Store
from kafkatx.wire.schema import Message

Stored: TypeAlias = Callable[[ErrorCode, int], None]
"""Called with the result of a store and the time."""


class Outbox:
    """Collects actions in the order in which the broker performs them."""

    def __init__(self) -> None:
        self._actions: list[Action] = []
        self._stores: deque[Stored] = deque()

    def answer(self, token: object, response: Message) -> None:
        """Answer the request of *token*."""
        self._actions.append(Answer(token, response))

    def store(self, record: Record, then: Stored) -> None:
        """Store a record; call *then* when it is stored, or when that has failed."""
        self._actions.append(Store([record]))
        self._stores.append(then)

    def log(self, text: str, warn: bool = False, **values: object) -> None:
        """Write a line to the broker's log; see :class:`~kafkatx.group.actions.LogLine`."""
        self._actions.append(LogLine(text, values, warn))

    def stored(self, error: ErrorCode, now_ms: int) -> None:
        """Call the callback of the oldest unfinished store."""
        self._stores.popleft()(error, now_ms)

    def take(self) -> list[Action]:
        """Return the collected actions and start with an empty list."""
        actions, self._actions = self._actions, []
        return actions
