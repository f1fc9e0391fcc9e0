"""Makes ``spark.read.format("kafkatx")`` known: Spark looks for a ``DefaultSource`` in modules ``pyspark_*``.

It imports all of them when a program first names a data source, and one that fails takes every Python data
source with it. So this one imports little, and nothing that may be missing where PySpark is there.
"""

from kafkatx.spark.source.data_source import KafkaSource as DefaultSource

__all__ = ["DefaultSource"]
