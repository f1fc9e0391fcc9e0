"""Visits: hits of a client with no gap of more than half an hour; their number, and the longest ones.

python visits.py BOOTSTRAP TOPIC
"""

from __future__ import annotations

import sys

from access_log import hits, spark_session
from pyspark.sql import SparkSession

from kafkatx.spark.streams import session


def main(spark: SparkSession, bootstrap: str, topic: str) -> None:
    """Print the number of visits, and the five with most hits."""
    lines = (
        spark.read.format("kafkatx")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    visits = session(hits(lines), "30 minutes", time="time", late="1 hour", by=["client"]).cache()
    print(f"{visits.count()} visits")
    for row in visits.orderBy("count", "client", ascending=[False, True]).limit(5).collect():
        print(f"{row.client} {row.window.start:%Y-%m-%d %H:%M} {row['count']} hits")


if __name__ == "__main__":
    main(spark_session(), *sys.argv[1:])
