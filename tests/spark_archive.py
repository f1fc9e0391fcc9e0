"""The classes of Spark as Java's class data sharing keeps them: Spark starts in half the processor time.

``python -m tests.spark_archive FILE`` runs a small Spark that loads what most tests load, and its JVM writes
the archive when it ends. :mod:`tests.run` lets the Sparks of tests use it where :data:`ARCHIVE` exists. A JVM
takes no notice of an archive of another Java or of other jars.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ARCHIVE = os.path.join(sys.prefix, "spark.jsa")
OPTIONS = "SPARK_SUBMIT_OPTS"
"""The variable with options of the JVM that spark-submit starts, which PySpark calls."""

JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable -Xlog:all=off:stdout"
"""One compiler and one collector of garbage: what tests start does not run for long."""

STREAM_S = 60


def use(archive: str = ARCHIVE) -> str:
    """Return options for the JVM: of the archive, if there is one."""
    return f"{JVM} -XX:SharedArchiveFile={archive}" if os.path.exists(archive) else JVM


def load_classes(spark: Any, bootstrap: str, folder: str) -> None:
    """Use the parts of Spark that tests use most."""
    lines = spark.createDataFrame([(b"k", b"v"), (b"k", b"w")], "key binary, value binary")
    lines.write.format("kafkatx").option("kafka.bootstrap.servers", bootstrap).option("topic", "t").mode(
        "append"
    ).save()
    topic = {"kafka.bootstrap.servers": bootstrap, "subscribe": "t", "startingOffsets": "earliest"}
    read = spark.read.format("kafkatx").options(**topic).load()
    texts = read.selectExpr("cast(value as string) text", "timestamp")
    texts.groupBy("text").count().orderBy("text").collect()
    read.write.mode("append").parquet(f"{folder}/parquet")
    spark.read.parquet(f"{folder}/parquet").selectExpr("count(*)", "max(offset)").first()
    stream = spark.readStream.format("kafkatx").options(**topic).load()
    query = (
        stream.writeStream.format("parquet")
        .option("path", f"{folder}/streamed")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(STREAM_S)


def make(archive: str) -> None:
    """Write the archive."""
    from kafkatx.spark.session import spark_session  # tests.run imports this module, for every test
    from kafkatx.testing import EmbeddedBroker

    os.environ[OPTIONS] = f"{JVM} -XX:ArchiveClassesAtExit={archive}"
    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker() as broker:
        with spark_session(str(Path(folder, "spark.log"))) as spark:
            load_classes(spark, broker.bootstrap, folder)
            jvm = spark.sparkContext._gateway.proc
        jvm.stdin.close()  # spark-submit ends when its input does
        jvm.wait()


if __name__ == "__main__":
    make(os.path.abspath(sys.argv[1]))
