"""Lines of a web server's access log as columns; the other examples here import it."""

from __future__ import annotations

import os
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

LINE = r'^(\S+) \S+ \S+ \[([^\]]+)\] "(\S+) (\S+)[^"]*" (\d{3}) (\d+|-)'


def spark_session() -> SparkSession:
    """Return a local Spark session in UTC."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def hits(topic: DataFrame) -> DataFrame:
    """Return the columns ``client``, ``time``, ``path``, ``status``, ``bytes`` of lines."""
    line = F.col("value").cast("string")
    moment = F.regexp_extract(line, LINE, 2)
    return topic.select(
        F.regexp_extract(line, LINE, 1).alias("client"),
        F.to_timestamp(moment, "dd/MMM/yyyy:HH:mm:ss Z").alias("time"),
        F.regexp_extract(line, LINE, 4).alias("path"),
        F.regexp_extract(line, LINE, 5).alias("status"),
        F.regexp_extract(line, LINE, 6).try_cast("bigint").alias("bytes"),
    ).where(F.regexp_extract(line, LINE, 1) != "")
