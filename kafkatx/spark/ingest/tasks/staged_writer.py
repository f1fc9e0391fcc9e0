"""In a worker: rows into files, one or more for each folder, with bounded memory and few files open."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkatx.spark.ingest.options import Bounds
from kafkatx.spark.ingest.table.files import Files
from kafkatx.spark.ingest.table.folders import Values, folder
from kafkatx.spark.ingest.table.formats import FormatWriter, format_writer
from kafkatx.spark.ingest.table.manifest import StagedFile

if TYPE_CHECKING:
    import pyarrow as pa


class OpenFile:
    """A file that is being written."""

    def __init__(self, staged: str, writer: FormatWriter) -> None:
        self.staged = staged
        self.writer = writer
        self.rows = 0


class StagedWriter:
    """A writer of rows into files below a staging directory, under names that no other writer uses.

    Rows wait in memory until those of one folder make a row group, or until all that wait are too many bytes:
    then the folders that have most are written. If too many files are open, the one is closed that has been
    left alone for longest; rows that come for it later get another file.

    :param names: of the columns that the folders are named by.
    """

    def __init__(
        self,
        files: Files,
        staging: str,
        schema: pa.Schema,
        *,
        names: Sequence[str] = (),
        kind: str,
        format: str,
        compression: str,
        bounds: Bounds,
    ) -> None:
        self.done: list[StagedFile] = []
        self._files = files
        self._staging = staging
        self._schema = schema
        self._names = names
        self._kind = kind
        self._format = format
        self._compression = compression
        self._bounds = bounds
        self._attempt = uuid.uuid4().hex[:16]
        self._made = 0
        self._waiting: dict[Values, list[pa.RecordBatch]] = {}
        self._waiting_bytes: dict[Values, int] = {}
        self._total_bytes = 0
        self._open: dict[Values, OpenFile] = {}  # in order of their last use

    def add(self, values: Values, batch: pa.RecordBatch) -> None:
        """Take rows of one folder.

        :raises OSError: they could not be written.
        """
        self._waiting.setdefault(values, []).append(batch)
        size = self._waiting_bytes.get(values, 0) + batch.nbytes
        self._waiting_bytes[values] = size
        self._total_bytes += batch.nbytes
        if size >= self._bounds.row_group_bytes:
            self._write(values)
        elif self._total_bytes > self._bounds.max_buffered_bytes:
            self._write_largest()

    def _write_largest(self) -> None:
        """Write until half of what may wait does: so that it is not one small row group after the other."""
        for values in sorted(self._waiting_bytes, key=self._waiting_bytes.__getitem__, reverse=True):
            if self._total_bytes <= self._bounds.max_buffered_bytes // 2:
                return
            self._write(values)

    def _write(self, values: Values) -> None:
        batches = self._waiting.pop(values)
        self._total_bytes -= self._waiting_bytes.pop(values)
        file = self._open.pop(values, None) or self._opened(values)
        self._open[values] = file
        file.writer.write(batches)
        file.rows += sum(batch.num_rows for batch in batches)
        if file.writer.tell() >= self._bounds.target_file_bytes:
            self._close(values)

    def _opened(self, values: Values) -> OpenFile:
        while len(self._open) >= self._bounds.max_open_files:
            self._close(next(iter(self._open)))
        below = folder(self._names, values)
        name = f"{self._attempt}-{self._made}"
        self._made += 1
        staged = "/".join(part for part in (self._staging, below, name) if part)
        stream = self._files.output(staged)
        try:
            return OpenFile(staged, format_writer(self._format, stream, self._schema, self._compression))
        except BaseException:
            stream.close()
            raise

    def _close(self, values: Values) -> None:
        file = self._open.pop(values)
        file.writer.close()
        self._files.sync(file.staged)
        size = self._files.size(file.staged)
        named = dict(zip(self._names, values, strict=True))
        self.done.append(StagedFile(file.staged, self._kind, file.rows, size or 0, named))

    def close(self) -> list[StagedFile]:
        """Write what waits, and close all files.

        :return: every file that was written, complete and on the disk.
        :raises OSError: they could not be written.
        """
        for values in list(self._waiting):
            self._write(values)
        for values in list(self._open):
            self._close(values)
        return self.done

    def abandon(self) -> None:
        """Close all files; those that are not complete stay where they are."""
        self._waiting.clear()
        self._waiting_bytes.clear()
        while self._open:
            _, file = self._open.popitem()
            try:
                file.writer.close()
            except Exception:  # the file is discarded, and the first error is being raised
                continue
