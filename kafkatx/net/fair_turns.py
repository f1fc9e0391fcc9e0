"""Turns of work that only some may do at the same time, fair by key: an address or a principal.

It runs what it is given and has neither threads nor timers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.python.failure import Failure

from kafkatx.fair_shares import FairPlaces, FairQueue

MOST_BEHIND = 10_000
"""Keys that are known to go behind others; beyond that the oldest is forgotten."""


class TooManyWaiting(Exception):
    """Too much work of one key waits already: it has to try again later."""


@attrs.define(eq=False)
class _Turn:
    """Work that waits, or is being done.

    :ivar key: whose turn it is.
    :ivar done: the caller's Deferred.
    :ivar working: that of the work, once it has begun.
    """

    key: Hashable
    call: Callable[[], Any]
    done: Deferred[Any] = attrs.field(init=False)
    working: Deferred[Any] | None = None


class FairTurns:
    """Work is done as its turn comes: the keys have turns one after the other.

    Work whose caller has cancelled it is never begun. Work that has begun keeps its turn until it ends, since
    a thread cannot be stopped; with *cancels* it is cancelled, too. A key with too much that waits is refused
    at once. If too much waits in all, the key with most gives way. A key that was put behind has every second
    turn at most while others wait: however many such keys there are, others need not wait for all of them.

    :param most: work that is done at the same time.
    :param most_of_key: work of one key that waits.
    :param most_waiting: work that waits in all.
    :param kept: turns that one key alone does not get: another one need not wait for the end of its work.
    """

    def __init__(
        self, most: int, most_of_key: int, most_waiting: int = 256, cancels: bool = False, kept: int = 0
    ) -> None:
        self.most = most
        self._kept = kept
        self._cancels = cancels
        self._running_of: dict[Hashable, int] = {}
        self._most_of_key = most_of_key
        self._queue: FairQueue[_Turn] = FairQueue()
        self._places: FairPlaces[_Turn] = FairPlaces(most_waiting)
        self._of_key: dict[Hashable, FairPlaces[_Turn]] = {}
        self._running = 0
        self._going_on = False
        self._behind: dict[Hashable, None] = {}
        self._was_behind = False

    def __len__(self) -> int:
        """Return the number of calls that wait."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """The number of calls that are being made."""
        return self._running

    def run(self, key: Hashable, call: Callable[[], Any], user: Hashable = None) -> Deferred[Any]:
        """Do work when its turn comes.

        :param call: the work; it returns a value, or a Deferred.
        :param user: within a key the places to wait are fair by this.
        :return: fires with the result; fails with its error, or with TooManyWaiting. Cancelling it drops work
            that waits, and the result of work that has begun.
        """
        turn = _Turn(key, call)
        turn.done = Deferred(partial(self._cancel, turn))
        if self._running < self.most and self._may_begin(key):
            self._begin(turn)
            return turn.done
        of_key = self._of_key.setdefault(key, FairPlaces(self._most_of_key))
        if not (self._make_room(of_key, user) and self._make_room(self._places, key)):
            self._tidy(key)
            turn.done.errback(TooManyWaiting())
            return turn.done
        of_key = self._of_key.setdefault(key, of_key)
        of_key.add(user, turn)
        self._places.add(key, turn)
        self._queue.push(key, turn)
        turn.done.addErrback(self._drop, turn)
        return turn.done

    def put_behind(self, key: Hashable, behind: bool) -> None:
        """Put a key behind others from now on, or no more."""
        self._behind.pop(key, None)
        if behind:
            self._behind[key] = None
            if len(self._behind) > MOST_BEHIND:
                del self._behind[next(iter(self._behind))]

    def _make_room(self, places: FairPlaces[_Turn], key: Hashable) -> bool:
        """Return True if there is a place for *key*: one of a key with more may have to leave."""
        crowd = places.crowded(key)
        if crowd and crowd[-1] in places.of(key):
            return False
        if crowd:
            crowd[-1].done.errback(TooManyWaiting())
        return True

    def _cancel(self, turn: _Turn, done: Deferred[Any]) -> None:
        done.errback(CancelledError())
        if self._cancels and turn.working is not None:
            turn.working.cancel()

    def _drop(self, failure: Failure, turn: _Turn) -> Failure:
        """Forget work that has failed before its turn."""
        if self._queue.remove(turn):
            self._leave(turn)
        return failure

    def _leave(self, turn: _Turn) -> None:
        self._places.remove(turn)
        self._of_key[turn.key].remove(turn)
        self._tidy(turn.key)

    def _tidy(self, key: Hashable) -> None:
        if not self._of_key[key]:
            del self._of_key[key]

    def _may_begin(self, key: Hashable) -> bool:
        """Return True if a key may have another turn, beside those that are kept for others."""
        return self._running_of.get(key, 0) < self.most - self._kept

    def _may_begin_first(self, key: Hashable) -> bool:
        """Return True if a key may have this turn, and need not go behind others."""
        return not (self._was_behind and key in self._behind) and self._may_begin(key)

    def _begin(self, turn: _Turn) -> None:
        self._was_behind = turn.key in self._behind
        self._running += 1
        self._running_of[turn.key] = self._running_of.get(turn.key, 0) + 1
        turn.working = maybeDeferred(turn.call)
        turn.working.addBoth(self._end, turn)

    def _end(self, result: object, turn: _Turn) -> None:
        self._running -= 1
        self._running_of[turn.key] -= 1
        if not self._running_of[turn.key]:
            del self._running_of[turn.key]
        if turn.done.called:  # the caller has gone, and with it the interest in an error
            pass
        elif isinstance(result, Failure):
            turn.done.errback(result)
        else:
            turn.done.callback(result)
        self._go_on()

    def _go_on(self) -> None:
        """Begin what has its turn now; not from within itself, since work may end at once."""
        if self._going_on:
            return
        self._going_on = True
        try:
            while self._running < self.most:
                turn = self._queue.pop_of(self._may_begin_first) or self._queue.pop_of(self._may_begin)
                if turn is None:
                    break
                self._leave(turn)
                self._begin(turn)
        finally:
            self._going_on = False
