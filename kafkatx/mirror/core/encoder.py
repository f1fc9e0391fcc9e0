"""The encoder of copies: records of a source partition to one batch of an idempotent producer. Pure.

Keys, values, headers and timestamps stay; each record gets its provenance as one more header. The loop is the
mirror's straight path, so it puts a record together by itself and calls a function only for long fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkatx.clientcore.consumer.record import Record
from kafkatx.mirror.core.provenance import HeaderStamp
from kafkatx.records.builder import assemble
from kafkatx.records.compression import Codec, compress
from kafkatx.records.varint import SMALL, encode

_NULL = b"\x01"
_ATTRIBUTES = b"\0"
_SMALL = len(SMALL)
_OVERHEAD_BYTES = 40
"""About what a record takes beside its key, value and headers."""


class BatchEncoder:
    """Encodes the copies of the records of one source partition."""

    def __init__(self, stamp: HeaderStamp, codec: Codec = Codec.NONE, level: int | None = None) -> None:
        self._stamp = stamp
        self._codec = codec
        self._level = level

    def encode(
        self, records: Sequence[Record], producer_id: int, producer_epoch: int, base_sequence: int
    ) -> bytes:
        """Return a batch with a copy of each record, in order.

        :param records: at least one.
        """
        base_ms = max_ms = records[0].timestamp_ms
        head, add = self._stamp.head, self._stamp.add
        small, count = SMALL, _SMALL
        parts: list[bytes] = []
        for index, (_, _, offset, time_ms, _, key, value, headers, _) in enumerate(records):
            if time_ms > max_ms:
                max_ms = time_ms
            if headers:
                stamped = add(headers, offset)
            else:
                digits = b"%d" % offset
                stamped = b"\x02" + head(len(digits)) + digits
            delta = time_ms - base_ms
            fields = [
                _ATTRIBUTES,
                small[delta] if 0 <= delta < count else encode(delta),
                small[index] if index < count else encode(index),
            ]
            if key is None:
                fields.append(_NULL)
            else:
                size = len(key)
                fields += (small[size] if size < count else encode(size), key)
            if value is None:
                fields.append(_NULL)
            else:
                size = len(value)
                fields += (small[size] if size < count else encode(size), value)
            fields.append(stamped)
            body = b"".join(fields)
            size = len(body)
            parts += (small[size] if size < count else encode(size), body)
        payload = b"".join(parts)
        if self._codec != Codec.NONE:
            payload = compress(self._codec, payload, self._level)
        return assemble(
            payload,
            len(records),
            int(self._codec),
            base_ms,
            max_ms,
            producer_id,
            producer_epoch,
            base_sequence,
        )


def size_of(record: Record) -> int:
    """Return about how many bytes the copy of a record takes in a batch without compression."""
    key, value = record.key, record.value
    return (
        _OVERHEAD_BYTES
        + (0 if key is None else len(key))
        + (0 if value is None else len(value))
        + len(record.encoded_headers)
    )


def total_size(records: Iterable[Record]) -> int:
    """Return the sum of :func:`size_of`."""
    return sum(map(size_of, records))
