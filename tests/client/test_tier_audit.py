"""Tests of kafkatx.client.tier_audit, with producers."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from kafkatx.client.tier_audit import TierAuditor
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from tests.blocking.fakes import Log
from tests.client.producing import ProducerTestCase


class TierAuditorTests(ProducerTestCase):
    def setUp(self) -> None:
        """A mirror that announces every ten seconds."""
        super().setUp()
        self.metadata.topics["audit"] = [Log()]
        self.target = self.producer()
        self.auditor = TierAuditor(
            self.target, place="dc1-dc2", interval_ms=10_000, server="host", topic="audit"
        )

    def events(self) -> list[tuple[str, str, int, int]]:
        """Return tier, place, start and end of what is announced."""
        found = [RangeAnnouncement.decode(record.value) for record in self.records("audit")]
        return [(event.tier, event.place, event.start, event.end) for event in found]

    def test_interval(self) -> None:
        """Copied ranges are announced every interval, each once, with the mirror's name."""
        self.auditor.start()
        self.auditor.count("one", "id", 0, 0, 5, [1, 2, 3])
        self.auditor.count("one", "id", 0, 5, 6, [4])
        self.network.pump(9.9)
        self.assertEqual(self.events(), [])
        self.network.pump(0.2)
        self.assertEqual(self.events(), [("mirror", "dc1-dc2", 0, 6)])
        self.network.pump(30)
        self.assertEqual(len(self.events()), 1)
        self.result(Deferred.fromCoroutine(self.auditor.close(1)))

    def test_close(self) -> None:
        """The rest is announced at the end, and the producer stays open."""
        self.auditor.start()
        self.auditor.count("one", "id", 0, 0, 5, [1])
        self.result(Deferred.fromCoroutine(self.auditor.close(5)))
        self.assertEqual(self.events(), [("mirror", "dc1-dc2", 0, 5)])
        self.result(self.target.send("one", b"v"))

    def test_close_in_time(self) -> None:
        """Brokers that do not answer delay the end by no more than was asked for."""
        self.auditor.start()
        self.auditor.count("one", "id", 0, 0, 5, [1])
        self.metadata.topics.pop("audit")
        closing = Deferred.fromCoroutine(self.auditor.close(5))
        with capturedLogs() as log:
            self.network.pump(6)
            self.successResultOf(closing)
        self.assertIn("are lost", str([one["log_format"] for one in log]))
