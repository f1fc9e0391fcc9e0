"""Fetch replies for old clients: records converted to magic 0 or 1, one reply at a time and within a budget.

Old clients are those of Fetch v0-1, which read magic 0, and v2-3, which read magic 1. What is stored in a
magic that they read is sent from its file. The rest is decoded and rebuilt in memory, where it stays until
the client has read it. All such replies together have a budget, kafkatx.downconversion.max.bytes; when it is
used up, the next replies wait in the order of their requests. Files are read in a worker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from struct import Struct
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure

from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.interfaces import Worker
from kafkatx.net.requests import Peer
from kafkatx.records.compression import LIMIT_BYTES
from kafkatx.records.conversion import down_convert
from kafkatx.types import FileSlice, Records

if TYPE_CHECKING:
    from kafkatx.wire.messages.fetch import PartitionData  # a start needs no fetch

REPLY_BYTES = 1 << 20
"""A reply is converted up to this size; its first batch is whole, however large."""

CHECK_S = 1.0
STALLED_S = 5.0
"""While others wait for the budget, a client must read some of its converted reply within this time."""

LONGEST_S = 30.0
"""While others wait for the budget, a client must read all of its converted reply within this time."""

_WINDOW_BYTES = 64 << 10
_HEADER = Struct(">qixxxxb")  # offset, length, leader epoch or CRC, magic
_OVERHEAD = 12
"""Offset and length: the length counts what follows them."""


class _Conversion:
    """A reply that waits for conversion, or is converted and not sent yet."""

    def __init__(self, peer: Peer, convert: Callable[[Callable[[], bool]], int]) -> None:
        self.peer = peer
        self.convert = convert
        self.done: Deferred[None] = Deferred(self._leave)
        self.gone = False
        self.size = 0
        self.since_s = self.moved_s = 0.0
        self.rounds = 0

    def _leave(self, _: Deferred[None]) -> None:
        self.gone = True

    def is_gone(self) -> bool:
        """Return True if the reply is no longer wanted; called in the worker."""
        return self.gone


class DownConversions:
    """Converts replies one after the other, while the unsent ones are within the budget.

    :param limit_bytes: the budget; one more reply may exceed it.
    """

    def __init__(self, clock: IReactorTime, worker: Callable[[], Worker], limit_bytes: int) -> None:
        self._clock = clock
        self._worker = worker
        self._limit_bytes = limit_bytes
        self._waiting: deque[_Conversion] = deque()
        self._running: _Conversion | None = None
        self._unsent: dict[_Conversion, None] = {}
        self._unsent_bytes = 0
        self._checking: IDelayedCall | None = None
        self._started = count()

    def convert(
        self,
        peer: Peer,
        parts: Sequence[tuple[int, PartitionData]],
        to_magic: int,
        inflated_limit_bytes: int = LIMIT_BYTES,
    ) -> Deferred[None]:
        """Convert the records of a reply, in place, when it is its turn.

        At most ``REPLY_BYTES`` are converted. The partitions after that have no records, and come first in
        the client's next request.

        :param parts: the requested offset of each partition, and its part of the reply.
        :param inflated_limit_bytes: the largest size of an inflated batch.
        :return: fires when the reply can be sent; cancelling it ends the work at the next batch.
        """
        first = next(self._started) % len(parts) if parts else 0
        in_turn = [*parts[first:], *parts[:first]]
        work = partial(convert_parts, in_turn, to_magic, REPLY_BYTES, inflated_limit_bytes)
        conversion = _Conversion(peer, work)
        self._waiting.append(conversion)
        self._go_on()
        return conversion.done

    def _go_on(self) -> None:
        while self._waiting and self._running is None and self._unsent_bytes < self._limit_bytes:
            conversion = self._waiting.popleft()
            if conversion.gone:
                continue
            self._running = conversion
            working = self._worker()(partial(conversion.convert, conversion.is_gone))
            working.addBoth(self._converted, conversion)
        if self._waiting and self._checking is None:
            self._checking = self._clock.callLater(CHECK_S, self._check)

    def _converted(self, result: int | Failure, conversion: _Conversion) -> None:
        self._running = None
        if isinstance(result, Failure):
            if not conversion.gone:
                conversion.done.errback(result)
        elif not conversion.gone:
            if result:
                self._hold(conversion, result)
            conversion.done.callback(None)
        self._go_on()

    def _hold(self, conversion: _Conversion, size: int) -> None:
        """Count a reply until it is sent, or its connection is closed."""
        conversion.size = size
        conversion.since_s = conversion.moved_s = self._clock.seconds()
        conversion.rounds = conversion.peer.rounds()
        self._unsent[conversion] = None
        self._unsent_bytes += size
        conversion.peer.when_sent.append(partial(self._release, conversion))

    def _release(self, conversion: _Conversion) -> None:
        del self._unsent[conversion]
        self._unsent_bytes -= conversion.size
        self._go_on()

    def _check(self) -> None:
        """Close connections that do not read their replies while others wait."""
        self._checking = None
        while self._waiting and self._waiting[0].gone:
            self._waiting.popleft()
        if not self._waiting:
            return
        now_s = self._clock.seconds()
        for conversion in list(self._unsent):
            rounds = conversion.peer.rounds()
            if rounds != conversion.rounds:
                conversion.rounds, conversion.moved_s = rounds, now_s
            stalled = now_s - conversion.moved_s > STALLED_S
            short = self._unsent_bytes >= self._limit_bytes
            if short and (stalled or now_s - conversion.since_s > LONGEST_S):
                conversion.peer.abort(
                    "it does not read its reply while others wait for the memory"
                    f" (kafkatx.downconversion.max.bytes={self._limit_bytes})"
                )
        if self._checking is None:
            self._checking = self._clock.callLater(CHECK_S, self._check)


def convert_parts(
    parts: Sequence[tuple[int, PartitionData]],
    to_magic: int,
    room_bytes: int,
    limit_bytes: int = LIMIT_BYTES,
    is_gone: Callable[[], bool] = lambda: False,
) -> int:
    """Convert the records that an old client cannot read, in place; return the converted bytes.

    It reads files and inflates batches, so it runs in a worker.

    :param is_gone: called before each partition; True ends the work.
    """
    made = 0
    for fetch_offset, result in parts:
        if is_gone():
            break
        if not result.records:
            continue
        try:
            if can_read(result.records, to_magic):
                continue
            if made < room_bytes:
                result.records = _converted(
                    result.records, to_magic, fetch_offset, room_bytes - made, limit_bytes
                )
                made += len(result.records)
            else:
                result.records = b""
        except RequestError as refused:
            result.error_code, result.records = refused.code, b""
        except OSError:
            result.error_code, result.records = ErrorCode.KAFKA_STORAGE_ERROR, b""
    return made


def can_read(stored: Records, to_magic: int) -> bool:
    """Return True if no batch has a larger magic; only headers are read.

    :raises CorruptRecords: a length is impossible.
    :raises OSError: the file cannot be read.
    """
    at, size = 0, len(stored)
    while at + _HEADER.size <= size:
        window, start = _read(stored, at, _WINDOW_BYTES), at
        while at - start + _HEADER.size <= len(window):
            _offset, length, magic = _HEADER.unpack_from(window, at - start)
            if magic > to_magic:
                return False
            if length < _HEADER.size - _OVERHEAD:
                raise CorruptRecords(f"a batch of length {length} at position {at}")
            at += length + _OVERHEAD
    return True


def _converted(stored: Records, to_magic: int, fetch_offset: int, room_bytes: int, limit_bytes: int) -> bytes:
    """Convert the first batch, and those after it that fit."""
    _offset, length, _magic = _HEADER.unpack(_read(stored, 0, _HEADER.size))
    data = _read(stored, 0, max(room_bytes, length + _OVERHEAD))
    return down_convert(data, to_magic, fetch_offset, room_bytes, max(limit_bytes, len(data)))


def _read(stored: Records, at: int, size: int) -> memoryview:
    size = min(size, len(stored) - at)
    if isinstance(stored, FileSlice):
        return memoryview(FileSlice(stored.file, stored.position + at, size).tobytes())
    return memoryview(stored)[at : at + size]
