"""Counts of a topic that is partitioned by what is counted: each task counts its own, without a shuffle.

The paper calls it semantic partitioning: a producer that chooses the partition by a key puts all of the key's
records in one place. Spark cannot be told so by a source in Python, so that ``groupBy`` would shuffle all the
same; here each task adds its partition up by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kafkatx.errors import SettingError

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table
    from pyspark.sql import DataFrame


def in_partitions(records: DataFrame, by: Sequence[str], *, sums: Sequence[str] = ()) -> DataFrame:
    """Count, and add up columns of numbers, for each value of *by* within each task's partition.

    The columns are *by*, ``count`` and ``sum_NAME``. A value comes out once if all of its records are in one
    partition of one topic, and the read had a task for each partition: leave ``minPartitions`` and
    ``maxRecordsPerPartition`` out. Otherwise it comes out once for each task that saw it, and these can be
    added up. A task holds one row for each value.

    :param records: a batch; a stream's counts must outlive its tasks, which no task can see to.
    :raises SettingError: it is a stream.
    """
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType

    if records.isStreaming:
        raise SettingError("in_partitions counts within the tasks of a batch; for a stream use tumbling")
    fields = {field.name: field.dataType for field in records.schema.fields}
    whole = ("byte", "short", "integer", "long")
    types = [LongType() if fields[name].typeName() in whole else DoubleType() for name in sums]
    schema = StructType(
        [
            *(StructField(name, fields[name]) for name in by),
            StructField("count", LongType()),
            *(StructField(f"sum_{name}", kind) for name, kind in zip(sums, types, strict=True)),
        ]
    )
    return records.select(*by, *sums).mapInArrow(_counter(tuple(by), tuple(sums)), schema)


def _counter(
    by: Sequence[str], sums: Sequence[str]
) -> Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]:
    def count(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        import pyarrow as pa

        total = None
        for batch in batches:
            table = pa.Table.from_batches([batch]).append_column("count", pa.repeat(1, batch.num_rows))
            counted = _added_up(table, by, sums)
            total = counted if total is None else _added_up(pa.concat_tables([total, counted]), by, sums)
        if total is not None:
            yield from total.rename_columns([*by, "count", *(f"sum_{name}" for name in sums)]).to_batches()

    return count


def _added_up(table: Table, by: Sequence[str], sums: Sequence[str]) -> Table:
    names = ["count", *sums]
    added = table.group_by(list(by)).aggregate([(name, "sum") for name in names])
    return added.select([*by, *(f"{name}_sum" for name in names)]).rename_columns([*by, *names])
