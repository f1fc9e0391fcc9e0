"""Topics as tables in PySpark, and ingestion into files.

:class:`KafkaSource` is the data source behind ``spark.read.format("kafkatx")``. It is imported on first use:
importing this package needs neither PySpark nor Java. Workers use :mod:`kafkatx.blocking`: no Twisted, no
connector jar. :func:`from_registry` and :func:`to_registry` are columns of messages with schemas. Modules
that run in workers import little.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkatx.spark.registry_columns import from_registry, to_registry
    from kafkatx.spark.source.data_source import KafkaSource

__all__ = ["KafkaSource", "from_registry", "to_registry"]


def __getattr__(name: str) -> object:
    """Import the data source, and the functions for columns, when they are asked for."""
    if name == "KafkaSource":
        from kafkatx.spark.source.data_source import KafkaSource

        return KafkaSource
    if name in ("from_registry", "to_registry"):
        from kafkatx.spark import registry_columns

        return getattr(registry_columns, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
