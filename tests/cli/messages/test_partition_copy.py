"""Tests of kafkatx.cli.messages.partition_copy."""

from __future__ import annotations

from io import BytesIO

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.messages.partition_copy import copy
from kafkatx.cli.output.renderer import ValueRenderer
from kafkatx.records.builder import build_values
from tests.blocking.fakes import FakeCluster, Log


class CopyTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A partition with two batches of three messages."""
        self.fake = FakeCluster({"t": [Log()]})
        for values in ([b"a", b"b", b"c"], [b"d", b"e", b"f"]):
            self.fake.topics["t"][0].append(build_values(values, 1))
        self.out = BytesIO()

    def copied(self, start: int, end: int | None, count: int | None, idle_s: float | None = None) -> int:
        """Copy a range; return the number of messages."""
        with self.fake.client() as cluster:
            rows = ValueRenderer(b"\n")
            return copy(cluster, "t", {0: (start, end)}, rows, count, self.out, idle_s)

    def test_range(self) -> None:
        """Only offsets of the range are written, also from within batches."""
        self.assertEqual(self.copied(1, 5, None), 4)
        self.assertEqual(self.out.getvalue(), b"b\nc\nd\ne\n")

    def test_count(self) -> None:
        """It stops after the count, also without an end."""
        self.assertEqual(self.copied(0, None, 4), 4)
        self.assertEqual(self.out.getvalue(), b"a\nb\nc\nd\n")

    def test_idle(self) -> None:
        """Without an end it stops when nothing has come for the idle time."""
        answer = self.fake.answer

        def slow(node: int, request: object, version: int) -> object:
            self.fake.now += 0.5  # as long as a broker holds a fetch without records
            return answer(node, request, version)

        self.patch(FakeCluster, "answer", lambda fake, node, request, version: slow(node, request, version))
        self.assertEqual(self.copied(0, None, None, idle_s=2.0), 6)
        self.assertEqual(self.out.getvalue(), b"a\nb\nc\nd\ne\nf\n")

    def test_broken_pipe(self) -> None:
        """A reader that has gone ends it with the error that says so."""

        class Gone(BytesIO):
            def write(self, data: object) -> int:
                raise BrokenPipeError

        self.out = Gone()
        self.assertRaises(BrokenPipeError, self.copied, 0, 6, None)
