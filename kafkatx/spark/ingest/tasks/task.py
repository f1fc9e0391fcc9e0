"""The worker's part of an ingestion: a task reads its ranges, decodes, and writes files that are not visible
yet.

It returns a line of JSON to the driver: what it wrote, or why it did not. Errors are returned, not raised:
Spark's ``local`` master retries nothing, and an exception reaches the driver as a page of stack traces.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

import attrs
import pyarrow as pa

from kafkatx.clientcore.errors import retriable
from kafkatx.errors import KafkaTXError
from kafkatx.spark.ingest.decoder import DEAD_SCHEMA, KAFKA_COLUMNS, Decoding, merged
from kafkatx.spark.ingest.options import Bounds
from kafkatx.spark.ingest.table.columns import Column, arrow_schema
from kafkatx.spark.ingest.table.files import Files
from kafkatx.spark.ingest.table.folders import Partitioning, file_columns
from kafkatx.spark.ingest.table.manifest import DATA, DEAD, StagedFile
from kafkatx.spark.ingest.tasks.counts import Counted, TaskCounts
from kafkatx.spark.ingest.tasks.staged_writer import StagedWriter
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.source.plan import DataLoss
from kafkatx.spark.source.range_reader import read_range

MOST_UNKNOWN = 1000
"""A task reports no more schemas than about this many at once."""

LOST, AWAY, DISK, FAILED = "lost", "away", "disk", "failed"

_SOURCE_TYPES = {"topic": "string", "partition": "int", "offset": "bigint", "timestamp": "timestamp"}


@attrs.frozen
class Work:
    """The common part of all tasks of a commit; picklable.

    :ivar staging: where files go, below the root of ``files``.
    """

    files: Files
    staging: str
    client: ClientSettings
    decoding: Decoding
    decoded: bool
    format: str
    compression: str
    partition_by: tuple[str, ...]
    time_column: str | None
    bounds: Bounds
    include_headers: bool
    fail_on_data_loss: bool
    audit_interval_ms: int = 0


def table_columns(decoding: Decoding, decoded: bool) -> list[Column]:
    """Return the columns of the rows, with those that name a decoded row's origin in Kafka."""
    columns = decoding.columns()
    if decoded:
        columns += [Column(name, _SOURCE_TYPES[of]) for name, of in KAFKA_COLUMNS.items()]
    return columns


@attrs.frozen
class TaskResult:
    """The result of a task.

    :ivar drift: fields that the table has no columns for, and their types: nothing was written then.
    :ivar unknown: beginnings of messages whose schemas have to be looked up, in hexadecimal: likewise.
    :ivar error: what went wrong; None if nothing did. ``kind`` is one of the four above.
    :ivar counted: the counts for the audit.
    """

    task: int
    files: tuple[StagedFile, ...] = ()
    drift: Mapping[str, str] = attrs.field(factory=dict)
    kind: str | None = None
    error: str | None = None
    counted: tuple[Counted, ...] = ()
    unknown: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the result as a row for Spark."""
        return json.dumps(attrs.asdict(self))


def parse_result(text: str) -> TaskResult:
    """Parse the result; the reverse of :meth:`TaskResult.to_json`."""
    found = json.loads(text)
    files = tuple(StagedFile(**file) for file in found["files"])
    counted = tuple((*place, tuple(map(tuple, windows))) for *place, windows in found["counted"])
    unknown = tuple(found["unknown"])
    return TaskResult(**{**found, "files": files, "counted": counted, "unknown": unknown})


@attrs.frozen
class Tasks:
    """The function that Spark calls in the workers: a result for each number in the column ``id``."""

    work: Work
    ranges: Mapping[int, Sequence[OffsetRange]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the tasks whose numbers come, as ``mapInArrow`` wants it."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                task = sorted(self.ranges)[number]
                result = run_task(self.work, task, self.ranges[task])
                yield pa.RecordBatch.from_pydict({"result": [result.to_json()]})


def run_task(work: Work, task: int, ranges: Sequence[OffsetRange]) -> TaskResult:
    """Read, decode and write; whatever goes wrong is in the result."""
    try:
        return _Running(work, task).run(ranges)
    except DataLoss as error:
        return TaskResult(task, kind=LOST, error=str(error))
    except KafkaTXError as error:
        return TaskResult(task, kind=AWAY if retriable(error) else FAILED, error=str(error))
    except OSError as error:
        return TaskResult(task, kind=DISK, error=str(error))
    except Exception:
        return TaskResult(task, kind=FAILED, error=traceback.format_exc())


class _Running:
    """A task at work."""

    def __init__(self, work: Work, task: int) -> None:
        columns = table_columns(work.decoding, work.decoded)
        self._work = work
        self._task = task
        self._drift: dict[str, str] = {}
        self._unknown: set[bytes] = set()
        self._counts = TaskCounts(work.audit_interval_ms)
        self._offset_column = _offset_column(work.decoded)
        self._partitioning = Partitioning(work.partition_by, work.time_column)
        self._rows = StagedWriter(
            work.files,
            work.staging,
            arrow_schema(file_columns(columns, work.partition_by)),
            names=work.partition_by,
            kind=DATA,
            format=work.format,
            compression=work.compression,
            bounds=work.bounds,
        )
        self._dead = StagedWriter(
            work.files,
            work.staging,
            DEAD_SCHEMA,
            kind=DEAD,
            format="json",
            compression="none",
            bounds=work.bounds,
        )

    def run(self, ranges: Sequence[OffsetRange]) -> TaskResult:
        with ExitStack() as undone:
            undone.callback(self._rows.abandon)
            undone.callback(self._dead.abandon)
            for item in ranges:
                for batch in self._read(item):
                    self._take(item, batch)
                self._counts.end(item)
            if self._drift or self._unknown:
                unknown = tuple(sorted(frame.hex() for frame in self._unknown))
                return TaskResult(self._task, drift=self._drift, unknown=unknown)
            files = (*self._rows.close(), *self._dead.close())
            return TaskResult(self._task, files=files, counted=self._counts.result())

    def _read(self, item: OffsetRange) -> Iterator[pa.RecordBatch]:
        work = self._work
        return read_range(work.client, item, work.include_headers, work.fail_on_data_loss)

    def _take(self, item: OffsetRange, batch: pa.RecordBatch) -> None:
        """Write a batch's rows; after the first drift or unknown schema only look on: all is done again."""
        rows, dead, drift, unknown = self._work.decoding.decode(item.topic, batch)
        if drift:
            self._drift = merged(self._work.decoding.columns(), [self._drift, drift])
        if len(self._unknown) < MOST_UNKNOWN:
            self._unknown |= unknown
        if self._drift or self._unknown:
            return
        for values, part in self._partitioning.split(rows):
            self._rows.add(values, part)
        if dead is not None:
            self._dead.add((), dead)
        written = [rows.column(self._offset_column), *(() if dead is None else [dead.column("offset")])]
        self._counts.add(item, batch, written)


def _offset_column(decoded: bool) -> str:
    """Return the name of the column of offsets among the rows."""
    return next(name for name, of in KAFKA_COLUMNS.items() if of == "offset") if decoded else "offset"
