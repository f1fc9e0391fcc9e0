"""Control batches: the markers that end transactions (KIP-98). Pure.

A marker is a batch of one record, with the attributes ``TRANSACTIONAL`` and ``CONTROL`` and no sequence::

    key     version i16 = 0 | type i16: 0 ABORT, 1 COMMIT
    value   version i16 = 0 | coordinator_epoch i32

The coordinator epoch is the leader epoch of the transaction's partition of ``__transaction_state``. Fields
that later versions add follow these, and are skipped. Other types of control records, such as those of
KRaft, say nothing about transactions.
"""

from __future__ import annotations

from struct import Struct

from kafkatx.errors import CorruptRecords
from kafkatx.records.batch import Record, iter_records
from kafkatx.records.builder import NO_SEQUENCE, assemble, encode_record
from kafkatx.records.header import CONTROL, TRANSACTIONAL
from kafkatx.types import Marker

ABORT, COMMIT = 0, 1
_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_LIMIT_BYTES = 1 << 16
"""The most that a control batch may inflate to."""


def build_marker(producer_id: int, producer_epoch: int, marker: Marker, timestamp_ms: int) -> bytes:
    """Return the control batch that ends a producer's transaction, at offset 0 and without leader epoch."""
    key = _KEY.pack(0, COMMIT if marker.committed else ABORT)
    value = _VALUE.pack(0, marker.coordinator_epoch)
    return assemble(
        encode_record(0, 0, key, value),
        1,
        TRANSACTIONAL | CONTROL,
        timestamp_ms,
        timestamp_ms,
        producer_id,
        producer_epoch,
        NO_SEQUENCE,
    )


def read_marker(batch: bytes | memoryview) -> Marker | None:
    """Return the marker in the control batch at the start of *batch*; its checksum is not checked.

    :return: None for a control record of another type, and for a batch that compaction has emptied.
    :raises CorruptRecords: the record cannot be decoded, or its value is too short.
    """
    for record in iter_records(memoryview(batch), _LIMIT_BYTES):
        kind, value = kind_of_marker(record), record.value or b""
        if kind is None:
            return None
        if len(value) < _VALUE.size:
            raise CorruptRecords(f"a transaction's marker with a value of {len(value)} bytes")
        return Marker(kind == COMMIT, _VALUE.unpack_from(value)[1])
    return None


def kind_of_marker(record: Record) -> int | None:
    """Return :data:`ABORT` or :data:`COMMIT`; None for a control record of another type.

    :raises CorruptRecords: its key is too short.
    """
    key = record.key or b""
    if len(key) < _KEY.size:
        raise CorruptRecords(f"a control record with a key of {len(key)} bytes")
    kind: int = _KEY.unpack_from(key)[1]
    return kind if kind in (ABORT, COMMIT) else None
