"""The first record of each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def deduplicate(records: DataFrame, by: Sequence[str], *, within: str, time: str = "timestamp") -> DataFrame:
    """Return one record for each value of *by*: in batch the earliest, in a stream the first that came.

    A stream remembers a value until the watermark is *within* past its first record: the same value comes
    through again after that. Use it where a producer may send twice: records of a producer that is
    idempotent are not doubled to begin with.

    :param by: the columns that are the same in doubles: an id that the producer gave, say.
    :param within: by how much the times of doubles may differ, such as ``"1 hour"``; without effect in batch.
    """
    if records.isStreaming:
        return records.withWatermark(time, within).dropDuplicatesWithinWatermark(list(by))
    return _earliest(records, by, time)


def _earliest(records: DataFrame, by: Sequence[str], time: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = [name for name in (time, "partition", "offset") if name in records.columns]
    first = F.row_number().over(Window.partitionBy(*by).orderBy(*order))
    return records.withColumn("_nth", first).where("_nth = 1").drop("_nth")
