"""Frames: every message on a connection follows its size, a signed 32-bit number. Pure.

:class:`FrameDecoder` takes the bytes of a transport in pieces of any size and returns complete frames.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

from kafkatx.errors import ProtocolViolation
from kafkatx.types import Records

SIZE_BYTES = 4

_SIZE = struct.Struct(">i")
_unpack_size = _SIZE.unpack_from
_pack_size = _SIZE.pack

_SMALL_BYTES = 4096
"""Pieces below this size are joined: a peer that sends single bytes must not cost an object for each."""

_HTTP_METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"TRAC", b"CONN", b"PRI ")


class FrameDecoder:
    """Divides a stream of bytes into frames.

    :ivar buffered_bytes: buffered bytes of an incomplete frame, including its size.
    """

    def __init__(self, max_bytes: int) -> None:
        """:param max_bytes: the largest accepted frame, without its size."""
        self.max_bytes = max_bytes
        self.buffered_bytes = 0
        self._held: list[bytes | bytearray] = []
        self._needed_bytes = SIZE_BYTES  # buffered bytes needed for the next step
        self._violation: ProtocolViolation | None = None

    @property
    def missing_bytes(self) -> int:
        """The number of missing bytes of the incomplete frame, as far as known: its size comes first."""
        return self._needed_bytes - self.buffered_bytes

    def feed(self, data: bytes) -> Iterable[memoryview]:
        """Add *data* and return the body of each frame that is now complete.

        All of *data* is consumed, even if the frames are not iterated. A frame within one call's data is an
        uncopied slice of it; one in several pieces is joined once, when it is complete.

        :raises ProtocolViolation: a size is negative or above the limit. If there are frames before it, the
            iteration raises it after them. Nothing can be fed any more.
        """
        if self._violation is not None:
            raise self._violation
        if self._held:
            self._hold(data)
            if self.buffered_bytes < self._needed_bytes:
                return ()
            data = b"".join(self._held)
            self._held.clear()
            self.buffered_bytes = 0
        frames, at = self._cut(data)
        if self._violation is not None:
            if not frames:
                raise self._violation
            return _then_raise(frames, self._violation)
        if at < len(data):
            self._hold(data[at:] if at else data)
        return frames

    def _cut(self, data: bytes) -> tuple[list[memoryview], int]:
        """Return the complete frames in *data*, and the position of the first incomplete one."""
        view, size, at = memoryview(data), len(data), 0
        frames: list[memoryview] = []
        max_bytes = self.max_bytes
        self._needed_bytes = SIZE_BYTES
        while at + SIZE_BYTES <= size:
            (length,) = _unpack_size(data, at)
            if not 0 <= length <= max_bytes:
                self._violation = ProtocolViolation(_bad_size(length, max_bytes, data[at : at + SIZE_BYTES]))
                break
            start = at + SIZE_BYTES
            end = start + length
            if end > size:
                self._needed_bytes = end - at
                break
            frames.append(view[start:end])
            at = end
        return frames, at

    def _hold(self, data: bytes) -> None:
        self.buffered_bytes += len(data)
        if len(data) >= _SMALL_BYTES:
            self._held.append(data)
        elif self._held and type(self._held[-1]) is bytearray and len(self._held[-1]) < 16 * _SMALL_BYTES:
            self._held[-1] += data
        else:
            self._held.append(bytearray(data))


class DeafDecoder(FrameDecoder):
    """A decoder of a stream whose rest does not matter any more: it has no frames."""

    def __init__(self) -> None:
        super().__init__(0)

    def feed(self, data: bytes) -> Iterable[memoryview]:
        """Drop *data*."""
        return ()


def frame(chunks: Sequence[Records]) -> list[Records]:
    """Return the chunks of a message with its size in front.

    :raises struct.error: the message has 2 GiB or more.
    """
    return [_pack_size(sum(map(len, chunks))), *chunks]


def _then_raise(frames: list[memoryview], violation: ProtocolViolation) -> Iterator[memoryview]:
    yield from frames
    raise violation


def _bad_size(length: int, max_bytes: int, raw: bytes) -> str:
    """Return an error message for a size, with the protocol that the peer probably uses."""
    wrong = f"a frame of {length} bytes " + (
        "cannot be" if length < 0 else f"is above the limit of {max_bytes}"
    )
    if raw[:2] == b"\x16\x03":
        return f"{wrong}: the peer speaks TLS to a port without it"
    if raw in _HTTP_METHODS:
        return f"{wrong}: the peer speaks HTTP ({raw.decode().strip()}...)"
    return wrong
