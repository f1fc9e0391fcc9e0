"""Tests of kafkatx.cli.messages.group_consume and kafkatx.cli.output.records."""

from __future__ import annotations

import io
from functools import partial
from types import SimpleNamespace
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.messages.consume import renderer
from kafkatx.cli.messages.group_consume import _ended, write
from kafkatx.cli.output.records import Rows
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import NotAssigned
from kafkatx.types import TopicPartition

A0, B1 = TopicPartition("a", 0), TopicPartition("b", 1)


def records(place: TopicPartition, first: int, *values: bytes | None) -> list[Record]:
    """Records of one partition."""
    return [Record(*place, first + n, 5, 0, b"k", value) for n, value in enumerate(values)]


class FakeConsumer:
    """One with two partitions."""

    def __init__(self) -> None:
        self.sought: list[tuple[TopicPartition, int]] = []
        self.positions = {A0: 3, B1: 4}
        self.ends = {A0: 3, B1: 4}
        leaders = {"a": SimpleNamespace(partitions={0: SimpleNamespace(leader=7)})}
        self.client = SimpleNamespace(cluster=SimpleNamespace(metadata=SimpleNamespace(topics=leaders)))

    def seek(self, place: TopicPartition, offset: int) -> None:
        """Remember it; one partition has gone."""
        if place == B1:
            raise NotAssigned(*place)
        self.sought.append((place, offset))

    def assignment(self) -> frozenset[TopicPartition]:
        """Both."""
        return frozenset(self.positions)

    def end_offsets(self, *places: TopicPartition) -> dict[TopicPartition, int]:
        """Return the ends of these partitions."""
        return {place: self.ends[place] for place in places}

    def position(self, place: TopicPartition) -> int:
        """Return the position in this partition."""
        if place not in self.positions:
            raise NotAssigned(*place)
        return self.positions[place]


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


class RowsTests(SynchronousTestCase):
    def test_topics(self) -> None:
        """Each topic has its own rows, with all that a format may ask for."""
        consumer: Any = FakeConsumer()
        rows = Rows(consumer, partial(renderer, format_text="%t/%p@%o %T %k=%s %h;", key=None, end=""))
        headed = Record("b", 1, 2, 9, 1, None, b"w", b"\x02\x02h\x021")
        self.assertEqual(
            rows.render({A0: records(A0, 5, b"v"), B1: [headed]}), b"a/0@5 5 k=v ;b/1@2 9 =w h=1;"
        )

    def test_json(self) -> None:
        """Objects name the leader where it is known."""
        consumer: Any = FakeConsumer()
        rows = Rows(consumer, None)
        line = b'{"topic":"a","partition":0,"offset":5,"tstype":"create","ts":5,"broker":7,'
        line += b'"key":"k","payload":"v"}\n'
        self.assertEqual(rows.render({A0: records(A0, 5, b"v")}), line)
        self.assertIn(b'"broker":-1', rows.render({B1: records(B1, 5, b"v")}))
