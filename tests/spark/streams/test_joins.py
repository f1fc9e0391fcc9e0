"""The queries that join streams and tables."""

from __future__ import annotations

from kafkatx.spark.streams.joins import join_table, join_within, latest
from tests.spark.streams.functions import StreamsCase


class JoinTests(StreamsCase):
    def test_within(self) -> None:
        """Both sides get a watermark; the times may differ from before to after."""
        left, right = self.frame("user", "timestamp", "page"), self.frame("user", "timestamp", "image")
        join_within(left, right, ["user"], before="1 second", after="5 seconds", late="1 minute")
        for side in (left, right):
            side.withWatermark.assert_called_once_with("timestamp", "1 minute")
        ((condition,), _) = self.F.expr.call_args
        self.assertIn(">= `left_timestamp` - INTERVAL 1 second", condition)
        self.assertIn("<= `left_timestamp` + INTERVAL 5 seconds", condition)
        left.join.assert_called_once()

    def test_names(self) -> None:
        """A column that both sides have keeps its prefix, one of a single side its name."""
        left, right = self.frame("user", "timestamp", "page"), self.frame("user", "timestamp", "image")
        join_within(left, right, ["user"], after="5 seconds", late="1 minute")
        named = [call.args[0] for call in self.F.col.return_value.alias.call_args_list]
        self.assertEqual(named, ["left_timestamp", "page", "right_timestamp", "image"])

    def test_table(self) -> None:
        """A table is joined on the columns, from the left unless it is said otherwise."""
        records, table = self.frame(), self.frame()
        join_table(records, table, ("user",))
        records.join.assert_called_once_with(table, ["user"], "left")

    def test_latest(self) -> None:
        """The newest record by offset counts, and a key without a value is gone."""
        topic = self.frame()
        latest(topic, ["key"])
        self.Window.partitionBy.assert_called_once_with("key")
        self.assertEqual([call.args for call in self.F.desc.call_args_list], [("offset",), ("timestamp",)])
        rows = topic.withColumn.return_value.where.return_value.drop.return_value
        rows.where.assert_called_once_with("value IS NOT NULL")
