"""Tests of kafkatx.cli.output.records."""

from __future__ import annotations

from functools import partial
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.messages.consume import renderer
from kafkatx.cli.output.records import Rows
from kafkatx.cli.output.renderer import Renderer
from kafkatx.clientcore.consumer.record import Record
from tests.cli.fake_consumer import A0, B1, FakeConsumer, records


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

    def test_wrapped(self) -> None:
        """Each topic's renderer is wrapped once, the one of JSON, too."""
        consumer: Any = FakeConsumer()
        wrapped = []

        def wrap(rows: Renderer, topic: str) -> Renderer:
            wrapped.append(topic)
            return rows

        rows = Rows(consumer, None, wrap)
        for place in (A0, A0, B1):
            rows.render({place: records(place, 5, b"v")})
        self.assertEqual(wrapped, ["a", "b"])
