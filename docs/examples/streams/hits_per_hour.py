"""Hits and bytes per hour: a stream that reads all new records and ends; a later run continues.

python hits_per_hour.py BOOTSTRAP TOPIC CHECKPOINT_DIR
"""

from __future__ import annotations

import sys

from access_log import hits, spark_session
from pyspark.sql import SparkSession

from kafkatx.spark.streams import tumbling


def main(spark: SparkSession, bootstrap: str, topic: str, checkpoint: str) -> None:
    """Print each hour that changed."""
    lines = (
        spark.readStream.format("kafkatx")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    hours = tumbling(hits(lines), "1 hour", time="time", late="1 day", sums=["bytes"])
    query = (
        hours.writeStream.outputMode("complete")
        .format("memory")
        .queryName("hours")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    for row in spark.table("hours").orderBy("window").collect():
        print(f"{row.window.start:%Y-%m-%d %H:%M} {row['count']} {row.sum_bytes}")


if __name__ == "__main__":
    main(spark_session(), *sys.argv[1:])
