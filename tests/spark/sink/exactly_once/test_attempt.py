"""Tests of kafkatx.spark.sink.exactly_once.attempt."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.produce import ProduceRequest
from tests.spark.sink.exactly_once.streams import Run, RunCase


class AttemptTests(RunCase):
    def test_once_more(self) -> None:
        """A batch that Spark runs again is read to its end, and written not again."""
        self.whole(0, b"a", b"b")
        left = iter([b"a", b"b"])
        again = self.query.write(self.query.start(), 0, list(left))
        self.assertIsNone(again.part)
        self.query.commit([again], 0)
        self.assertEqual((self.cluster.committed, list(left)), ([b"a", b"b"], []))

    def test_another_query(self) -> None:
        """A query with a new checkpoint writes its first batches, though another was further."""
        self.whole(5, b"a")
        self.query = Run(lambda: self.cluster.client(), self.patch, "other")
        self.whole(0, b"b")
        self.assertEqual(self.cluster.committed, [b"a", b"b"])

    def test_older_checkpoint(self) -> None:
        """A checkpoint that went back is an error: the contents of its batches are not known."""
        self.whole(5, b"a")
        self.assertIn("batch 4 of query", self.refused(self.whole, 4, b"b"))
        self.assertEqual(self.cluster.committed, [b"a"])

    def test_failing_task(self) -> None:
        """A task that fails aborts its transaction at once; the next attempt has another one."""
        batch = self.query.start()
        self.cluster.faults[ProduceRequest].extend([None, ErrorCode.INVALID_RECORD])
        values = [b"%d" % n for n in range(4)]
        self.patch(self.cluster.topics["t"][0], "max_bytes", 1 << 20)
        self.assertIn("t [", self.refused(self.query.write, batch, 0, values + [b"x" * 900_000] * 2))
        self.assertEqual(self.cluster.open_ids(), [])
        self.query.commit([self.query.write(batch, 0, values, attempt=1)], 0)
        self.assertEqual(sorted(self.cluster.committed), values)
