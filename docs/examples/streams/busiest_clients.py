"""The three busiest clients of each day, in the whole topic.

python busiest_clients.py BOOTSTRAP TOPIC
"""

from __future__ import annotations

import sys

from access_log import hits, spark_session
from pyspark.sql import SparkSession

from kafkatx.spark.streams import top, tumbling


def main(spark: SparkSession, bootstrap: str, topic: str) -> None:
    """Print a line for each."""
    lines = (
        spark.read.format("kafkatx")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    days = tumbling(hits(lines), "1 day", time="time", late="1 day", by=["client"])
    for row in top(days, 3).orderBy("window", "rank").collect():
        print(f"{row.window.start:%Y-%m-%d} {row.rank}. {row.client} {row['count']}")


if __name__ == "__main__":
    main(spark_session(), *sys.argv[1:])
