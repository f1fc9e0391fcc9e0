"""Topics as tables in PySpark, and ingestion into files.

:class:`KafkaSource` is the data source behind ``spark.read.format("kafkatx")``. It is imported on first use:
importing this package needs neither PySpark nor Java. Workers use :mod:`kafkatx.blocking`: no Twisted, no
connector jar. Modules that run in workers import little.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkatx.spark.source.data_source import KafkaSource

__all__ = ["KafkaSource"]


def __getattr__(name: str) -> object:
    """Import the data source when it is asked for."""
    if name != "KafkaSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kafkatx.spark.source.data_source import KafkaSource

    return KafkaSource
