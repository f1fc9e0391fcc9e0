"""Denials are logged once a minute for each kind, and not without end."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.authorization.denials import INTERVAL_S, MOST_KINDS, Denials

READ, TOPIC = AclOperation.READ, ResourceType.TOPIC


class DenialsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Record the log."""
        self.clock = Clock()
        self.clock.advance(1000)
        self.denials = Denials(self.clock, 5)
        self.lines: list[str] = []

        @implementer(ILogObserver)
        def observer(event: LogEvent) -> None:
            self.lines.append(formatEvent(event))

        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)

    def deny(self, name: str = "t", operation: AclOperation = READ) -> None:
        """Note a denial."""
        self.denials.note("User:a", "192.0.2.1", operation, TOPIC, name)

    def test_once(self) -> None:
        """The same denial is one line a minute."""
        for _ in range(100):
            self.deny()
        self.assertEqual(self.lines, ["denied: 'User:a' from 192.0.2.1 may not read topic 't'"])
        self.clock.advance(INTERVAL_S)
        self.deny()
        self.assertEqual(len(self.lines), 2)

    def test_limited(self) -> None:
        """Many kinds of denials are few lines, and their number; what is remembered of them is bounded."""
        for number in range(3 * MOST_KINDS):
            self.deny(f"t{number}")
        self.assertEqual(len(self.lines), 5)
        self.assertLessEqual(len(self.denials._until_s), MOST_KINDS)
        self.clock.advance(INTERVAL_S)
        self.assertIn("2995 more lines", self.lines[-1])

    def test_escaped(self) -> None:
        """A name cannot forge a line."""
        self.deny("t\nroot may do everything")
        self.assertNotIn("\n", self.lines[0])

    def test_brokers(self) -> None:
        """A denial of what brokers do says what to do if it was a broker."""
        self.denials.note("User:x", "h", AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, "kafka-cluster")
        self.assertIn("super.users", self.lines[0])

    def test_listeners(self) -> None:
        """Listeners are told of what is logged."""
        heard: list[tuple[object, ...]] = []
        self.denials.listeners.append(lambda *denial: heard.append(denial))
        self.deny()
        self.deny()
        self.assertEqual(heard, [("User:a", "192.0.2.1", READ, TOPIC, "t")])
