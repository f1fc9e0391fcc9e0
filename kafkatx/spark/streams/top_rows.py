"""The largest rows of each window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkatx.errors import SettingError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def top(counted: DataFrame, most: int, *, by: str = "count") -> DataFrame:
    """Return the *most* rows of each window with the largest values in a column of numbers; ``rank`` starts
    at 1.

    Rows that are equal by that column are ranked by their other columns, ascending, so that a rerun gives
    the same. As a stream in output mode ``append``: a window is ranked once, when it is closed. All rows of a
    window are brought together in one task for that, in about as much memory as they take.

    :param counted: what :func:`~kafkatx.spark.streams.tumbling` gave, or ``sliding``.
    :raises SettingError: a column is missing, or *most* is less than 1.
    """
    from pyspark.sql import functions as F

    _check(counted, most, by)
    others = [name for name in counted.columns if name not in ("window", by)]
    row = F.struct((-F.col(by)).alias("_least_first"), *others, by)
    best = F.slice(F.array_sort(F.collect_list(row)), 1, most)
    ranked = counted.groupBy("window").agg(best.alias("_best")).select("window", F.posexplode("_best"))
    columns = [F.col(name if name == "window" else f"col.{name}") for name in counted.columns]
    return ranked.select(*columns, (F.col("pos") + 1).alias("rank"))


def _check(counted: DataFrame, most: int, by: str) -> None:
    if most < 1:
        raise SettingError(f"top {most}: give at least 1")
    for name in ("window", by):
        if name not in counted.columns:
            raise SettingError(
                f"top by {by!r}: there is no column {name!r}, only {', '.join(counted.columns)}"
            )
