"""The memory pool for waiting and unfinished requests of all connections together.

While the pool is exhausted, connections in the middle of a request are read from in turns. A turn needs
progress: while others wait, a connection that is slower than the minimum rate, or takes too long, is closed.
It touches the clock only; connections ask it whether they may read.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

import attrs
from twisted.internet.interfaces import IDelayedCall, IReactorTime

GRACE_S = 1.0
"""Seconds that a turn may go without a byte."""

CHECK_S = 1.0
"""Seconds between checks of the turns while the pool is exhausted."""


class Holder(Protocol):
    """A connection, as the pool sees it."""

    def reconsider(self) -> None:
        """Ask :meth:`MemoryPool.may_read` again: the answer may have changed."""

    def abort(self, reason: str) -> None:
        """Close at once and log why: other connections wait for the memory of its unfinished request."""


@attrs.frozen
class MemoryPoolLimits:
    """Limits of a pool (the settings' names in brackets)."""

    max_bytes: int  #: queued.max.request.bytes; negative for no limit
    min_bytes_s: float = 65536.0  #: kafkatx.request.min.bytes.per.second
    max_turn_s: float = 60.0  #: kafkatx.request.turn.max.ms


@attrs.define(eq=False)
class _Turn:
    started_s: float
    counted_bytes: int  # of its missing bytes, those that count towards the limit
    received_bytes: int = 0


class MemoryPool:
    """Counts the bytes of waiting and of incomplete requests (``queued.max.request.bytes``).

    While the pool is exhausted, these unfinished requests are read further:

    *   the one that began first;
    *   others, in the order of their missing bytes, as long as these fit into the limit together: so a
        request of usual size does not wait for a huge one.

    Connections that hold nothing are always read from, in small pieces: a request that fits into one piece
    does not hold memory for long. A connection that begins its next request has had its turn and queues
    again.

    :ivar held_bytes: bytes that the connections hold.
    :ivar exhausted: True if the connections hold as much as they may.
    """

    def __init__(self, limits: MemoryPoolLimits, clock: IReactorTime, changed: Callable[[], None]) -> None:
        """Make a pool.

        :param changed: called after :attr:`exhausted` has changed.
        """
        self._limits = limits
        self._clock = clock
        self._changed = changed
        self._held: dict[Holder, int] = {}
        self.held_bytes = 0
        self._missing: dict[Holder, int] = {}  # of each unfinished request; the first to begin is the first
        self._turns: dict[Holder, _Turn] = {}
        self._turn_bytes = 0  # missing in the turns, but for the first's
        self._shortest: list[tuple[int, int, Holder]] = []  # a heap of those that wait, some of them gone
        self._number = count()
        self._checking: IDelayedCall | None = None
        self.exhausted = False

    def may_read(self, holder: Holder) -> bool:
        """Return True if *holder* may read now."""
        return not self.exhausted or holder not in self._missing or holder in self._turns

    def hold(self, holder: Holder, held_bytes: int, missing_bytes: int) -> None:
        """Set how many bytes *holder* holds.

        :param missing_bytes: how many bytes its unfinished request lacks; 0 if there is none, or if it is not
            read further for another reason.
        """
        self.held_bytes += held_bytes - self._held.pop(holder, 0)
        if held_bytes:
            self._held[holder] = held_bytes
        self._note_missing(holder, missing_bytes)
        exhausted = 0 <= self._limits.max_bytes <= self.held_bytes
        if exhausted != self.exhausted:
            self.exhausted = exhausted
            (self._begin_turns if exhausted else self._end_turns)()
            self._changed()
        elif exhausted:
            self._grant()

    def _note_missing(self, holder: Holder, missing_bytes: int) -> None:
        before = self._missing.get(holder, 0)
        turn = self._turns.get(holder)
        if not missing_bytes or missing_bytes > before:  # finished, or the next one has begun
            self._missing.pop(holder, None)
            if turn is not None:
                del self._turns[holder]
                self._turn_bytes -= turn.counted_bytes
        if not missing_bytes:
            return
        self._missing[holder] = missing_bytes
        if turn is not None and missing_bytes <= before:
            turn.received_bytes += before - missing_bytes
            if turn.counted_bytes:
                self._turn_bytes -= turn.counted_bytes - missing_bytes
                turn.counted_bytes = missing_bytes
        elif self.exhausted:
            self._queue(holder, missing_bytes)

    def _queue(self, holder: Holder, missing_bytes: int) -> None:
        heappush(self._shortest, (missing_bytes, next(self._number), holder))

    def _begin_turns(self) -> None:
        for holder, missing_bytes in self._missing.items():
            self._queue(holder, missing_bytes)
        self._grant()
        self._checking = self._clock.callLater(CHECK_S, self._check)

    def _end_turns(self) -> None:
        self._turns.clear()
        self._turn_bytes = 0
        self._shortest.clear()
        if self._checking is not None and self._checking.active():
            self._checking.cancel()
        self._checking = None

    def _grant(self) -> None:
        """Give turns to the holders that can have one now."""
        granted = []
        first = next(iter(self._missing), None)
        if first is not None and first not in self._turns:
            granted.append(self._give_turn(first, 0))
        shortest = self._shortest
        while shortest:
            missing_bytes, _, holder = shortest[0]
            waits = self._missing.get(holder) == missing_bytes and holder not in self._turns
            if waits and self._turn_bytes + missing_bytes > self._limits.max_bytes:
                break
            heappop(shortest)
            if waits:
                granted.append(self._give_turn(holder, missing_bytes))
        for holder in granted:
            holder.reconsider()

    def _give_turn(self, holder: Holder, counted_bytes: int) -> Holder:
        self._turns[holder] = _Turn(self._clock.seconds(), counted_bytes)
        self._turn_bytes += counted_bytes
        return holder

    def _check(self) -> None:
        """Close connections that make no progress in their turns while others wait."""
        self._checking = self._clock.callLater(CHECK_S, self._check)
        if len(self._turns) == len(self._missing):
            return
        now_s, limits = self._clock.seconds(), self._limits
        for holder, turn in list(self._turns.items()):
            if not self.exhausted or len(self._turns) == len(self._missing):
                return
            turn_s = now_s - turn.started_s
            if turn_s > limits.max_turn_s:
                self._abort(holder, f"it took more than {limits.max_turn_s:g} s for a request")
            elif turn.received_bytes < limits.min_bytes_s * (turn_s - GRACE_S):
                self._abort(
                    holder,
                    f"it sent {turn.received_bytes} bytes of a request in {turn_s:.0f} s, less than"
                    f" {limits.min_bytes_s:g} a second,",
                )

    def _abort(self, holder: Holder, reason: str) -> None:
        limit = self._limits.max_bytes
        holder.abort(f"{reason} while memory is short (queued.max.request.bytes={limit})")
