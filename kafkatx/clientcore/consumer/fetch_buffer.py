"""What all partitions of a consumer have at hand: how much memory it takes, and whose turn it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkatx.clientcore.consumer.partition_state import TopicPartitionState

SMALLEST_SHARE_BYTES = 16 << 10


def _nothing() -> None:
    pass


class FetchBuffer:
    """Partitions that have something at hand, in turn.

    Each partition may have two *shares* at hand, so that one can be fetched while the other is worked on. The
    shares of all partitions fit into the limit, and so a partition whose records are not taken leaves the
    others their room. Where there are so many partitions that shares would be tiny, the limit alone counts.

    :ivar buffered_bytes: of all that is at hand.
    :ivar share_bytes: see there.
    :ivar on_space: called when more may be fetched than before; not to be acted upon at once.
    """

    def __init__(self, limit_bytes: int, partition_bytes: int) -> None:
        """Make it empty.

        :param limit_bytes: ``kafkatx.readahead.bytes``.
        :param partition_bytes: ``max.partition.fetch.bytes``.
        """
        self.buffered_bytes = 0
        self.on_space: Callable[[], None] = _nothing
        self._limit = limit_bytes
        self._partition_bytes = partition_bytes
        self._ready: deque[TopicPartitionState] = deque()
        self._starved = False
        self.share_bytes = max(1, partition_bytes)

    def set_partition_count(self, partitions: int) -> None:
        """There are so many partitions from now on."""
        share = max(SMALLEST_SHARE_BYTES, self._limit // max(1, 2 * partitions))
        self.share_bytes = max(1, min(self._partition_bytes, share))

    # -- room

    def available_bytes(self, reserved: int) -> int:
        """How much may be asked for: a share or more, or 0. A share if there is nothing at all.

        :param reserved: how much is under way.
        """
        room = self._limit - self.buffered_bytes - reserved
        if room >= self.share_bytes or not self.buffered_bytes + reserved:
            self._starved = False
            return max(room, self.share_bytes)
        self._starved = True
        return 0

    def add_bytes(self, position: TopicPartitionState, size: int) -> None:
        """A partition has got more."""
        position.buffered_bytes += size
        self.buffered_bytes += size
        self.enqueue(position)

    def release_bytes(self, position: TopicPartitionState, size: int) -> None:
        """Of a partition so much is gone."""
        before = position.buffered_bytes
        position.buffered_bytes -= size
        self.buffered_bytes -= size
        if self._starved or position.buffered_bytes < self.share_bytes <= before:
            self.on_space()

    # -- turns

    def enqueue(self, position: TopicPartitionState) -> None:
        """Something may have come to be at hand."""
        if not position.in_queue and position.ready:
            position.in_queue = True
            self._ready.append(position)

    def __bool__(self) -> bool:
        return self._first() is not None

    def next_ready(self) -> TopicPartitionState | None:
        """The partition whose turn it is; the next call gives another one if there is one."""
        position = self._first()
        self._ready.rotate(-1)
        return position

    def _first(self) -> TopicPartitionState | None:
        ready = self._ready
        while ready:
            position = ready[0]
            if position.ready:
                return position
            ready.popleft()
            position.in_queue = False
        return None
