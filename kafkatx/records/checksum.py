"""The checksums of the message formats: CRC-32C for magic 2, CRC-32 for magic 0 and 1.

CRC-32C (Castagnoli, RFC 3720 B.4) comes from the ``crc32c`` wheel, which uses the processor's own
instruction; where no such wheel can be had, ``crcmod`` computes it, about fifty times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias
from zlib import crc32

__all__ = ["crc32", "crc32c", "portable_crc32c"]

Checksum: TypeAlias = Callable[..., int]


def portable_crc32c() -> Checksum:
    """Return the slow CRC-32C of ``crcmod``.

    :return: ``crc(data, value=0)``; *value* is the checksum of what came before *data*.
    :raises ImportError: ``crcmod`` is not installed either.
    """
    from crcmod.predefined import mkPredefinedCrcFun

    compute = mkPredefinedCrcFun("crc-32c")

    def crc(data: bytes | memoryview, value: int = 0) -> int:
        # crcmod's compiled part takes bytes only
        result: int = compute(data if isinstance(data, bytes) else bytes(data), value)
        return result

    return crc


def _fastest() -> Checksum:
    try:
        from crc32c import crc32c as native
    except ImportError:
        return portable_crc32c()
    return native


crc32c: Checksum = _fastest()
"""``crc32c(data, value=0) -> int``: CRC-32C of *data* (bytes or memoryview), after *value*."""
