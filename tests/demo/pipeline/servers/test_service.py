"""Tests of kafkatx.demo.pipeline.servers.service."""

from __future__ import annotations

import io
import json
import sys
import time
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client import Record
from kafkatx.demo.pipeline.servers.service import Service


class FakeConnector:
    """A connector whose stream ends after some records."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records

    def create_message_streams_by_filter(self, filter: Any, streams: int) -> list[list[Record]]:
        """Return the stream, if the filter is the one of the test."""
        assert (filter.wants("x"), filter.wants("z"), streams) == (True, False, 1)
        return [self._records]


class ServiceTests(SynchronousTestCase):
    def test_report(self) -> None:
        """At its end it tells the number of records, their partitions and their delays."""
        now_ms = round(time.time() * 1000)
        records = [Record(topic, 1, 0, now_ms - 5000, 0, None, b"v", b"") for topic in ("y", "x", "x")]
        output = io.StringIO()
        self.patch(sys, "stdout", output)
        connector: Any = FakeConnector(records)
        Service(connector).run("x,y")
        first, *_, last = output.getvalue().splitlines()
        told = json.loads(last)
        self.assertEqual((first, told["records"], told["partitions"]), ("ready", 3, ["x-1", "y-1"]))
        self.assertEqual(sum(told["delays_ms"].values()), 3)
        self.assertTrue(all(int(delay_ms) >= 5000 for delay_ms in told["delays_ms"]))
