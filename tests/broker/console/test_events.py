"""The event streams of pages."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from kafkatx.broker.console.application import ConsoleApplication
from kafkatx.broker.console.errors import ConsoleError
from kafkatx.broker.console.events import EventFeed
from kafkatx.broker.console.route import Route
from kafkatx.net.requests import Session
from kafkatx.web.calls import Answer, Call
from tests.broker.console.case import ConsoleCase
from tests.web.test_event_stream import events
from tests.web.test_pieces import FakeResponse


class EventsTests(ConsoleCase):
    def setUp(self) -> None:
        """Make a feed over two routes, which count how often they are asked."""
        super().setUp()
        self.number, self.asked = 1, 0
        routes = [
            Route("GET", "/overview", self.overview, ""),
            Route("GET", "/topics/{name}", self.topic, ""),
        ]
        self.looks = 0
        self.feed = EventFeed(self.console.parts.streams, self.clock, routes, self.look)

    def overview(self, call: Call) -> object:
        """Return a number."""
        self.asked += 1
        return {"number": self.number}

    async def topic(self, call: Call, name: str) -> object:
        """Return the name, and the principal that asks."""
        if name == "secret":
            raise ConsoleError(403, "TOPIC_AUTHORIZATION_FAILED", "no")
        if name == "broken":
            raise ValueError("broken")
        return [name, call.path, call.session.principal]

    def follow(self, topics: str, principal: str = "User:ann") -> FakeResponse:
        """Open a stream, and begin to read it."""
        call = Call("GET", "/", ("events",), {"topics": [topics]}, session=Session(principal))
        answer: Answer = self.feed.follow(call)
        assert answer.stream is not None
        response = FakeResponse()
        answer.stream.start(response)
        self.stream = answer.stream
        return response

    def sent(self, response: FakeResponse) -> list[Any]:
        """Return the data of the events that a client has got since the last time."""
        data = b"".join(one for one in response.done if isinstance(one, bytes))
        response.done.clear()
        return [value for name, value in events(data) if name == "update"]

    def look(self) -> None:
        """Count the looks."""
        self.looks += 1

    def test_changes(self) -> None:
        """A stream gets each topic at once, and then what changes, once a second."""
        response = self.follow("overview,topic:a:b")
        self.clock.advance(0)
        expected = {
            "overview": {"number": 1},
            "topic:a:b": ["a:b", ["console", "api", "v1", "topics", "a:b"], "User:ann"],
        }
        self.assertEqual(self.sent(response), [expected])
        self.clock.advance(1)
        self.assertEqual(self.sent(response), [])
        self.number = 2
        self.clock.advance(1)
        self.assertEqual(self.sent(response), [{"overview": {"number": 2}}])

    def test_look(self) -> None:
        """A request of the API is a look at the console; a stream is one each second while it lasts."""
        self.patch(self.broker.samples, "look", lambda now_s: self.look())
        self.get("/session")
        self.assertEqual(self.looks, 1)
        response = self.follow("overview")
        self.clock.pump([1] * 3)
        self.assertEqual(self.looks, 4)
        response.producer.stopProducing()  # type: ignore[attr-defined]
        self.clock.pump([1] * 3)
        self.assertEqual(self.looks, 4)

    def test_shared(self) -> None:
        """A topic that many pages of a user follow is found out once; each user has answers of their own."""
        responses = [self.follow("overview,topic:t") for _ in range(5)]
        other = self.follow("topic:t", "User:bob")
        self.clock.advance(0)
        self.asked = 0
        self.number = 2
        self.clock.advance(1)
        self.assertEqual(self.asked, 1)
        for response in responses:
            self.assertEqual(self.sent(response)[-1]["overview"], {"number": 2})
        (found,) = self.sent(other)
        self.assertEqual(found["topic:t"][2], "User:bob")

    def test_slow(self) -> None:
        """A slow page costs nothing more, and gets the newest state when it is ready."""
        response = self.follow("overview")
        self.clock.advance(1)
        self.sent(response)
        response.producer.pauseProducing()  # type: ignore[attr-defined]
        self.asked = 0
        for self.number in range(10, 15):
            self.clock.advance(1)
        self.assertEqual((self.asked, self.sent(response)), (0, []))
        response.producer.resumeProducing()  # type: ignore[attr-defined]
        self.clock.advance(1)
        self.assertEqual(self.sent(response), [{"overview": {"number": 14}}])

    def test_errors(self) -> None:
        """A topic that the user may not see is an error in its place, and so is one that fails."""
        response = self.follow("topic:secret,topic:broken,overview")
        self.clock.advance(0)
        self.clock.advance(1)
        (found,) = self.sent(response)
        self.assertEqual(found["topic:secret"]["error"]["code"], "TOPIC_AUTHORIZATION_FAILED")
        self.assertEqual(found["topic:broken"]["error"]["code"], "UNKNOWN_SERVER_ERROR")
        self.assertEqual(found["overview"], {"number": 1})
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 2)

    def test_names(self) -> None:
        """Topics that there are not are refused, and too many."""
        for topics in (
            "nothing",
            "topic",
            "overview:x",
            "brokers",
            ",".join(f"topic:{n}" for n in range(21)),
        ):
            with self.assertRaises(ConsoleError, msg=topics):
                self.follow(topics)
        self.assertEqual(len(self.console.parts.streams), 0)

    def test_ends(self) -> None:
        """Nothing is done when no page is open any more."""
        self.follow("overview")
        self.clock.advance(1)
        self.stream.gone()
        self.asked = 0
        self.clock.advance(5)
        self.assertEqual(self.asked, 0)
        self.assertEqual(self.clock.getDelayedCalls(), self.still_waiting())
        self.follow("overview")
        self.clock.advance(1)
        self.assertEqual(self.asked, 2)

    def still_waiting(self) -> list[Any]:
        """Return the delayed calls of the broker itself."""
        return [call for call in self.clock.getDelayedCalls() if "console" not in repr(call.func)]

    def test_many(self) -> None:
        """A thousand streams at once: the number is bounded, and the rest is told to come later."""
        with patch.object(self.console.parts.streams, "most", 100):
            found = [
                self.request("GET", "/console/api/v1/events?topics=overview").status for _ in range(1000)
            ]
        self.assertEqual((found.count(200), found.count(503)), (100, 900))
        self.console.stop()
        self.assertEqual(len(self.console.parts.streams), 0)
        self.assertEqual(self.request("GET", "/console/api/v1/events?topics=overview").status, 503)

    def test_application(self) -> None:
        """The API has the streams."""
        self.assertIsInstance(self.application, ConsoleApplication)
        answer = self.request("GET", "/console/api/v1/events")
        self.assertEqual(answer.content_type, "text/event-stream")
        self.assertEqual(answer.headers["X-Accel-Buffering"], "no")
