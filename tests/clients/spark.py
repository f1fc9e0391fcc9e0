"""The scenario of PySpark: what a topic is read and written with, in batches and as a stream.

Variants: ``kafka``, Spark's own source and sink in the JVM; ``kafkatx``, ours in Python.
"""

from __future__ import annotations

import glob
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tests.clients.features import PARTITIONS
from tests.clients.scenario import (
    BIG,
    POLL_S,
    SENT,
    Pair,
    Scenario,
    Told,
    check_keyed,
    main,
    new_name,
    same,
    say,
)
from tests.clients.toolchains import ROOT, SPARK

LONG_S = 300.0
_CODECS = ("gzip", "snappy", "lz4", "zstd")
_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""A JVM that starts sooner and never gets fast."""


def spark_with_jars(settings: Mapping[str, str] = MappingProxyType({})) -> Any:
    """A session that has Spark's own source and sink, too, where Maven has fetched them for this Spark."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = ROOT  # so that workers find kafkatx
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in {**_SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    if sys.prefix == SPARK:
        builder = builder.config("spark.jars", ",".join(glob.glob(os.path.join(SPARK, "jars", "*.jar"))))
    return builder.getOrCreate()


class Spark(Scenario):
    """``spark.read``, ``spark.readStream`` and what is written by them."""

    def __init__(self, variant: str, bootstrap: str) -> None:
        super().__init__(variant, bootstrap)
        self._spark = spark_with_jars(QUICK)

    def version(self) -> str:
        """PySpark's."""
        version: str = self._spark.version
        return version

    def at(self, reader_or_writer: Any, **options: str) -> Any:
        """A reader or writer of topics of this broker."""
        made = reader_or_writer.format(self.variant).option("kafka.bootstrap.servers", self.bootstrap)
        return made.options(**options)

    def produce(self, topic: str, pairs: Sequence[Pair], **options: str) -> None:
        """``DataFrame.write``; the broker creates the topic."""
        rows = [(bytearray(key), bytearray(value)) for key, value in pairs]
        table = self._spark.createDataFrame(rows, "key binary, value binary").coalesce(1)
        self.at(table.write.mode("append"), topic=topic, **options).save()

    def table(self, topic: str, **options: str) -> Any:
        """``spark.read`` of all of a topic."""
        return self.at(self._spark.read, subscribe=topic, **options).load()

    def read(self, topic: str, **options: str) -> list[tuple[int, bytes, bytes]]:
        """(partition, key, value) of all of a topic, in the order of its offsets."""
        rows = sorted(self.table(topic, **options).collect(), key=lambda row: (row.partition, row.offset))
        return [(row.partition, bytes(row.key), bytes(row.value)) for row in rows]

    def produce_keyed(self) -> None:
        """A batch."""
        topic = new_name()
        self.produce(topic, SENT)
        check_keyed(self.read(topic))

    def produce_compressed(self) -> str:
        """``kafka.compression.type``."""
        for codec in _CODECS:
            topic = new_name()
            self.produce(topic, BIG, **{"kafka.compression.type": codec})
            check_keyed(self.read(topic), BIG)
        return ", ".join(_CODECS)

    def consume(self) -> str:
        """A batch; then a stream from topic to topic, which stops and goes on from its checkpoint."""
        topic, copy = new_name(), new_name()
        self.produce(topic, SENT)
        rows = self.table(topic).select("partition", "offset").collect()
        same(len(rows), len(SENT), "rows")
        for partition in range(PARTITIONS):
            offsets = sorted(row.offset for row in rows if row.partition == partition)
            same(offsets, list(range(len(offsets))), "offsets")
        with tempfile.TemporaryDirectory() as checkpoint:
            self.stream(topic, copy, checkpoint)
            check_keyed(self.read(copy))
            self.produce(topic, BIG)
            self.stream(topic, copy, checkpoint)
        check_keyed(self.read(copy), [*SENT, *BIG])
        return "a batch, and a stream with a checkpoint"

    def stream(self, topic: str, copy: str, checkpoint: str) -> None:
        """Copy what there is in a topic and is not copied yet."""
        found = self.at(self._spark.readStream, subscribe=topic, startingOffsets="earliest").load()
        writer = found.select("key", "value").writeStream.trigger(availableNow=True)
        query = self.at(writer, topic=copy, checkpointLocation=checkpoint).start()
        query.awaitTermination()

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """A stream into Parquet files and one into another topic; at the end all rows of both are told."""
        copy, source = f"{topic}-copy", {"subscribe": topic, "startingOffsets": "earliest"}
        with tempfile.TemporaryDirectory(prefix="kafkatx-clients-") as folder:
            table, checkpoint = os.path.join(folder, "table"), os.path.join(folder, "checkpoint")
            found = self.at(self._spark.readStream, **source).load()
            rows = found.selectExpr("partition", "offset", "CAST(value AS STRING) AS value")
            files = rows.writeStream.format("parquet").option("path", table)
            files = files.option("checkpointLocation", f"{checkpoint}-files")
            copied = self.at(found.select("key", "value").writeStream, topic=copy)
            copied = copied.option("checkpointLocation", f"{checkpoint}-copy")
            queries = [_begun(files.start), _begun(copied.start)]
            told.assigned(range(PARTITIONS))
            told.leave.wait()
            for query in queries:
                query.processAllAvailable()
                query.stop()
            kept = self._spark.read.parquet(table).collect()
            told.read((row.partition, row.offset) for row in kept)
            say(
                copied=sorted(
                    bytes(row.value).partition(b"|")[0].decode() for row in self.table(copy).collect()
                )
            )
            self._spark.stop()

    def seek_by_time(self) -> None:
        """``startingTimestamp``."""
        topic = new_name()
        self.produce(topic, SENT)
        time.sleep(0.01)  # the sink stamps records itself
        between = int(time.time() * 1000)
        self.produce(topic, BIG)
        # A partition that has nothing as late is not an error.
        late = {"startingOffsetsByTimestampStrategy": "latest"}
        check_keyed(self.read(topic, startingTimestamp=str(between), **late), BIG)


def _begun(start: Callable[[], Any]) -> Any:
    """Start a stream, and return it when it has taken rows.

    It is started again where Spark's worker was too slow to start, as on a machine with much else to do:
    Spark waits 10 s for one that has no daemon (``PythonWorkerFactory.createSimpleWorker``), and has no
    setting of that.
    """
    end = time.monotonic() + LONG_S
    query = start()
    while not any(progress["numInputRows"] for progress in query.recentProgress):
        error = query.exception()
        if error is not None and "failed to connect back" in str(error):
            query = start()
        elif error is not None or time.monotonic() > end:
            raise AssertionError(f"the stream does not begin: {error}")
        time.sleep(POLL_S)
    return query


if __name__ == "__main__":
    main(Spark)
