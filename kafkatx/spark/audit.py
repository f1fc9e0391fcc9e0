"""The audit as a Spark job: what producers announced against a topic, or the table it was loaded into.

``kafkatx audit`` does the same without Spark, for tables on this machine; this is for those that are large,
or on a cluster's file system: ``python -m kafkatx.spark.audit -b HOST:PORT --ingested DIR``, or the file of
this module with ``spark-submit``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import reduce
from io import StringIO
from typing import TYPE_CHECKING, Any

from kafkatx.clientcore.audit.counts import DAY_MS, DEFAULT_TOPIC, SETTLE_MS, VERSION, common_window_ms
from kafkatx.errors import SettingError
from kafkatx.names import printable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

EVENT = (
    "version INT, producer STRING, sequence BIGINT, topic STRING, window_start_ms BIGINT, window_ms BIGINT,"
    " count BIGINT, sent_ms BIGINT"
)
COLUMNS = ("topic", "partition", "offset", "timestamp")
_TYPES = ("STRING", "INT", "BIGINT", "TIMESTAMP")


def audit(
    spark: SparkSession,
    bootstrap: str,
    topics: Sequence[str] = (),
    directory: str | None = None,
    *,
    window_ms: int | None = None,
    settle_ms: int = SETTLE_MS,
    audit_topic: str = DEFAULT_TOPIC,
) -> DataFrame:
    """Return each topic's windows: topic, window_start, announced, found, distinct, missing, doubled,
    unannounced, and open.

    What they mean is told in :mod:`kafkatx.audit.comparison`.

    :param topics: none: those that are in the table, or all that were announced.
    :param directory: the table, of Parquet or JSON files, whose columns are those of the source or have
        ``kafka_`` before them. None: count in the topics.
    :param window_ms: as long as all producers' windows need if None.
    :raises SettingError: nothing was announced, producers' windows do not fit, or this is no such table.
    """
    from pyspark.sql import functions as f

    announced = announcements(spark, bootstrap, audit_topic)
    if topics:
        announced = announced.where(f.col("topic").isin(*topics))
    told = announced.select("topic", "window_ms").distinct().collect()
    window_ms = common_window_ms({row.window_ms for row in told}, window_ms)
    if window_ms is None:
        raise SettingError(
            f"nothing about {' or '.join(topics) or 'any topic'} was announced in {audit_topic}"
        )
    chosen = list(topics) or sorted({row.topic for row in told})
    if directory is None:
        records = _load(spark, bootstrap, chosen)
    else:
        records = table(spark, directory)
        there = list(topics) or [row.topic for row in records.select("topic").distinct().collect()]
        chosen = there or chosen
    sums = (
        announced.where(f.col("topic").isin(*chosen))
        .groupBy("topic", _window(f.col("window_start_ms"), window_ms))
        .agg(f.sum("count").alias("announced"), f.max("sent_ms").alias("sent_ms"))
    )
    found = (
        records.where(f.col("topic").isin(*chosen))
        .groupBy("topic", _window(f.coalesce(f.unix_millis("timestamp"), f.lit(-1)), window_ms))
        .agg(f.count("*").alias("found"), f.countDistinct("partition", "offset").alias("distinct"))
    )
    return _compared(sums, found, f"{int(time.time() * 1000)} - {settle_ms}", window_ms)


def announcements(spark: SparkSession, bootstrap: str, audit_topic: str = DEFAULT_TOPIC) -> DataFrame:
    """Return the events of the audit topic: one for each producer and sequence, without impossible ones."""
    from pyspark.sql import functions as f

    events = _load(spark, bootstrap, [audit_topic]).select(
        f.from_json(f.col("value").cast("string"), EVENT).alias("event")
    )
    possible = (
        f"version = {VERSION} AND producer IS NOT NULL AND sequence IS NOT NULL AND topic IS NOT NULL"
        f" AND count > 0 AND window_ms BETWEEN 1 AND {DAY_MS} AND pmod(window_start_ms, window_ms) = 0"
        " AND sent_ms IS NOT NULL"
    )
    return events.select("event.*").where(possible).dropDuplicates(["producer", "sequence"])


def table(spark: SparkSession, directory: str) -> DataFrame:
    """Topic, partition, offset and timestamp of all records that readers of a directory see.

    Records that could not be decoded are among them (``_dead_letters``).

    :raises SettingError: it holds no Parquet and no JSON files, or they lack these columns.
    """
    places = (directory, f"{directory.rstrip('/')}/_dead_letters")
    parts = [part for part in (_records(spark, place) for place in places) if part is not None]
    if not parts:
        raise SettingError(f"{directory}: there are no Parquet or JSON files in it")
    return reduce(lambda one, other: one.unionByName(other), parts)


def _records(spark: SparkSession, directory: str) -> DataFrame | None:
    """Return the records as :func:`table` does; None if there are no files."""
    from pyspark.errors import AnalysisException

    try:
        first = spark.read.format("binaryFile").load(directory).select("path").first()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return None
    if first is None:
        return None
    format = first.path.rsplit(".", 1)[-1].lower()
    if format == "parquet":
        found = spark.read.parquet(directory)
        names = _names(found.columns, directory)
    elif format == "json":
        line = spark.read.text(directory).select("value").first()
        if line is None:
            return None
        names = _names([*json.loads(line.value), "timestamp", "kafka_timestamp"], directory)
        schema = ", ".join(f"`{name}` {type}" for name, type in zip(names, _TYPES, strict=True))
        found = spark.read.schema(schema).json(directory)
    else:
        raise SettingError(
            f"{first.path}: only Parquet and JSON are read here; kafkatx audit reads Avro, too"
        )
    return found.selectExpr(*(f"`{name}` AS `{column}`" for name, column in zip(names, COLUMNS, strict=True)))


def _names(there: Sequence[str], directory: str) -> list[str]:
    """Return the names of the four columns."""
    for prefix in ("kafka_", ""):
        names = [prefix + name for name in COLUMNS]
        if all(name in there for name in names):
            return names
    raise SettingError(
        f"{directory}: it has no columns {', '.join(COLUMNS)}, nor these with kafka_ before them"
    )


def _load(spark: SparkSession, bootstrap: str, topics: Sequence[str]) -> DataFrame:
    reader = spark.read.format("kafkatx").option("kafka.bootstrap.servers", bootstrap)
    return reader.option("subscribe", ",".join(topics)).load()


def _window(time_ms: Column, window_ms: int) -> Column:
    from pyspark.sql import functions as f

    start_ms = time_ms - f.pmod(time_ms, f.lit(window_ms))
    return f.timestamp_millis(start_ms).alias("window_start")


def _compared(sums: DataFrame, found: DataFrame, settled_ms: str, window_ms: int) -> DataFrame:
    joined = sums.join(found, ["topic", "window_start"], "full").na.fill(0)
    return joined.selectExpr(
        "topic",
        "window_start",
        "announced",
        "found",
        "`distinct`",
        "greatest(announced - `distinct`, 0) AS missing",
        "found - `distinct` AS doubled",
        "greatest(`distinct` - announced, 0) AS unannounced",
        f"greatest(unix_millis(window_start) + 2 * {window_ms}, sent_ms) > {settled_ms} AS open",
    ).orderBy("topic", "window_start")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the windows that differ.

    :return: 1 if records are missing or doubled, else 0.
    """
    import argparse

    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(prog="kafkatx.spark.audit", description=main.__doc__)
    parser.add_argument("-b", "--bootstrap-server", required=True, metavar="HOST:PORT,...")
    parser.add_argument("-t", "--topic", action="append", default=[], help="only this one; repeatable")
    parser.add_argument("--ingested", metavar="DIR", help="count in this table and not in the topics")
    parser.add_argument("--audit-topic", default=DEFAULT_TOPIC)
    parser.add_argument(
        "--settle", type=float, default=SETTLE_MS / 1000, metavar="SECONDS", help="how long a window is open"
    )
    given: Any = parser.parse_args(arguments)
    spark = SparkSession.builder.appName("kafkatx audit").getOrCreate()
    windows = audit(
        spark,
        given.bootstrap_server,
        given.topic,
        given.ingested,
        settle_ms=round(given.settle * 1000),
        audit_topic=given.audit_topic,
    )
    differing = windows.where("open OR missing > 0 OR doubled > 0 OR unannounced > 0").cache()
    shown = StringIO()
    with redirect_stdout(shown):
        differing.show(1000, truncate=False)
    print("\n".join(map(printable, shown.getvalue().split("\n"))), end="")  # noqa: T201 - a table for people
    return 1 if differing.where("NOT open AND (missing > 0 OR doubled > 0)").count() else 0


if __name__ == "__main__":
    import sys

    sys.exit(main())
