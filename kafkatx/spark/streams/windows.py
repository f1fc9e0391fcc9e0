"""Counts and sums in windows of time.

All three give the columns ``window`` (a struct of ``start``, inclusive, and ``end``, exclusive), those of
``by``, ``count``, and ``sum_NAME`` for each column to be summed.

As a stream they keep a window's counts as state until the watermark, the latest time seen less ``late``, has
passed its end. In output mode ``append`` a window comes out then, once; in ``update`` whenever it changes.
What comes later than that is dropped, and counted in the query's progress (``numRowsDroppedByWatermark``). In
batch ``late`` has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def tumbling(
    records: DataFrame,
    size: str,
    *,
    late: str,
    time: str = "timestamp",
    by: Sequence[str] = (),
    sums: Sequence[str] = (),
) -> DataFrame:
    """Count in windows that follow each other; each record is in one.

    :param size: such as ``"1 hour"``; windows begin at multiples of it since 1970 UTC.
    :param late: by how much a record may come after a later one, such as ``"10 minutes"``.
    :param time: the column with a record's time (of its event, or Kafka's).
    :param by: count these columns' values apart.
    :param sums: add up these columns, too; null counts as nothing.
    """
    from pyspark.sql import functions as F

    return _counted(records, F.window(time, size), late, time, by, sums)


def sliding(
    records: DataFrame,
    size: str,
    every: str,
    *,
    late: str,
    time: str = "timestamp",
    by: Sequence[str] = (),
    sums: Sequence[str] = (),
) -> DataFrame:
    """Count in windows of *size*, one of which begins *every* so often, so that they overlap.

    A record is in ``size / every`` of them. The other parameters are those of :func:`tumbling`.
    """
    from pyspark.sql import functions as F

    return _counted(records, F.window(time, size, every), late, time, by, sums)


def session(
    records: DataFrame,
    gap: str,
    *,
    late: str,
    by: Sequence[str],
    time: str = "timestamp",
    sums: Sequence[str] = (),
) -> DataFrame:
    """Count in windows that end when nothing of the same *by* came for more than *gap*: visits.

    As a stream in output mode ``append`` only; the other parameters are those of :func:`tumbling`.
    """
    from pyspark.sql import functions as F

    window = F.session_window(time, gap).alias("window")
    return _counted(records, window, late, time, by, sums)


def _counted(
    records: DataFrame, window: Column, late: str, time: str, by: Sequence[str], sums: Sequence[str]
) -> DataFrame:
    from pyspark.sql import functions as F

    totals = [F.sum(name).alias(f"sum_{name}") for name in sums]
    return records.withWatermark(time, late).groupBy(window, *by).agg(F.count("*").alias("count"), *totals)
