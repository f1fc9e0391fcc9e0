"""Registration of the data source ``kafkatx``: Spark looks for a ``DefaultSource`` in modules ``pyspark_*``.

Spark imports all such modules when a program first names a data source, and one that fails disables every
Python data source. So this module imports little, and nothing that may be missing where PySpark is installed.
"""

from kafkatx.spark.source.data_source import KafkaSource as DefaultSource

__all__ = ["DefaultSource"]
