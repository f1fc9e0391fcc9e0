"""Server-Sent Events."""

from __future__ import annotations

import json

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IPushProducer
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx.web.calls import Answer, Call, WebError
from kafkatx.web.event_stream import COMMENT_S, STALLED_S, EventStream, EventStreams
from tests.web.test_channel import ServerCase
from tests.web.test_pieces import FakeResponse


def events(data: bytes) -> list[tuple[str, object]]:
    """Return the events in the body of an answer, as a browser reads them."""
    found = []
    for block in data.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


class StreamCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make streams, and a response."""
        self.clock = Clock()
        self.streams = EventStreams(self.clock, 2, "console.max.streams", 100)
        self.response = FakeResponse()
        self.ends = 0

    def open(self) -> EventStream:
        """Open a stream."""
        stream = self.streams.open()

        def ended() -> None:
            self.ends += 1

        stream.on_end = ended
        return stream

    def started(self) -> EventStream:
        """Open a stream and send its answer."""
        stream = self.open()
        stream.start(self.response)
        self.response.done.clear()
        return stream

    def sent(self) -> list[tuple[str, object]]:
        """Return the events that the client has got."""
        return events(b"".join(data for data in self.response.done if isinstance(data, bytes)))

    def assert_over(self, stream: EventStream) -> None:
        """Check that nothing of a stream is left."""
        self.assertTrue(stream.ended)
        self.assertEqual((len(self.streams), self.ends, stream.waiting_bytes), (0, 1, 0))
        self.assertEqual(self.clock.getDelayedCalls(), [])


class SendTests(StreamCase):
    def test_events(self) -> None:
        """An event has its name and its data, whatever is in it: line breaks cannot end it."""
        stream = self.started()
        self.assertTrue(verifyObject(IPushProducer, stream))
        data = {"a": "\n\nevent: no\r\ndata: 1", "b": "\u2028\ud800é"}
        stream.send("update", data)
        self.assertEqual(self.sent(), [("update", {**data, "b": "\u2028?é"})])

    def test_early(self) -> None:
        """Events that are sent before the answer come after its start."""
        stream = self.open()
        stream.send("update", 1)
        stream.start(self.response)
        self.assertEqual(self.response.done[0], b":\n\n")
        self.assertEqual(self.sent(), [("update", 1)])

    def test_comments(self) -> None:
        """A comment comes each 15 seconds."""
        self.started()
        for _ in range(3):
            self.clock.advance(COMMENT_S)
        self.assertEqual(self.response.done, [b":\n\n"] * 3)

    def test_never_answered(self) -> None:
        """A stream whose answer is never sent does not stay open."""
        stream = self.open()
        self.clock.advance(COMMENT_S)
        self.assert_over(stream)
        stream.start(self.response)
        self.assertEqual(self.response.done, ["abort"])


class SlowReaderTests(StreamCase):
    def test_waiting(self) -> None:
        """Events wait for a slow client, in order; who waits for it is told when it has taken them."""
        stream = self.started()
        self.assertFalse(stream.is_behind)
        self.successResultOf(stream.drained())
        stream.pauseProducing()
        self.assertTrue(stream.is_behind)
        stream.send("a", 1)
        stream.send("b", 2)
        drained, given_up = stream.drained(), stream.drained()
        given_up.cancel()
        self.failureResultOf(given_up, CancelledError)
        self.assertEqual(self.sent(), [])
        self.assertGreater(stream.waiting_bytes, 0)
        self.assertNoResult(drained)
        stream.resumeProducing()
        self.successResultOf(drained)
        self.assertEqual(self.sent(), [("a", 1), ("b", 2)])
        self.assertEqual(stream.waiting_bytes, 0)

    def test_paused_again(self) -> None:
        """Nothing more is sent to a client that is slow again after the first event."""
        stream = self.started()
        stream.pauseProducing()
        stream.send("a", 1)
        stream.send("b", 2)
        drained = stream.drained()
        write = self.response.write

        def pausing(data: bytes) -> None:
            write(data)
            stream.pauseProducing()

        self.response.write = pausing  # type: ignore[method-assign]
        stream.resumeProducing()
        self.assertEqual(self.sent(), [("a", 1)])
        self.assertNoResult(drained)

    def test_too_much(self) -> None:
        """A client for which more bytes wait than allowed is disconnected; one large event is allowed."""
        stream = self.started()
        stream.pauseProducing()
        stream.send("large", "x" * 1000)
        self.assertFalse(stream.ended)
        drained = stream.drained()
        stream.send("b", 2)
        self.assertEqual(self.response.done, ["abort"])
        self.assertTrue(stream.too_slow)
        self.successResultOf(drained)
        self.assert_over(stream)
        stream.send("c", 3)
        stream.resumeProducing()
        stream.drop()
        self.assertEqual((self.response.done, self.ends), (["abort"], 1))

    def test_stalled(self) -> None:
        """A client that takes nothing for a minute is disconnected, one that takes something is not."""
        stream = self.started()
        stream.pauseProducing()
        self.clock.pump([COMMENT_S] * 3)
        stream.resumeProducing()
        stream.pauseProducing()
        self.clock.pump([COMMENT_S] * 3)
        self.assertFalse(stream.ended)
        self.clock.pump([COMMENT_S] * round(STALLED_S / COMMENT_S - 3))
        self.assertEqual(self.response.done, ["abort"])
        self.assert_over(stream)


class EndTests(StreamCase):
    def test_end(self) -> None:
        """A stream that ends is finished when the client has taken everything, and takes nothing more."""
        stream = self.started()
        stream.pauseProducing()
        stream.send("a", 1)
        stream.end()
        stream.send("b", 2)
        self.assertEqual(self.response.done, [])
        stream.resumeProducing()
        self.assertEqual(self.response.done[-1], "finish")
        self.assertEqual(self.sent(), [("a", 1)])
        self.assert_over(stream)

    def test_end_before_start(self) -> None:
        """A stream that has ended before its answer is sent is a whole answer."""
        stream = self.open()
        stream.send("a", 1)
        stream.end()
        stream.start(self.response)
        self.assertEqual(self.sent(), [("a", 1)])
        self.assertEqual(self.response.done[-1], "finish")
        self.assert_over(stream)

    def test_gone(self) -> None:
        """A client that goes ends its stream, once, whether the server or the transport tells it first."""
        stream = self.started()
        drained = Deferred[None]()
        stream.pauseProducing()
        stream.drained().chainDeferred(drained)
        stream.stopProducing()
        stream.gone()
        self.successResultOf(drained)
        self.assert_over(stream)
        self.assertEqual(self.response.done, [])

    def test_most(self) -> None:
        """No more streams than the setting allows are open; the refusal names it."""
        first = self.started()
        self.streams.open()
        error = self.assertRaises(WebError, self.streams.open)
        self.assertEqual(error.status, 503)
        self.assertIn("console.max.streams", str(error))
        first.gone()
        self.streams.open()

    def test_shares(self) -> None:
        """A user with fewer streams takes the place of the newest of the one with most."""
        opened = [self.streams.open("ann") for _ in range(2)]
        ben = self.streams.open("ben")
        self.assertEqual([stream.ended for stream in (*opened, ben)], [False, True, False])
        self.assertRaises(WebError, self.streams.open, "ann")

    def test_stop(self) -> None:
        """A stop closes all streams, also those whose answer is not sent, and refuses new ones."""
        self.started()
        self.open()
        self.streams.stop()
        self.assertEqual((len(self.streams), self.ends), (0, 2))
        self.assertEqual(self.response.done, ["abort"])
        self.assertEqual(self.assertRaises(WebError, self.streams.open).status, 503)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class ServedTests(ServerCase):
    def setUp(self) -> None:
        """Mount an application whose answers are streams."""
        super().setUp()
        self.streams = EventStreams(self.clock, 5, "console.max.streams")
        self.opened: list[EventStream] = []
        self.waits: list[Deferred[None]] = []
        self.factory.site.mount(("events",), lambda: self.answer)
        self.factory.site.mount(("slow",), lambda: self.answer_later)

    def answer(self, call: Call) -> Answer:
        """Open a stream."""
        self.opened.append(self.streams.open())
        return self.opened[-1].answer({"X-More": "yes"})

    def answer_later(self, call: Call) -> Deferred[Answer]:
        """Open a stream, and answer when the test says so, even if the request was given up."""
        stream = self.streams.open()
        later: Deferred[Answer] = Deferred(lambda _: later.callback(stream.answer()))
        return later

    def test_served(self) -> None:
        """Events reach the client one by one, and the connection is free again after the end."""
        sent = self.send(b"GET /events HTTP/1.1\r\n\r\n")
        for header in (
            b"HTTP/1.1 200 OK",
            b"Content-Type: text/event-stream",
            b"X-Accel-Buffering: no",
            b"X-More: yes",
        ):
            self.assertIn(header + b"\r\n", sent)
        self.transport.clear()
        self.opened[0].send("update", {"a": 1})
        self.assertIn(b'event: update\ndata: {"a":1}\n\n', self.transport.value())
        self.clock.advance(100)
        self.assertFalse(self.transport.aborted or self.transport.disconnecting)
        self.opened[0].end()
        self.assertTrue(self.transport.value().endswith(b"0\r\n\r\n"))
        self.assertIn(b"GET echo ", self.send(b"GET /echo HTTP/1.1\r\n\r\n"))

    def test_slow(self) -> None:
        """A client whose connection takes nothing is waited for, and disconnected if it is too slow."""
        self.send(b"GET /events HTTP/1.1\r\n\r\n")
        producer = self.transport.producer
        assert producer is not None
        producer.pauseProducing()
        self.assertTrue(self.opened[0].is_behind)
        self.opened[0].send("large", "x" * 300_000)
        self.opened[0].send("more", "x")
        self.assertTrue(self.transport.aborted)
        self.assertEqual(len(self.streams), 0)

    def test_gone(self) -> None:
        """A stream ends with its connection."""
        self.send(b"GET /events HTTP/1.1\r\n\r\n")
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.assertTrue(self.opened[0].ended)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_given_up(self) -> None:
        """A client that goes before its answer leaves no stream open."""
        self.send(b"GET /slow HTTP/1.1\r\n\r\n")
        self.assertEqual(len(self.streams), 1)
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(len(self.streams), 0)

    def test_head(self) -> None:
        """HEAD gets the headers, and no stream."""
        sent = self.send(b"HEAD /events HTTP/1.1\r\n\r\n")
        self.assertIn(b"Content-Type: text/event-stream\r\n", sent)
        self.assertEqual(len(self.streams), 0)
