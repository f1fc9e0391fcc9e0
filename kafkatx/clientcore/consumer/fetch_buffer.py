"""What all partitions of a consumer have at hand: how much memory it takes, and whose turn it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkatx.clientcore.consumer.partition_state import Position

SMALLEST_SHARE_BYTES = 16 << 10


def _nothing() -> None:
    pass


class Shelf:
    """Partitions that have something at hand, in turn.

    Each partition may have two *shares* at hand, so that one can be fetched while the other is worked on. The
    shares of all partitions fit into the limit, and so a partition whose records are not taken leaves the
    others their room. Where there are so many partitions that shares would be tiny, the limit alone counts.

    :ivar bytes: of all that is at hand.
    :ivar share_bytes: see there.
    :ivar on_room: called when more may be fetched than before; not to be acted upon at once.
    """

    def __init__(self, limit_bytes: int, partition_bytes: int) -> None:
        """Make it empty.

        :param limit_bytes: ``kafkatx.readahead.bytes``.
        :param partition_bytes: ``max.partition.fetch.bytes``.
        """
        self.bytes = 0
        self.on_room: Callable[[], None] = _nothing
        self._limit = limit_bytes
        self._partition_bytes = partition_bytes
        self._ready: deque[Position] = deque()
        self._starved = False
        self.share_bytes = max(1, partition_bytes)

    def divide(self, partitions: int) -> None:
        """There are so many partitions from now on."""
        share = max(SMALLEST_SHARE_BYTES, self._limit // max(1, 2 * partitions))
        self.share_bytes = max(1, min(self._partition_bytes, share))

    # -- room

    def room(self, reserved: int) -> int:
        """How much may be asked for: a share or more, or 0. A share if there is nothing at all.

        :param reserved: how much is under way.
        """
        room = self._limit - self.bytes - reserved
        if room >= self.share_bytes or not self.bytes + reserved:
            self._starved = False
            return max(room, self.share_bytes)
        self._starved = True
        return 0

    def put(self, position: Position, size: int) -> None:
        """A partition has got more."""
        position.queued_bytes += size
        self.bytes += size
        self.offer(position)

    def free(self, position: Position, size: int) -> None:
        """Of a partition so much is gone."""
        before = position.queued_bytes
        position.queued_bytes -= size
        self.bytes -= size
        if self._starved or position.queued_bytes < self.share_bytes <= before:
            self.on_room()

    # -- turns

    def offer(self, position: Position) -> None:
        """Something may have come to be at hand."""
        if not position.queued and position.at_hand:
            position.queued = True
            self._ready.append(position)

    def __bool__(self) -> bool:
        return self._first() is not None

    def next(self) -> Position | None:
        """The partition whose turn it is; the next call gives another one if there is one."""
        position = self._first()
        self._ready.rotate(-1)
        return position

    def _first(self) -> Position | None:
        ready = self._ready
        while ready:
            position = ready[0]
            if position.at_hand:
                return position
            ready.popleft()
            position.queued = False
        return None
