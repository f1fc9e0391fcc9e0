"""The Java client's hash of keys, for a whole column at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkatx.partitioners import MURMUR2_FACTOR, MURMUR2_SEED, murmur2
from kafkatx.spark.arrow.record_fields import Integers
from kafkatx.spark.sink.encoder import buffers_of

_LONG = 256
"""Keys above it are few, and one by one they are faster than in as many steps as the longest has words."""


def murmur2_column(keys: pa.BinaryArray) -> npt.NDArray[np.uint32]:
    """Hash each key as :func:`kafkatx.partitioners.murmur2` does: a numpy array of uint32.

    :param keys: a ``pyarrow.BinaryArray``; null has the hash of an empty key.
    """
    data, starts, sizes = buffers_of(keys)
    factor = np.uint32(MURMUR2_FACTOR)
    hashes: npt.NDArray[Any] = np.uint32(MURMUR2_SEED) ^ sizes.astype(np.uint32)
    short = np.flatnonzero(sizes <= _LONG)
    left = short[sizes[short] >= 4]
    at = 0
    while left.size:
        word: npt.NDArray[Any] = _words(data, starts[left] + at) * factor
        word = (word ^ word >> 24) * factor
        hashes[left] = hashes[left] * factor ^ word
        at += 4
        left = left[sizes[left] >= at + 4]
    for rest in (3, 2, 1):
        some = short[(sizes[short] & 3) >= rest]
        byte = data[starts[some] + (sizes[some] & ~3) + rest - 1].astype(np.uint32)
        hashes[some] ^= byte << np.uint32(8 * (rest - 1))
    some = short[(sizes[short] & 3) > 0]
    hashes[some] *= factor
    hashes = (hashes ^ hashes >> 13) * factor
    hashes ^= hashes >> 15
    for index in np.flatnonzero(sizes > _LONG).tolist():
        hashes[index] = murmur2(keys[index].as_py())
    return hashes


def _words(data: npt.NDArray[np.uint8], at: Integers) -> npt.NDArray[np.uint32]:
    """Return the four bytes at each place as a little-endian number."""
    word: npt.NDArray[Any] = data[at].astype(np.uint32)
    for byte in (1, 2, 3):
        word |= data[at + byte].astype(np.uint32) << np.uint32(8 * byte)
    return word
