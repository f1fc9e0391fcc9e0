"""How much of a stream Spark lets a source read: its read limits, in Spark 4.2 and later.

In Spark 4.0 and 4.1 a Python source is not asked for limits, nor told where a batch starts; limits have no
effect there, and ``Trigger.AvailableNow`` is one batch.
"""

from __future__ import annotations

from typing import Any

from kafkatx.spark.options.limits import Limits

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # Spark 4.0 and 4.1
    ReadAllAvailable = ReadMaxRows = ReadMinRows = None
    SupportsTriggerAvailableNow = object

__all__ = ["SupportsTriggerAvailableNow", "default_limit", "limits_of"]


def default_limit(limits: Limits) -> Any:
    """What Spark is to ask for: one of its own limits, as only those come back to us.

    It cannot hold both a most and a least, so :func:`limits_of` puts the other one back.
    """
    if limits.max_offsets is not None:
        return ReadMaxRows(limits.max_offsets)
    return ReadAllAvailable() if limits.min_offsets is None else ReadMinRows(limits.min_offsets)


def limits_of(limit: Any, options: Limits) -> Limits:
    """What Spark asks for: everything, whatever the options say, or what :func:`default_limit` told it."""
    if limit is None or isinstance(limit, ReadAllAvailable):
        return Limits()
    return options
