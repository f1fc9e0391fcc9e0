"""The dump of a log's files, row by row. Files are read on demand, so memory does not grow with the log."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.log.checkpoint import (
    LEADER_EPOCHS,
    META_PROPERTIES,
    PARTITION_METADATA,
    CheckpointDamaged,
    decode_epochs,
    decode_meta_properties,
    decode_offsets,
)
from kafkatx.log.files import Files
from kafkatx.log.inspect.batch_scan import BatchScan, Damage, ScannedBatch
from kafkatx.log.inspect.indexes import read_entries
from kafkatx.log.inspect.paths import (
    OFFSET_CHECKPOINTS,
    Kind,
    base_offset_of,
    base_offsets,
    kind_of,
    partitions,
    segment_path,
)
from kafkatx.log.inspect.rows import (
    AbortedRow,
    DamageRow,
    EpochRow,
    IndexRow,
    OffsetRow,
    ProducerRow,
    PropertyRow,
    RecordRow,
    Row,
    TimeRow,
    batch_row,
)
from kafkatx.log.producer_state import SnapshotDamaged, decode_snapshot
from kafkatx.log.segment.index import OFFSET_ENTRY, TIME_ENTRY, IndexDamaged
from kafkatx.log.transactions.aborted import ENTRY, decode_aborted


class Dump:
    """Reads the files of a path.

    :param records: also yield a row for each record.
    :param indexes: also read the indexes of a partition's segments; an index as the path is always read.
    :param offset: omit batches and records before this offset.
    """

    def __init__(self, files: Files, records: bool = False, indexes: bool = False, offset: int = 0) -> None:
        self._files = files
        self._records = records
        self._indexes = indexes
        self._offset = offset

    def rows(self, path: str) -> Iterator[Row]:
        """Yield the rows of a log dir, a partition's directory, or one file.

        :raises NotALog: the path is none of these.
        :raises OSError: a file cannot be read.
        """
        kind = kind_of(path)
        if kind is Kind.LOG_DIR:
            for name in (*OFFSET_CHECKPOINTS, META_PROPERTIES):
                yield from self._if_there(os.path.join(path, name))
            for directory in partitions(path):
                yield from self._partition(directory)
        elif kind is Kind.PARTITION:
            yield from self._partition(path)
        else:
            yield from self._file(path, kind)

    def _if_there(self, path: str) -> Iterator[Row]:
        if self._files.exists(path):
            yield from self._file(path, kind_of(path))

    def _partition(self, directory: str) -> Iterator[Row]:
        for name in (PARTITION_METADATA, LEADER_EPOCHS):
            yield from self._if_there(os.path.join(directory, name))
        bases = base_offsets(directory, "log")
        for number, base_offset in enumerate(bases):
            if bases[number + 1 : number + 2] and bases[number + 1] <= self._offset:
                continue
            for suffix in ("log", *(("index", "timeindex", "txnindex") if self._indexes else ())):
                yield from self._if_there(segment_path(directory, base_offset, suffix))
        for offset in base_offsets(directory, "snapshot"):
            yield from self._if_there(segment_path(directory, offset, "snapshot"))

    def _file(self, path: str, kind: Kind) -> Iterator[Row]:
        if kind is Kind.LOG:
            return self._log(path)
        if kind in (Kind.INDEX, Kind.TIME_INDEX):
            return self._index(path, kind)
        return self._small(path, kind)

    # --- batches and records

    def _log(self, path: str) -> Iterator[Row]:
        file = self._files.open(path, os.O_RDONLY)
        survey = BatchScan(self._files, file, base_offset_of(path), os.fstat(file.fileno()).st_size)
        for item in survey:
            if isinstance(item, Damage):
                if item.batch is not None and item.batch.size == item.size:
                    yield batch_row(path, item.batch, item.head, crc_ok=False)
                else:
                    yield DamageRow(path, item.position, item.size, item.problem)
            elif item.batch.last_offset >= self._offset:
                yield batch_row(path, item.batch, item.head, crc_ok=True)
                if self._records:
                    yield from self._records_of(path, survey, item)

    def _records_of(self, path: str, survey: BatchScan, seen: ScannedBatch) -> Iterator[Row]:
        batch = seen.batch
        try:
            for record in survey.records(batch):
                if record.offset >= self._offset:
                    yield RecordRow(path, batch.position, *record)
        except (CorruptRecords, UnsupportedCompression) as error:
            yield DamageRow(path, batch.position, batch.size, f"its records cannot be decoded: {error}")

    # --- the other files

    def _index(self, path: str, kind: Kind) -> Iterator[Row]:
        base_offset = base_offset_of(path)
        entry = OFFSET_ENTRY if kind is Kind.INDEX else TIME_ENTRY
        for position, first, second in read_entries(self._files, path, entry):
            if kind is Kind.TIME_INDEX and base_offset + second >= self._offset:
                yield TimeRow(path, position, first, base_offset + second)
            elif kind is Kind.INDEX and base_offset + first >= self._offset:
                yield IndexRow(path, position, base_offset + first, second)
        size = self._files.size(path)
        if size % entry.size:
            rest = size % entry.size
            yield DamageRow(path, size - rest, rest, f"the file ends {rest} bytes into an entry")

    def _small(self, path: str, kind: Kind) -> Iterator[Row]:
        data = self._files.read(path) or b""
        try:
            if kind is Kind.SNAPSHOT:
                yield from _producers(path, data)
            elif kind is Kind.TRANSACTION_INDEX:
                for number, entry in enumerate(decode_aborted(data)):
                    if entry.last_offset >= self._offset:
                        yield AbortedRow(path, number * ENTRY.size, *entry)
            elif kind is Kind.EPOCHS:
                yield from (EpochRow(path, *entry) for entry in decode_epochs(data))
            elif kind is Kind.OFFSETS:
                for whose, offset in decode_offsets(data).items():
                    yield OffsetRow(path, *whose, offset)
            else:
                yield from _properties(path, data)
        except (SnapshotDamaged, CheckpointDamaged, IndexDamaged) as error:
            yield DamageRow(path, 0, None, f"it cannot be read: {error}")


def _producers(path: str, data: bytes) -> Iterator[Row]:
    for producer_id, state in decode_snapshot(data).items():
        batches: tuple[tuple[int | None, ...], ...] = state.batches or ((None,) * 4,)
        for first_sequence, last_sequence, base_offset, last_offset in batches:
            yield ProducerRow(
                path,
                producer_id,
                state.epoch,
                first_sequence,
                last_sequence,
                base_offset,
                last_offset,
                state.last_used_ms,
                state.coordinator_epoch,
                state.txn_first_offset,
            )


def _properties(path: str, data: bytes) -> Iterator[Row]:
    if os.path.basename(path) == PARTITION_METADATA:
        data = data.replace(b": ", b"=")
    for name, value in decode_meta_properties(data).items():
        yield PropertyRow(path, name, value)
