"""Streams joined with streams, and with tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def join_within(
    left: DataFrame,
    right: DataFrame,
    on: Sequence[str],
    *,
    before: str = "0 seconds",
    after: str,
    late: str,
    how: str = "inner",
    left_time: str = "timestamp",
    right_time: str = "timestamp",
) -> DataFrame:
    """Pair each record with those of another stream that are equal in *on* and near in time.

    ::

        left_time - before  <=  right_time  <=  left_time + after

    The columns are those of *on* once, and the others of both, each with ``left_`` or ``right_`` before its
    name where both have it. A stream keeps records as state for as long as a partner may still come.

    :param late: by how much a record may come after a later one of its own stream, such as ``"1 minute"``.
    :param how: ``inner``; or ``left_outer``, ``right_outer``, ``full_outer``: those that found none as well,
        once none can come, with nulls.
    """
    from pyspark.sql import functions as F

    a = _prefixed(left.withWatermark(left_time, late), "left_")
    b = _prefixed(right.withWatermark(right_time, late), "right_")
    near = F.expr(
        f"`right_{right_time}` >= `left_{left_time}` - INTERVAL {before} "
        f"AND `right_{right_time}` <= `left_{left_time}` + INTERVAL {after}"
    )
    for name in on:
        near = near & (F.col(f"left_{name}") == F.col(f"right_{name}"))
    joined = a.join(b, near, how)
    keys = [F.coalesce(f"left_{name}", f"right_{name}").alias(name) for name in on]
    return joined.select(*keys, *_others(left, right, on, "left_"), *_others(right, left, on, "right_"))


def _prefixed(records: DataFrame, prefix: str) -> DataFrame:
    return records.withColumnsRenamed({name: prefix + name for name in records.columns})


def _others(records: DataFrame, other: DataFrame, on: Sequence[str], prefix: str) -> list[object]:
    """Return the columns that are not joined on, under their own names unless the other side has one of that
    name.
    """
    from pyspark.sql import functions as F

    names = [name for name in records.columns if name not in on]
    return [F.col(prefix + name).alias(prefix + name if name in other.columns else name) for name in names]


def join_table(records: DataFrame, table: DataFrame, on: Sequence[str], *, how: str = "left") -> DataFrame:
    """Look each record up in a table: what :func:`latest` gave, Parquet, or any batch DataFrame.

    A stream asks the table's source anew in each of its batches, and so sees what has changed there since.
    Give ``table.cache()`` for one that stays as it is now. No state is kept, and no watermark is needed.

    :param on: columns that both have.
    :param how: ``left``: with nulls where the table lacks it; ``inner``: those that are found; ``left_anti``:
        those that are not.
    """
    return records.join(table, list(on), how)


def latest(topic: DataFrame, by: Sequence[str] = ("key",)) -> DataFrame:
    """Return the latest record of each key, a compacted topic as a table; keys whose latest value is null are
    gone.

    Compaction itself keeps older ones for a while, so that a topic is not a table before this.

    :param topic: a batch read of it with format ``kafkatx``, or with other columns *by*.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    newest = Window.partitionBy(*by).orderBy(F.desc("offset"), F.desc("timestamp"))
    rows = topic.withColumn("_nth", F.row_number().over(newest)).where("_nth = 1").drop("_nth")
    return rows.where("value IS NOT NULL")
