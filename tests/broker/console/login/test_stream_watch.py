"""Streams end when their users are logged in no more."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.login.stream_watch import StreamWatch
from kafkatx.web.calls import Answer, Call
from kafkatx.web.event_stream import EventStream, EventStreams


class StreamWatchTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a watch."""
        self.clock = Clock()
        self.logged_in = {"ann", "ben"}
        self.streams = EventStreams(self.clock, 5, "console.max.streams")
        self.watch = StreamWatch(self.clock, self.is_logged_in)

    async def is_logged_in(self, call: Call) -> bool:
        """Tell if the user of a call is logged in."""
        return call.client in self.logged_in

    def open(self, user: str) -> EventStream:
        """Open a stream of a user."""
        stream = self.streams.open()
        self.watch.add(Call("GET", "/", (), {}, client=user), stream.answer())
        return stream

    def test_end(self) -> None:
        """The streams of a user end within a second of the end of the login; those of others go on."""
        ann, ben = [self.open("ann") for _ in range(2)], self.open("ben")
        self.clock.advance(1)
        self.assertFalse(ann[0].ended)
        self.logged_in.remove("ann")
        self.clock.advance(1)
        self.assertEqual([stream.ended for stream in (*ann, ben)], [True, True, False])
        ben.gone()
        self.clock.advance(1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_other_answers(self) -> None:
        """An answer without a stream is not watched."""
        answer = Answer(200)
        self.assertIs(self.watch.add(Call("GET", "/", (), {}), answer), answer)
        self.assertEqual(self.clock.getDelayedCalls(), [])
