"""Tests of kafkatx.cli.output.silence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Connection
from kafkatx.cli.output.silence import Watch, WatchedConnection


class WatchTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A watch whose thread does not run, and a clock."""
        self.clock = Clock()
        self.lines: list[str] = []
        self.watch = Watch(self.lines.append, self.clock.seconds)
        self.patch(threading.Thread, "start", lambda thread: None)

    def after(self, seconds: float) -> list[str]:
        """Return the lines so far, after some time."""
        self.clock.advance(seconds)
        self.watch.look()
        return self.lines

    def test_every_five_seconds(self) -> None:
        """A line comes after five seconds, and again every five."""
        with self.watch.waiting("no reply"):
            self.assertEqual(self.after(4.9), [])
            self.assertEqual(self.after(0.1), ["no reply for 5 s"])
            self.assertEqual(self.after(4.0), ["no reply for 5 s"])
            self.assertEqual(self.after(1.0)[1:], ["no reply for 10 s"])

    def test_over(self) -> None:
        """No line comes when the wait is over, by itself or by the end of the context."""
        with self.watch.waiting("no reply") as watch:
            watch.over()
            self.assertEqual(self.after(6), [])
        with self.watch.waiting("no reply"):
            pass
        self.assertEqual(self.after(6), [])

    def test_each_wait_from_its_start(self) -> None:
        """Two short waits do not add up."""
        for _ in range(2):
            with self.watch.waiting("no reply"):
                self.assertEqual(self.after(3), [])


class ConnectionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A connection, and the names of its waits."""
        self.watched: list[str] = []
        watch = Watch(lambda line: None)
        self.patch(Watch, "waiting", self.waiting)
        self.made = WatchedConnection("127.0.0.1", 1, watch=watch, timeout_s=1, connect_timeout_s=1)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Note a wait."""
        self.watched.append(what)
        yield

    def test_open(self) -> None:
        """Connecting is watched."""
        self.patch(Connection, "open", lambda connection: None)
        self.made.open()
        self.assertEqual(self.watched, ["no broker at 127.0.0.1:1"])

    def test_receive(self) -> None:
        """Waiting for a reply is watched."""
        self.patch(Connection, "receive", lambda connection, ticket: ticket)
        self.assertEqual(self.made.receive(3), 3)
        self.assertEqual(self.watched, ["no reply from the broker at 127.0.0.1:1"])
