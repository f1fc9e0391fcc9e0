"""Values as bytes: float32 in a given order of bytes. Pure."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Literal

VALUE_BYTES = 4

Order = Literal["big", "little"]


def pack(values: Sequence[float], order: Order = "big") -> bytes:
    """Return the bytes of values."""
    return _ordered(array("f", values), order).tobytes()


def unpack(data: bytes, count: int, order: Order = "big") -> array[float]:
    """Return values.

    :raises ValueError: the bytes are not those of *count* values.
    """
    if len(data) != VALUE_BYTES * count:
        raise ValueError(f"{len(data)} bytes are not {count} values")
    return _ordered(array("f", data), order)


def _ordered(values: array[float], order: Order) -> array[float]:
    if order != sys.byteorder:
        values.byteswap()
    return values
