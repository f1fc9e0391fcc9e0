"""A producer that gives a record up, or dies, fails its row; and all rows have names."""

from __future__ import annotations

import sys
import time
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

from twisted.trial.unittest import SynchronousTestCase

from tests.clients import leader_dies
from tests.clients.leader_dies import Sending
from tests.clients.leader_rows import ROWS
from tests.cluster.checker.history import ProducerHistory

_SAYS = """
import json
print("some noise of a library")
print(json.dumps({"version": "1.2"}))
"""


class SendingTests(SynchronousTestCase):
    def sending(self, script: str) -> Sending:
        """Return a producer that is a script, in the end of what it prints."""
        self.out = StringIO()
        history = ProducerHistory(
            self.out, time.monotonic, "client", "t", "all", idempotent=True, ordered=True
        )
        sending = Sending([sys.executable, "-c", _SAYS + script], history, Path(self.mktemp()))
        self.addCleanup(sending.kill)
        return sending

    def test_acknowledged(self) -> None:
        """An acknowledgement is in the history, and counts."""
        sending = self.sending("print(json.dumps({'acknowledged': [0, 3, 7]}))")
        sending.end()
        self.assertEqual((sending.version, sending.acknowledged), ("1.2", 1))
        kind, _, *place = self.out.getvalue().splitlines()[1].split()
        self.assertEqual((kind, place), ("a", ["0", "3", "7"]))

    def test_gap(self) -> None:
        """A gap counts if it ends after the kill, and is one of the same partition."""
        sending = self.sending("print(json.dumps({'acknowledged': [0, 3, 7]}))")
        sending.end()
        times = iter([100.0, 109.0, 110.0, 119.5, 120.0])
        self.patch(leader_dies, "time", SimpleNamespace(monotonic=lambda: next(times)))
        sending._acknowledge(1, 4, 0)
        sending._acknowledge(2, 4, 1)
        self.assertEqual(sending.gap_s, 0.0)
        sending.count_gaps()
        for number, partition in enumerate((4, 4, 5), start=3):
            sending._acknowledge(number, partition, number)
        self.assertEqual(sending.gap_s, 9.5)

    def test_failed(self) -> None:
        """A record that the client gave up is told of, though the program ended well."""
        sending = self.sending("print(json.dumps({'failed': [0, 'TimedOut: ouch']}))")
        self.assertIn("TimedOut: ouch", str(self.assertRaises(AssertionError, sending.end)))

    def test_death(self) -> None:
        """A program that died is told of with its last words."""
        sending = self.sending("raise RuntimeError('ouch')")
        self.assertIn("RuntimeError: ouch", str(self.assertRaises(AssertionError, sending.end)))
        self.assertIn("RuntimeError: ouch", str(self.assertRaises(AssertionError, sending.reached, 1)))


class RowsTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Each row has a name of its own: results are kept by it."""
        self.assertEqual(len({row.name for row in ROWS}), len(ROWS))
