"""The queries that count in windows."""

from __future__ import annotations

from kafkatx.spark.streams.windows import session, sliding, tumbling
from tests.spark.streams.functions import StreamsCase


class WindowTests(StreamsCase):
    def test_tumbling(self) -> None:
        """Records are grouped by window and columns; the watermark is on the column of the time."""
        records = self.frame()
        tumbling(records, "1 hour", late="10 minutes", time="at", by=["host"], sums=["bytes"])
        records.withWatermark.assert_called_once_with("at", "10 minutes")
        self.F.window.assert_called_once_with("at", "1 hour")
        records.groupBy.assert_called_once_with(self.F.window.return_value, "host")
        self.F.sum.assert_called_once_with("bytes")
        self.F.sum.return_value.alias.assert_called_once_with("sum_bytes")

    def test_sliding(self) -> None:
        """A sliding window has its size and the time between two."""
        sliding(self.frame(), "1 hour", "5 minutes", late="1 minute")
        self.F.window.assert_called_once_with("timestamp", "1 hour", "5 minutes")

    def test_session(self) -> None:
        """A session is a window, too, and is called so."""
        records = self.frame()
        session(records, "30 minutes", late="1 minute", by=["visitor"])
        self.F.session_window.assert_called_once_with("timestamp", "30 minutes")
        window = self.F.session_window.return_value.alias
        window.assert_called_once_with("window")
        records.groupBy.assert_called_once_with(window.return_value, "visitor")
