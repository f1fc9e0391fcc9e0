"""A stream joined with a table: the names of clients are in a compacted topic, by their address.

python named_clients.py BOOTSTRAP TOPIC NAMES_TOPIC CHECKPOINT_DIR
"""

from __future__ import annotations

import sys

from access_log import hits, spark_session
from pyspark.sql import SparkSession

from kafkatx.spark.streams import join_table, latest


def main(spark: SparkSession, bootstrap: str, topic: str, names_topic: str, checkpoint: str) -> None:
    """Print the hits of the clients that have a name."""
    kafka = {"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest"}
    lines = spark.readStream.format("kafkatx").options(**kafka, subscribe=topic).load()
    names = latest(spark.read.format("kafkatx").options(**kafka, subscribe=names_topic).load())
    table = names.selectExpr("cast(key AS string) AS client", "cast(value AS string) AS name")
    query = (
        join_table(hits(lines), table, ["client"], how="inner")
        .groupBy("name")
        .count()
        .writeStream.outputMode("complete")
        .format("memory")
        .queryName("named")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    for row in spark.table("named").orderBy("name").collect():
        print(row.name, row["count"])


if __name__ == "__main__":
    main(spark_session(), *sys.argv[1:])
