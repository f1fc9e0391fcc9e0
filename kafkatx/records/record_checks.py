"""Checks of the records of a magic-2 batch, in constant memory.

:func:`is_one_record` looks at one length, :func:`check_fields` reads every field, as a consumer does. Neither
allocates memory that grows with the number of records.
"""

from __future__ import annotations

from kafkatx.errors import CorruptRecords
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.varint import VARLONG_BYTES, decode, rest

LEAST_RECORD_BYTES = 7
"""Length, attributes, two deltas, two lengths and the count of headers: a byte each."""

MOST_FAULTS = 1000


def is_one_record(batch: memoryview) -> bool:
    """Return True if the records section of an uncompressed batch has the length of its only record."""
    try:
        twice, at = batch[HEADER_BYTES], HEADER_BYTES + 1
        if twice >= 0x80:
            twice, at = rest(batch, at, twice)
    except (IndexError, CorruptRecords):
        return False
    return at + at + twice == 2 * len(batch)  # an odd, that is negative, length never fits


def check_fields(data: bytes, count: int, with_keys: bool = False) -> list[int]:
    """Check every field of *count* records, as :func:`kafkatx.records.batch.read_columns` reads them.

    Their offsets follow each other without gaps. Varints of two bytes are read in place where they are
    common, as there.

    :param with_keys: look for records that have none.
    :return: the numbers of those, a thousand at most.
    :raises CorruptRecords: a field is not what it should be.
    """
    keyless: list[int] = []
    at = 0
    try:
        for number in range(count):
            n = data[at]
            at += 1
            if n >= 0x80:
                byte = data[at]
                if byte < 0x80:
                    n += (byte << 7) - 0x80
                    at += 1
                else:
                    n, at = rest(data, at, n)
            twice_end = at + at + n  # an odd, that is negative, length never fits
            n = data[at + 1]  # after the attributes
            at += 2
            if n >= 0x80:
                n, at = rest(data, at, n, VARLONG_BYTES)
            n = data[at]
            at += 1
            if n >= 0x80:
                byte = data[at]
                if byte < 0x80:
                    n += (byte << 7) - 0x80
                    at += 1
                else:
                    n, at = rest(data, at, n)
            if n != number << 1:
                raise CorruptRecords(f"record {number} has the offset {(n >> 1) ^ -(n & 1)} in its batch")
            n = data[at]
            at += 1
            if n >= 0x80:
                n, at = rest(data, at, n)
            if not n & 1:
                at += n >> 1
            elif with_keys and len(keyless) < MOST_FAULTS:
                keyless.append(number)
            n = data[at]
            at += 1
            if n >= 0x80:
                byte = data[at]
                if byte < 0x80:
                    n += (byte << 7) - 0x80
                    at += 1
                else:
                    n, at = rest(data, at, n)
            if not n & 1:
                at += n >> 1
            at = at + 1 if not data[at] else _after_headers(data, at, twice_end >> 1)
            if at + at != twice_end:
                raise CorruptRecords(f"record {number} is not as long as it says")
    except IndexError:
        raise CorruptRecords(f"the batch ends within its {count} records") from None
    _check_end(data, at, count)
    return keyless


def _after_headers(data: bytes, at: int, end: int) -> int:
    """Read a record's headers, which may not go beyond *end*; return the position after them."""
    count, at = decode(data, at)
    if count < 0:
        raise CorruptRecords(f"{count} headers in a record")
    for _ in range(count):
        size, at = decode(data, at)
        if size < 0:
            raise CorruptRecords(f"a header's name of {size} bytes")
        size, at = decode(data, at + size)
        at += max(size, 0)
        if at > end:
            raise CorruptRecords("headers are longer than their record")
    return at


def _check_end(data: bytes, end: int, count: int) -> None:
    if end != len(data):
        raise CorruptRecords(f"the batch's {count} records take {end} bytes of {len(data)}")
