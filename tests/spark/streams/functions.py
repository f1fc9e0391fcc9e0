"""Spark's functions and data frames as a record of the calls, without a JVM."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pyspark.sql
import pyspark.sql.functions
from twisted.trial.unittest import SynchronousTestCase


class StreamsCase(SynchronousTestCase):
    """A test with recorded functions.

    :ivar F: in the place of ``pyspark.sql.functions``.
    """

    def setUp(self) -> None:
        """Replace Spark's functions; they need a running Spark."""
        self.F = MagicMock(name="functions")
        self.Window = MagicMock(name="Window")
        self.patch(pyspark.sql, "functions", self.F)
        self.patch(pyspark.sql, "Window", self.Window)

    def frame(self, *columns: str) -> Any:
        """Return a data frame with these columns."""
        frame = MagicMock(name="frame", columns=list(columns))
        frame.withWatermark.return_value = frame
        frame.withColumnsRenamed.return_value = frame
        return frame
