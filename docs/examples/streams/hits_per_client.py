"""Hits per client of a topic that is keyed, and so partitioned, by client: each task counts its own.

python hits_per_client.py BOOTSTRAP TOPIC
"""

from __future__ import annotations

import sys

from access_log import spark_session
from pyspark.sql import SparkSession

from kafkatx.spark.streams import in_partitions


def main(spark: SparkSession, bootstrap: str, topic: str) -> None:
    """Print the three busiest clients."""
    lines = (
        spark.read.format("kafkatx")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    clients = in_partitions(lines.selectExpr("cast(key AS string) AS client"), ["client"])
    for row in clients.orderBy("count", "client", ascending=[False, True]).limit(3).collect():
        print(row.client, row["count"])


if __name__ == "__main__":
    main(spark_session(), *sys.argv[1:])
