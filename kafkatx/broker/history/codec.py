"""The bytes of the samples in their file. Pure.

Layout: the magic :data:`MAGIC`, the length of the description (u32, big endian), the description (JSON: step,
capacity, newest slot and names of each ring), the columns (float32, little endian), and the CRC-32 of all
before (u32, big endian).
"""

from __future__ import annotations

import json
import zlib
from struct import Struct

from kafkatx.broker.history.history import History
from kafkatx.broker.history.packed import VALUE_BYTES, pack, unpack
from kafkatx.broker.history.ring_buffer import Ring

MAGIC = b"kafkatx history 1\n"
U32 = Struct(">I")
MOST_BYTES = 4 << 20
"""A larger file is not ours."""


def encode(history: History) -> bytes:
    """Return the bytes of all samples."""
    rings = [
        {"step": ring.step_ms, "capacity": ring.capacity, "last": ring.last, "names": list(ring.columns)}
        for ring in history.rings
    ]
    described = json.dumps(rings).encode()
    columns = [pack(column, "little") for ring in history.rings for column in ring.columns.values()]
    data = b"".join((MAGIC, U32.pack(len(described)), described, *columns))
    return data + U32.pack(zlib.crc32(data))


def decode(data: bytes) -> History:
    """Return samples.

    :raises ValueError: the bytes are damaged, or another version's.
    """
    if len(data) > MOST_BYTES or not data.startswith(MAGIC) or len(data) < len(MAGIC) + 8:
        raise ValueError("it is no file of samples")
    content, (checksum,) = data[:-4], U32.unpack(data[-4:])
    if zlib.crc32(content) != checksum:
        raise ValueError("its checksum is wrong")
    (length,) = U32.unpack_from(content, len(MAGIC))
    at = len(MAGIC) + 4
    try:
        described = json.loads(content[at : at + length])
        history = History()
        return _filled(history, described, content[at + length :])
    except (KeyError, TypeError, IndexError, RecursionError) as error:
        raise ValueError(f"its description is wrong: {error!r}") from None


def _filled(history: History, described: list[dict[str, object]], data: bytes) -> History:
    if len(described) != len(history.rings):
        raise ValueError("its rings are those of another version")
    at = 0
    for ring, about in zip(history.rings, described, strict=True):
        if (about["step"], about["capacity"]) != (ring.step_ms, ring.capacity):
            raise ValueError("its rings are those of another version")
        at = _fill(ring, about, data, at)
    if at != len(data):
        raise ValueError("its length is wrong")
    return history


def _fill(ring: Ring, about: dict[str, object], data: bytes, at: int) -> int:
    """Fill a ring with the columns at a position; return the position after them."""
    names, last = about["names"], about["last"]
    if not isinstance(names, list) or not isinstance(last, int) or len(names) > ring.most:
        raise ValueError("its description is wrong")
    ring.last = last
    size = ring.capacity * VALUE_BYTES
    for name in names:
        if not isinstance(name, str) or at + size > len(data):
            raise ValueError("its length is wrong")
        ring.columns[name] = unpack(data[at : at + size], ring.capacity, "little")
        at += size
    return at
