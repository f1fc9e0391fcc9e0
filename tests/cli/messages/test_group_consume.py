"""Tests of kafkatx.cli.messages.group_consume."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.messages.consume import renderer
from kafkatx.cli.messages.group_consume import _ended, write
from kafkatx.cli.output.records import Rows
from tests.cli.fake_consumer import A0, B1, FakeConsumer, records


class WriteTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A consumer, and its rows: values in lines."""
        consumer: Any = FakeConsumer()
        self.consumer = consumer
        self.rows = Rows(consumer, partial(renderer, format_text=None, key=None, end="\\n"))
        self.found = {A0: records(A0, 5, b"x", None), B1: records(B1, 9, b"y")}

    def test_written(self) -> None:
        """All partitions are printed, and nothing is sought."""
        out = io.BytesIO()
        write(self.consumer, self.found, self.rows, out)
        self.assertEqual((out.getvalue(), self.consumer.sought), (b"x\n\ny\n", []))

    def test_not_written(self) -> None:
        """After a failed write the position is the first record that was not written, if possible."""

        class Gone(io.BytesIO):
            def flush(self) -> None:
                raise BrokenPipeError

        self.assertRaises(BrokenPipeError, write, self.consumer, self.found, self.rows, Gone())
        self.assertEqual(self.consumer.sought, [(A0, 5)])

    def test_ended(self) -> None:
        """The end is where all partitions are at theirs; not in the middle of a rebalance."""
        self.assertTrue(_ended(self.consumer))
        self.consumer.ends[A0] = 4
        self.assertFalse(_ended(self.consumer))
        self.consumer.positions = {}
        self.assertTrue(_ended(self.consumer))
        self.patch(self.consumer, "assignment", lambda: frozenset([A0]))
        self.assertFalse(_ended(self.consumer))
