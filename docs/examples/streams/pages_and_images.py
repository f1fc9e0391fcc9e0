"""Two streams joined: pages, and images requested by the same client within ten seconds.

python pages_and_images.py BOOTSTRAP TOPIC
"""

from __future__ import annotations

import sys

from access_log import hits, spark_session
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kafkatx.spark.streams import join_within

IMAGE = r"\.(png|jpg|gif|ico)$"


def main(spark: SparkSession, bootstrap: str, topic: str) -> None:
    """Print the number of pages with images, and the five with most."""
    lines = (
        spark.readStream.format("kafkatx")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    known = hits(lines).select("client", "time", "path")
    pages = known.where(~F.col("path").rlike(IMAGE)).withColumnRenamed("path", "page")
    images = known.where(F.col("path").rlike(IMAGE)).withColumnRenamed("path", "image")
    pairs = join_within(
        pages, images, ["client"], after="10 seconds", late="1 hour", left_time="time", right_time="time"
    )
    query = pairs.writeStream.format("memory").queryName("pairs").trigger(availableNow=True).start()
    query.awaitTermination()
    found = spark.table("pairs")
    print(f"{found.count()} pairs")
    for row in found.groupBy("page").count().orderBy(F.desc("count"), "page").limit(5).collect():
        print(f"{row.page} {row['count']}")


if __name__ == "__main__":
    main(spark_session(), *sys.argv[1:])
