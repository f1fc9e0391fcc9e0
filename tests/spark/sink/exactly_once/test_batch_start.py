"""Tests of kafkatx.spark.sink.exactly_once.batch_start."""

from __future__ import annotations

from kafkatx.errors import KafkaTXError
from kafkatx.spark.sink.exactly_once.batch_start import start_batch
from tests.spark.sink.exactly_once.streams import RunCase


class StartTests(RunCase):
    def test_left_open(self) -> None:
        """A new batch aborts all that killed tasks have left, whatever their numbers."""
        batch = self.query.start()
        for number, attempt in ((0, 0), (7, 3)):
            self.query.write(batch, 0, [b"a"], number, attempt)
        self.query.start()
        self.assertEqual(self.cluster.open_ids(), [])

    def test_timeout_refused(self) -> None:
        """A time-out above the maximum of the brokers is an error."""
        with self.cluster.client() as client:
            error = self.assertRaises(KafkaTXError, start_batch, client, "query", 900_001)
        self.assertIn("INVALID_TRANSACTION_TIMEOUT", repr(error.code))

    def test_old_driver(self) -> None:
        """A driver that goes on after another run has begun commits nothing."""
        batch = self.query.start()
        old = [self.query.write(batch, 0, [b"a"]), self.query.write(batch, 0, [b"b"], 1)]
        new = self.query.start()
        self.refused(self.query.commit, old, 0)
        self.query.commit([self.query.write(new, 0, [b"a", b"b"])], 0)
        self.refused(self.query.commit, old, 0)
        self.query.abort(old, 0)
        self.assertEqual(sorted(self.cluster.committed), [b"a", b"b"])

    def test_old_driver_with_new_tasks(self) -> None:
        """Tasks that have begun before another run, and write after it, are not committed either."""
        batch = self.query.start()
        new = self.query.start()
        old = [self.query.write(batch, 0, [b"a"], 5)]
        self.assertIn("another run of the query has begun", self.refused(self.query.commit, old, 0))
        self.query.commit([self.query.write(new, 0, [b"a"])], 0)
        self.assertEqual(self.cluster.committed, [b"a"])
