"""Spark's read limits: how much of a stream a batch may read, in Spark 4.2 and later.

Spark 4.0 and 4.1 neither ask a Python source for limits nor tell it where a batch starts. There limits have
no effect, and ``Trigger.AvailableNow`` is one batch.
"""

from __future__ import annotations

from kafkatx.spark.options.limits import Limits

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # Spark 4.0 and 4.1
    ReadAllAvailable = ReadLimit = ReadMaxRows = ReadMinRows = None
    SupportsTriggerAvailableNow = object

__all__ = ["ReadLimit", "SupportsTriggerAvailableNow", "default_limit", "limits_of"]


def default_limit(limits: Limits) -> ReadLimit:
    """Return the limit that Spark is to ask for: one of its own classes, as only those come back.

    None of them holds both a maximum and a minimum, so :func:`limits_of` restores the other one.
    """
    if limits.max_offsets is not None:
        return ReadMaxRows(limits.max_offsets)
    return ReadAllAvailable() if limits.min_offsets is None else ReadMinRows(limits.min_offsets)


def limits_of(limit: ReadLimit | None, options: Limits) -> Limits:
    """Return the limits of a batch: none if Spark asks for everything, otherwise those of the options."""
    if limit is None or isinstance(limit, ReadAllAvailable):
        return Limits()
    return options
