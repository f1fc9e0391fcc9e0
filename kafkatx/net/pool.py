"""How many bytes of requests all connections hold together, and who may read on when that is too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Holder(Protocol):
    """A connection."""

    def reconsider(self) -> None:
        """Ask :meth:`Pool.may_read` again: the answer may be another one now."""


class Pool:
    """Bytes of requests that wait, and of those that are not complete yet (``queued.max.request.bytes``).

    When the pool is exhausted, those that are in the middle of a request wait, but for the one that began
    first: its bytes come free only when it goes on. Those that hold nothing go on reading, in small pieces:
    a request that fits into one costs nothing for long, so one peer's large request does not stop the
    others' small ones.

    :ivar exhausted: whether the connections hold as much as they may.
    """

    def __init__(self, limit_bytes: int, changed: Callable[[], None]) -> None:
        """Make a pool.

        :param limit_bytes: how much is too much; negative: nothing is.
        :param changed: called after :attr:`exhausted` has changed.
        """
        self._limit_bytes = limit_bytes
        self._changed = changed
        self._held: dict[Holder, int] = {}
        self._unfinished: dict[Holder, None] = {}
        self._held_bytes = 0
        self.exhausted = False

    @property
    def turn(self) -> Holder | None:
        """The one in the middle of a request that may go on although the pool is exhausted."""
        return next(iter(self._unfinished), None)

    def may_read(self, holder: Holder) -> bool:
        """Whether this one may read now."""
        return not self.exhausted or holder not in self._unfinished or holder is self.turn

    def hold(self, holder: Holder, held_bytes: int, unfinished: bool) -> None:
        """Note how much one holds, and whether a request that is not complete is among it."""
        turn = self.turn
        self._held_bytes += held_bytes - self._held.pop(holder, 0)
        if held_bytes:
            self._held[holder] = held_bytes
        if unfinished:
            self._unfinished.setdefault(holder)
        else:
            self._unfinished.pop(holder, None)
        exhausted = 0 <= self._limit_bytes <= self._held_bytes
        if exhausted != self.exhausted:
            self.exhausted = exhausted
            self._changed()
        elif exhausted and turn is holder and not unfinished and self.turn is not None:
            self.turn.reconsider()
