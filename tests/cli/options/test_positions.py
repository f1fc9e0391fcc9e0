"""Tests of kafkatx.cli.options.positions."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options.positions import BEGINNING, END, BadPosition, Position, parse, resolve
from tests.blocking.fakes import FakeCluster, Log


class ParseTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """Each form of the table is understood."""
        for text, expected in (
            ("beginning", BEGINNING),
            ("earliest", BEGINNING),
            ("end", END),
            ("42", Position("offset", 42)),
            ("-5", Position("tail", 5)),
            ("s@1700000000000", Position("time", 1700000000000)),
        ):
            self.assertEqual(parse([text]), (expected, None))

    def test_stop(self) -> None:
        """A time to stop at goes with any start; without a start it is the beginning."""
        self.assertEqual(parse(["e@5"]), (BEGINNING, 5))
        self.assertEqual(parse(["e@5", "7"]), (Position("offset", 7), 5))
        self.assertEqual(parse([]), (BEGINNING, None))

    def test_bad(self) -> None:
        """Other texts are refused, and so are two starts."""
        for texts in (["x"], ["-"], ["1.5"], ["s@"], ["e@x"], ["1", "2"], ["²"], ["9" * 19], ["--5"]):
            self.assertRaises(BadPosition, parse, texts)


class ResolveTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Partition 0 holds offsets 3 to 9, partition 1 offset 0."""
        self.cluster = FakeCluster({"t": [Log(start=3, end=10), Log(end=1)]}).client()

    def starts(self, start: Position, stop_ms: int | None = None, stop: bool = False) -> dict[int, object]:
        """The ranges of both partitions."""
        return dict(resolve(self.cluster, "t", [0, 1], start, stop_ms, stop))

    def test_starts(self) -> None:
        """Each kind of start is looked up per partition."""
        self.assertEqual(self.starts(BEGINNING), {0: (3, None), 1: (0, None)})
        self.assertEqual(self.starts(END), {0: (10, None), 1: (1, None)})
        self.assertEqual(self.starts(Position("offset", 4)), {0: (4, None), 1: (4, None)})
        self.assertEqual(self.starts(Position("tail", 2)), {0: (8, None), 1: (0, None)})
        self.assertEqual(self.starts(Position("tail", 50)), {0: (3, None), 1: (0, None)})

    def test_times(self) -> None:
        """The fake answers offset 1 for any time."""
        self.assertEqual(self.starts(Position("time", 5)), {0: (1, None), 1: (1, None)})
        self.assertEqual(self.starts(BEGINNING, 5), {0: (3, 1), 1: (0, 1)})

    def test_time_after_the_last(self) -> None:
        """A time after the last message stands for the end."""
        self.patch(FakeCluster, "answer_list_offsets", _no_offset_by_time(FakeCluster.answer_list_offsets))
        self.assertEqual(self.starts(Position("time", 5)), {0: (10, None), 1: (1, None)})
        self.assertEqual(self.starts(BEGINNING, 5), {0: (3, 10), 1: (0, 1)})

    def test_stop_at_end(self) -> None:
        """The end is the one that there is now."""
        self.assertEqual(self.starts(BEGINNING, None, True), {0: (3, 10), 1: (0, 1)})


def _no_offset_by_time(answer: object) -> object:
    def without(self: FakeCluster, node: int, request: object, version: int, error: int) -> object:
        response = answer(self, node, request, version, error)  # type: ignore[operator]  # the original method
        for partition in response.topics[0].partitions:
            if partition.timestamp == 11:
                partition.offset = partition.timestamp = -1
        return response

    return without
