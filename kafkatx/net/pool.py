"""The memory pool for waiting and unfinished requests of all connections together.

An unfinished request claims all of its bytes before they are read. What does not fit waits, and the addresses
of those that wait have turns one after the other. A turn needs progress: while others wait, a connection that
is slower than the minimum rate, or would take too long, is closed. It touches the clock only; connections ask
it whether they may read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import attrs
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.fair_shares import FairQueue
from kafkatx.wire.frames import SIZE_BYTES

GRACE_S = 1.0
"""Seconds that a turn may go without a byte."""

CHECK_S = 1.0
"""Seconds between checks of the turns while requests wait for memory."""

SMALL_BYTES = 16 << 10
"""Requests up to this size are always read: a connection holds as much in one read."""

USUAL_BYTES, USUAL_SHARE = 1 << 20, 64
"""Requests of at most this size, or of this part of the memory, are of usual size."""

RESERVED_SHARE = 4
"""This part of the memory is kept for requests of usual size."""


SLACK_SHARE = 8
"""Memory is short until this part of it is free again."""


class Holder(Protocol):
    """A connection, as the pool sees it."""

    @property
    def address(self) -> str:
        """The address of the peer."""

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

    @property
    def small_bytes(self) -> int:
        """The size of requests that never wait."""
        return max(SIZE_BYTES, min(SMALL_BYTES, self.max_bytes // USUAL_SHARE))

    @property
    def usual_bytes(self) -> int:
        """The size of requests that have memory of their own: batches of a client's usual size, at least."""
        return max(self.max_bytes // USUAL_SHARE, min(USUAL_BYTES, self.max_bytes // RESERVED_SHARE))


@attrs.define(eq=False)
class _Claim:
    """The memory of one connection.

    :ivar size: missing bytes of its unfinished request when that began.
    :ivar has_turn: True if it may read the request; False: it waits, or has none.
    :ivar seen_s: when it was last seen to be fast enough, with :attr:`seen_bytes` missing.
    """

    holder: Holder
    held_bytes: int = 0
    missing_bytes: int = 0
    size: int = 0
    has_turn: bool = False
    seen_s: float = 0.0
    seen_bytes: int = 0


class MemoryPool:
    """Counts the bytes of waiting and of incomplete requests (``queued.max.request.bytes``).

    An incomplete request has a turn while it is read. Its missing bytes are claimed with the turn, which it
    gets if they fit beside all that is held and claimed:

    *   requests of usual size have a reserve of their own, which large ones leave free;
    *   one large request at a time is read in any case: it may be larger than the pool.

    So the pool holds at most its limit, its reserve, and one large request. Connections that hold nothing are
    always read from; in small pieces while memory is short. A connection that begins its next request has had
    its turn and queues again.

    :ivar held_bytes: bytes that the connections hold.
    :ivar exhausted: True if requests wait for memory, or all of it is claimed.
    """

    def __init__(self, limits: MemoryPoolLimits, clock: IReactorTime, changed: Callable[[], None]) -> None:
        """Make a pool.

        :param changed: called after :attr:`exhausted` has changed.
        """
        self._limits = limits
        self._most = limits.max_bytes
        self._small_size, self._usual_size = limits.small_bytes, limits.usual_bytes
        self._clock = clock
        self._changed = changed
        self._claims: dict[Holder, _Claim] = {}
        self.held_bytes = 0
        self._turn_bytes = 0  # missing in all turns
        self._usual_bytes = 0  # sizes of the turns of usual size
        self._large_turns = 0
        self._usual: FairQueue[_Claim] = FairQueue()
        self._large: FairQueue[_Claim] = FairQueue()
        self._checking: IDelayedCall | None = None
        self.exhausted = False

    def may_read(self, holder: Holder) -> bool:
        """Return True if *holder* may read now."""
        if not self.exhausted:
            return True
        claim = self._claims.get(holder)
        return claim is None or claim.has_turn

    def hold(self, holder: Holder, held_bytes: int, missing_bytes: int) -> None:
        """Set how many bytes *holder* holds.

        :param missing_bytes: how many bytes its unfinished request lacks; 0 if there is none, or if it is not
            read further for another reason.
        """
        claim = self._claims.get(holder)
        if claim is None:
            if not held_bytes:
                return
            claim = self._claims[holder] = _Claim(holder)
        self.held_bytes += held_bytes - claim.held_bytes
        claim.held_bytes = held_bytes
        if claim.size and not 0 < missing_bytes <= claim.missing_bytes:  # finished, or the next one has begun
            self._end_request(claim)
        if missing_bytes and not claim.size:
            self._begin_request(claim, missing_bytes)
        elif missing_bytes:
            self._turn_bytes -= claim.missing_bytes - missing_bytes if claim.has_turn else 0
            claim.missing_bytes = missing_bytes
        if not held_bytes:
            del self._claims[holder]
        if self.exhausted:
            self._grant()
        self._note_exhausted()

    def _note_exhausted(self) -> None:
        waiting = bool(self._usual or self._large)
        if waiting and self._checking is None:
            self._checking = self._clock.callLater(CHECK_S, self._check)
        elif not waiting and self._checking is not None:
            self._checking.cancel()
            self._checking = None
        most = self._most
        if self.exhausted:  # all connections are told: not with each request that comes and goes
            most -= most // SLACK_SHARE
        exhausted = waiting or 0 <= most <= self.held_bytes + self._turn_bytes
        if exhausted != self.exhausted:
            self.exhausted = exhausted
            self._changed()

    def _begin_request(self, claim: _Claim, missing_bytes: int) -> None:
        claim.size = claim.missing_bytes = missing_bytes
        queue = self._usual if missing_bytes <= self._usual_size else self._large
        if missing_bytes <= self._small_size or (not queue and self._fits(missing_bytes)):
            self._give_turn(claim)
        else:
            queue.push(claim.holder.address, claim)

    def _end_request(self, claim: _Claim) -> None:
        if claim.has_turn:
            self._turn_bytes -= claim.missing_bytes
            self._count_turn(claim.size, -1)
        else:
            self._usual.remove(claim)
            self._large.remove(claim)
        claim.size = claim.missing_bytes = 0
        claim.has_turn = False

    def _fits(self, size: int) -> bool:
        """Return True if a request of a size can have a turn now."""
        if self._most < 0:
            return True
        reserve = self._most // RESERVED_SHARE
        free = self._most - self.held_bytes - self._turn_bytes
        if size <= self._usual_size:
            return size <= free or self._usual_bytes + size <= reserve
        return not self._large_turns or size <= free - reserve

    def _grant(self) -> None:
        """Give turns to the requests that fit now."""
        granted = []
        for queue in (self._usual, self._large):
            while queue and self._fits(queue.peek().missing_bytes):
                granted.append(queue.pop())
                self._give_turn(granted[-1])
        for claim in granted:
            claim.holder.reconsider()

    def _give_turn(self, claim: _Claim) -> None:
        claim.has_turn, claim.seen_s = True, self._clock.seconds()
        claim.seen_bytes = claim.missing_bytes
        self._turn_bytes += claim.missing_bytes
        self._count_turn(claim.size, 1)

    def _count_turn(self, size: int, change: int) -> None:
        if size > self._usual_size:
            self._large_turns += change
        elif size > self._small_size:
            self._usual_bytes += change * size

    def _check(self) -> None:
        """Close connections that make no progress in their turns while others wait."""
        self._checking = self._clock.callLater(CHECK_S, self._check)
        now_s = self._clock.seconds()
        for claim in list(self._claims.values()):
            if not (self._usual or self._large):
                return
            reason = self._fault(claim, now_s)
            if reason:
                limit = self._limits.max_bytes
                claim.holder.abort(f"{reason} while memory is short (queued.max.request.bytes={limit})")

    def _fault(self, claim: _Claim, now_s: float) -> str:
        """Return why a connection must not keep its turn, if it has one; empty: it may.

        From one check to the next it has to send at the minimum rate, or at the one that completes the
        request within the longest time of a turn: a request that lacks a byte takes as much memory as a
        complete one.
        """
        limits, passed_s = self._limits, now_s - claim.seen_s
        if not claim.has_turn or passed_s <= GRACE_S:
            return ""
        received = claim.seen_bytes - claim.missing_bytes
        least_bytes_s = max(limits.min_bytes_s, claim.size / limits.max_turn_s)
        if received < least_bytes_s * passed_s:
            return (
                f"it sent {received} bytes of a request in {passed_s:.0f} s, less than {least_bytes_s:g} a"
                " second,"
            )
        claim.seen_s, claim.seen_bytes = now_s, claim.missing_bytes
        return ""
