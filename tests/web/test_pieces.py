"""Long answers in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.web.pieces import json_list, send_pieces


class FakeResponse:
    """A response that notes what is done with it."""

    def __init__(self) -> None:
        self.done: list[object] = []

    def write(self, data: bytes) -> None:
        """Note it."""
        self.done.append(data)

    def finish(self) -> None:
        """Note it."""
        self.done.append("finish")

    def loseConnection(self) -> None:
        """Note it."""
        self.done.append("lose")

    def abort(self) -> None:
        """Note it."""
        self.done.append("abort")

    def registerProducer(self, producer: object, streaming: bool) -> None:
        """Keep the producer."""
        self.producer = producer

    def unregisterProducer(self) -> None:
        """Do nothing."""


class PiecesTests(SynchronousTestCase):
    def test_lists(self) -> None:
        """Pieces of a list are one list of JSON, whatever its length."""
        for length in (0, 1, 2, 3, 4, 5):
            pieces = list(json_list(range(length), 2))
            self.assertEqual(json.loads(b"".join(pieces)), list(range(length)))

    def test_broken(self) -> None:
        """An answer that cannot be made to its end closes the connection: no client takes it for all."""

        def broken() -> Iterator[bytes]:
            yield b"a"
            raise ValueError("broken")

        response, clock = FakeResponse(), Clock()
        send_pieces(response, broken(), clock)
        clock.pump([0] * 5)
        self.assertEqual(response.done, [b"a", "lose"])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_gone(self) -> None:
        """Nothing is made for a client that has gone."""
        response, clock = FakeResponse(), Clock()
        send_pieces(response, iter([b"a", b"b"]), clock)
        response.producer.stopProducing()  # type: ignore[attr-defined]
        clock.pump([0] * 5)
        self.assertEqual(response.done, [])
        self.assertEqual(clock.getDelayedCalls(), [])
