"""Tests of the start of a client, with a client that the test answers for."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kazoo.exceptions import AuthFailedError, ConnectionLoss
from kazoo.protocol.states import KeeperState
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import ConnectionLost, NotAuthenticated, SessionExpired
from kafkatx.metadata.tree.zookeeper import start as module
from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings
from kafkatx.metadata.tree.zookeeper.start import ClientStart, KazooLog


class FakeClient:
    """A client whose server answers as the test says."""

    def __init__(self) -> None:
        self.connected = False
        self.client_state = KeeperState.CONNECTING
        self.answers: list[object] = []

    def add_listener(self, listener: Callable[[str], None]) -> None:
        """Take a listener."""
        self.listener = listener

    def start_async(self) -> None:
        """Connect."""

    def exists(self, path: str) -> object:
        """Give the next answer."""
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class FakeTime:
    """A clock that goes on while the start waits."""

    now_s = 0.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now_s


class ClientStartTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a start whose waits take no time."""
        self.time = FakeTime()
        self.client = FakeClient()
        self.kazoo_log = KazooLog()

        def make_client(settings: object, connect: object, negotiated: object, log: KazooLog) -> FakeClient:
            self.kazoo_log = log
            return self.client

        self.patch(module, "time", self.time)
        self.patch(module, "make_client", make_client)
        settings = ZooKeeperSettings("a:1,b:2/x", 18.0, 25.0)
        self.start = ClientStart(settings, settings.connect, lambda timeout_s: None)
        self.on_wait: Callable[[], None] = lambda: None
        self.patch(self.start, "wake", self)

    def wait(self, timeout_s: float) -> None:
        """Advance the clock."""
        self.time.now_s += timeout_s
        self.on_wait()

    def set(self) -> None:
        """Be an event."""

    def clear(self) -> None:
        """Be an event."""

    def test_answered(self) -> None:
        """The start returns True or False as there is a node; lost connections are tried again."""
        self.client.connected = True
        for there in (True, False):
            self.client.answers = [ConnectionLoss(), object() if there else None]
            self.assertIs(self.start.run(), there)

    def test_no_server(self) -> None:
        """Every ten seconds a line tells what is waited for; then the error tells it, and what to do."""
        self.kazoo_log.warning("Connection dropped: %s", "b:2: refused")
        with capturedLogs() as events:
            error = self.assertRaises(ConnectionLost, self.start.run)
        self.assertEqual(
            [formatEvent(event) for event in events if event["log_level"] is LogLevel.warn],
            [
                "no ZooKeeper server of a:1,b:2 has answered for 10 s (Connection dropped: b:2: refused); "
                "waiting for 15 s more",
                "no ZooKeeper server of a:1,b:2 has answered for 20 s (Connection dropped: b:2: refused); "
                "waiting for 5 s more",
            ],
        )
        self.assertEqual(
            str(error),
            "no ZooKeeper server of a:1,b:2 has answered for 25 s (Connection dropped: b:2: refused)",
        )
        self.assertEqual(self.time.now_s, 25.0)

    def test_refused_and_closed(self) -> None:
        """Wrong credentials are known also when the client has closed before anyone looks."""
        self.patch(self.start.wake, "set", lambda: None)
        self.client.client_state = KeeperState.AUTH_FAILED
        self.client.listener("LOST")
        self.client.client_state = KeeperState.CLOSED
        self.assertRaises(NotAuthenticated, self.start.run)

    def test_refused(self) -> None:
        """Wrong credentials end the start at once: while connecting, and at the first request."""
        self.client.client_state = KeeperState.AUTH_FAILED
        error = self.assertRaises(NotAuthenticated, self.start.run)
        self.assertIn("ZooKeeper a:1,b:2 refuses this program: its user name or password", str(error))
        self.client.client_state = KeeperState.CONNECTED
        self.client.connected = True
        self.client.answers = [AuthFailedError()]
        self.assertRaises(NotAuthenticated, self.start.run)
        self.assertEqual(self.time.now_s, 0.0)

    def test_stopped(self) -> None:
        """A stopped start fails: before it runs, and while it waits."""
        self.on_wait = self.start.stop
        self.assertRaises(SessionExpired, self.start.run)
        self.assertEqual(self.time.now_s, 10.0)
        self.assertRaises(SessionExpired, self.start.run)
        self.assertEqual(self.time.now_s, 10.0)


class KazooLogTests(SynchronousTestCase):
    def test_levels(self) -> None:
        """Warnings are of level debug here, failures are errors with their trace, the rest is dropped."""
        log = KazooLog()
        with capturedLogs() as events:
            log.info("connected")
            log.warning("dropped: %s", "x")
            try:
                raise ValueError("y")
            except ValueError:
                log.exception("broken")
        self.assertEqual([event["log_level"] for event in events], [LogLevel.debug, LogLevel.error])
        self.assertEqual((formatEvent(events[0]), log.last_warning), ("kazoo: dropped: x", "dropped: x"))
        self.assertIn("ValueError: y", formatEvent(events[1]))
        self.assertIsInstance(log, logging.Logger)
