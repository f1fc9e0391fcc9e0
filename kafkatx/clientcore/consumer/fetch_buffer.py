"""The buffer for fetched records of all partitions of a consumer: its memory limit and its round-robin queue.

The records themselves are kept by the partitions (:mod:`kafkatx.clientcore.consumer.partition_state`); this
module counts their bytes. Pure: no I/O and no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

SMALLEST_SHARE_BYTES = 16 << 10


class BufferedPartition(Protocol):
    """The part of a partition's state that the buffer reads and writes.

    :ivar in_queue: true while the partition is in the buffer's queue.
    :ivar buffered_bytes: size of the partition's buffered batches.
    """

    in_queue: bool
    buffered_bytes: int

    @property
    def ready(self) -> bool:
        """True if the partition has a record or an error to deliver."""


PartitionT = TypeVar("PartitionT", bound=BufferedPartition)


def _nothing() -> None:
    pass


class FetchBuffer(Generic[PartitionT]):
    """Partitions with buffered records, in round-robin order.

    Each partition may buffer two *shares*: one is processed while the next is fetched. The shares of all
    partitions fit into the limit, so a partition whose records are not taken leaves room for the others. With
    so many partitions that shares would be tiny, only the limit counts.

    :ivar buffered_bytes: size of all buffered batches.
    :ivar share_bytes: size of one share.
    :ivar on_space: called when more may be fetched than before; it must not fetch synchronously.
    """

    def __init__(self, limit_bytes: int, partition_bytes: int) -> None:
        """Create an empty buffer.

        :param limit_bytes: ``kafkatx.readahead.bytes``.
        :param partition_bytes: ``max.partition.fetch.bytes``.
        """
        self.buffered_bytes = 0
        self.on_space: Callable[[], None] = _nothing
        self._limit = limit_bytes
        self._partition_bytes = partition_bytes
        self._ready: deque[PartitionT] = deque()
        self._exhausted = False
        self.share_bytes = max(1, partition_bytes)

    def set_partition_count(self, count: int) -> None:
        """Set the share size for *count* assigned partitions."""
        share = max(SMALLEST_SHARE_BYTES, self._limit // max(1, 2 * count))
        self.share_bytes = max(1, min(self._partition_bytes, share))

    # -- space

    def available_bytes(self, reserved: int) -> int:
        """Return how many bytes may be fetched: at least a share, or 0.

        An empty buffer always has room for one share.

        :param reserved: bytes that fetches in flight may return.
        """
        available = self._limit - self.buffered_bytes - reserved
        if available >= self.share_bytes or not self.buffered_bytes + reserved:
            self._exhausted = False
            return max(available, self.share_bytes)
        self._exhausted = True
        return 0

    def add_bytes(self, state: PartitionT, size: int) -> None:
        """Count *size* fetched bytes of a partition, and queue it."""
        state.buffered_bytes += size
        self.buffered_bytes += size
        self.enqueue(state)

    def release_bytes(self, state: PartitionT, size: int) -> None:
        """Release *size* bytes of a partition; call :attr:`on_space` if that allows another fetch."""
        before = state.buffered_bytes
        state.buffered_bytes -= size
        self.buffered_bytes -= size
        if self._exhausted or state.buffered_bytes < self.share_bytes <= before:
            self.on_space()

    # -- round robin

    def enqueue(self, state: PartitionT) -> None:
        """Queue a partition if it is ready and not queued yet."""
        if not state.in_queue and state.ready:
            state.in_queue = True
            self._ready.append(state)

    def __bool__(self) -> bool:
        return self._first() is not None

    def next_ready(self) -> PartitionT | None:
        """Return the next ready partition and move it to the end of the queue; None if there is none."""
        state = self._first()
        self._ready.rotate(-1)
        return state

    def _first(self) -> PartitionT | None:
        """Return the first ready partition; remove those before it that are no longer ready."""
        ready = self._ready
        while ready:
            state = ready[0]
            if state.ready:
                return state
            ready.popleft()
            state.in_queue = False
        return None
