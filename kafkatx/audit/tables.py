"""The records of a table that topics were loaded into: a directory of Parquet, JSON or Avro files.

Four columns are read: topic, partition, offset and timestamp, or the same names with ``kafka_`` before them.
Topic and partition may also be in the names of folders: ``topic=orders/date=2015-05-19``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafkatx.audit.files import BadTable, File, files
from kafkatx.audit.runs import Offsets

if TYPE_CHECKING:
    from pyarrow import RecordBatch

COLUMNS = ("topic", "partition", "offset", "timestamp")
ROWS = 1 << 16
JSON_BLOCK_BYTES = 32 << 20
"""Largest size of a line."""


def count_table(
    directory: str,
    window_ms: int,
    topics: Collection[str] = (),
    advance: Callable[[float], None] = lambda amount: None,
) -> Offsets:
    """Count the records of a table.

    :param topics: the topics to count; none stands for all.
    :param advance: called with the number of records that were read.
    :raises BadTable: a file cannot be read as its name says, or ``kafkatx[spark]`` is not installed.
    :raises OSError: the directory cannot be read.
    """
    offsets = Offsets(window_ms)
    for file in files(directory):
        for batch in _batches(file):
            _add(offsets, batch, topics, file.written_ms)
            advance(batch.num_rows)
    return offsets


def _batches(file: File) -> Iterator[RecordBatch]:
    """Yield Arrow batches of the four columns, in order."""
    try:
        import pyarrow
    except ImportError as error:
        raise BadTable("to read a table pyarrow is needed: pip install 'kafkatx[spark]'") from error
    read = {"parquet": _parquet_batches, "json": _json_batches, "avro": _avro_batches}[file.format]
    try:
        yield from read(file.path)
    except (pyarrow.ArrowException, ValueError, KeyError) as error:
        raise BadTable(f"{file.path}: {error}") from error


def _parquet_batches(path: str) -> Iterator[RecordBatch]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as opened:
        there, folders = opened.schema_arrow.names, folder_values(path)
        names = _names([*there, *folders], path)
        for batch in opened.iter_batches(ROWS, columns=[name for name in names if name in there]):
            yield _completed(batch, names, folders)


def _json_batches(path: str) -> Iterator[RecordBatch]:
    # Column types are given: guessed ones may differ between blocks, and null columns be left out.
    import pyarrow
    from pyarrow import dataset
    from pyarrow import json as arrow_json

    with open(path, "rb") as opened:
        line = opened.readline()
    if not line:
        return
    there, folders = {*json.loads(line), "timestamp", "kafka_timestamp"}, folder_values(path)
    names = _names({*there, *folders}, path)
    types = (pyarrow.string(), pyarrow.int64(), pyarrow.int64(), pyarrow.string())
    fields = [(name, kind) for name, kind in zip(names, types, strict=True) if name in there]
    schema = pyarrow.schema(fields)
    lines = dataset.JsonFileFormat(
        parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        read_options=arrow_json.ReadOptions(block_size=JSON_BLOCK_BYTES),
    )
    for batch in dataset.dataset(path, schema, lines, partitioning=None).to_batches():
        yield _completed(batch, names, folders)


def _avro_batches(path: str) -> Iterator[RecordBatch]:
    """Yield batches of an Avro file.

    :raises BadTable: fastavro is not installed.
    """
    import pyarrow

    try:
        import fastavro
    except ImportError as error:
        raise BadTable("to read Avro fastavro is needed: pip install 'kafkatx[avro]'") from error
    with open(path, "rb") as opened:
        reader: Any = fastavro.reader(opened)
        folders = folder_values(path)
        names = _names([*(field["name"] for field in reader.writer_schema["fields"]), *folders], path)
        rows: list[dict[str, object]] = []
        for record in reader:
            rows.append({name: record[name] if name in record else folders[name] for name in names})
            if len(rows) == ROWS:
                yield pyarrow.RecordBatch.from_pylist(rows)
                rows = []
    if rows:
        yield pyarrow.RecordBatch.from_pylist(rows)


def folder_values(path: str) -> dict[str, str | int]:
    """Return the topic and the partition that the folders of a file name, as far as they do. Pure."""
    found: dict[str, str | int] = {}
    for part in path.split("/")[:-1]:
        name, equals, text = part.partition("=")
        column = name.removeprefix("kafka_")
        if equals and (column == "topic" or (column == "partition" and text.isdecimal())):
            found[name] = unquote(text) if column == "topic" else int(text)
    return found


def _completed(batch: RecordBatch, names: Sequence[str], folders: Mapping[str, str | int]) -> RecordBatch:
    """Return the batch with these columns in order; those that it lacks have the value of the folder."""
    import pyarrow

    columns = [
        batch.column(name) if name in batch.schema.names else pyarrow.repeat(folders[name], batch.num_rows)
        for name in names
    ]
    return pyarrow.RecordBatch.from_arrays(columns, names)


def _names(there: Collection[str], path: str) -> list[str]:
    """Return the names of the four columns in a file.

    :raises BadTable: it lacks one.
    """
    for prefix in ("kafka_", ""):
        names = [prefix + name for name in COLUMNS]
        if all(name in there for name in names):
            return names
    raise BadTable(
        f"{path}: it has no columns {', '.join(COLUMNS)}, nor these with kafka_ before them, so its records"
        " cannot be identified"
    )


def _add(offsets: Offsets, batch: RecordBatch, topics: Collection[str], written_ms: int | None) -> None:
    import pyarrow
    from pyarrow import compute

    topic_column, partitions, numbers, times = batch.columns
    if pyarrow.types.is_string(times.type):
        times = times.cast(pyarrow.timestamp("us", "UTC"))
    if pyarrow.types.is_timestamp(times.type):
        times = times.cast(pyarrow.timestamp("ms", times.type.tz), safe=False)
    # A time out of Spark's range is null in the table; it counts as a record without a time.
    times_ms = compute.fill_null(times.cast(pyarrow.int64()), -1)
    columns = [column.cast(pyarrow.int64()) for column in (partitions, numbers, times_ms)]
    for topic in compute.unique(topic_column).to_pylist():
        if not topics or topic in topics:
            chosen = compute.equal(topic_column, topic)
            at, numbers, when = (c.filter(chosen).to_numpy(zero_copy_only=False) for c in columns)
            offsets.add(topic, at, numbers, when, written_ms)
