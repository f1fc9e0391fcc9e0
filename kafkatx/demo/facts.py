"""The facts about a table of lines, counted by Spark."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

TOP_KEYS = 3

_ZONE = r"(?:Z| ?[+-]\d{2}:?\d{2})"
_APACHE = r"\[(\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4})\]"
_ISO = rf"\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d{{1,9}})?)?{_ZONE}?"
_GIT = r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d{1,2} \d{2}:\d{2}:\d{2} \d{4} [+-]\d{4})"


@attrs.frozen
class Facts:
    """Counts of one table. Times are UTC; ``per_hour`` has the hours that have lines, in order."""

    rows: int
    keys: int
    size_bytes: int
    dated_rows: int
    top_keys: tuple[tuple[bytes, int], ...] = ()
    per_hour: tuple[tuple[datetime, int], ...] = ()

    @property
    def busiest_hour(self) -> tuple[datetime, int] | None:
        """The hour with the most lines, the first of several; None where no line has a time."""
        return max(self.per_hour, key=lambda hour: hour[1], default=None)


def line_time(text: Any) -> Any:
    """Return the first time in a line, as a timestamp column; null if there is none.

    Known are ``[17/May/2015:10:05:03 +0000]`` (Apache), ISO 8601 (UTC where it names no zone; a blank in
    the place of the ``T`` and before the zone will do), and git's ``Sun May 17 10:05:03 2015 +0000``.
    """
    iso = f.regexp_replace(f.regexp_extract(text, _ISO, 0), " (?=[+-])", "")
    return f.coalesce(
        f.try_to_timestamp(f.regexp_extract(text, _APACHE, 1), f.lit("dd/MMM/yyyy:HH:mm:ss Z")),
        f.try_to_timestamp(iso),
        f.try_to_timestamp(f.regexp_extract(text, _GIT, 1), f.lit("MMM d HH:mm:ss yyyy Z")),
    )


def count_facts(table: DataFrame) -> Facts:
    """Count a table with the columns ``key`` and ``value``, both binary.

    The session's time zone must be UTC.
    """
    lines = table.select(
        "key",
        f.length("value").alias("size"),
        f.date_trunc("hour", line_time(f.col("value").cast("string"))).alias("hour"),
    ).cache()
    sums = lines.agg(f.count("*"), f.countDistinct("key"), f.sum("size"), f.count("hour")).first()
    by_key = lines.where("key is not null").groupBy("key").count()
    by_hour = lines.where("hour is not null").groupBy(f.unix_timestamp("hour").alias("second")).count()
    top = by_key.orderBy(f.desc("count"), "key").limit(TOP_KEYS).collect()
    hours = by_hour.orderBy("second").collect()
    lines.unpersist()
    return Facts(
        rows=sums[0],
        keys=sums[1],
        size_bytes=sums[2] or 0,
        dated_rows=sums[3],
        top_keys=tuple((bytes(row[0]), row[1]) for row in top),
        per_hour=tuple((datetime.fromtimestamp(row[0], timezone.utc), row[1]) for row in hours),
    )
