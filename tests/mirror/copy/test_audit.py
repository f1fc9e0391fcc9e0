"""Tests of kafkatx.mirror.copy.audit."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.mirror.copy.audit import MirrorAudits
from kafkatx.mirror.core.provenance import StreamId
from kafkatx.mirror.settings import MirrorSettings
from tests.blocking.fakes import Log
from tests.client.producing import ProducerTestCase
from tests.mirror.copy.test_stream import record


class FakeStream:
    """A stream, as the audit sees it."""

    def __init__(self, target: str) -> None:
        self.id = StreamId("C", "t", 1, target)
        self.topic_id = "id"


class MirrorAuditsTests(ProducerTestCase):
    def audits(self, **settings: str) -> MirrorAudits:
        """Return the audits of a mirror from dc1 to dc2, started."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        base = {
            "sources": "dc1",
            "target.alias": "dc2",
            "source.dc1.bootstrap.servers": "h:1",
            "target.bootstrap.servers": "h:2",
        }
        made = MirrorAudits(MirrorSettings.load({**base, **named}))
        self.metadata.topics["kafkatx-audit"] = [Log()]
        if made.topic:
            made.start(["dc1"], self.producer())
        return made

    def events(self) -> list[tuple[str, str, int, int, int]]:
        """Return place, topic, start, end and number of records of each announcement."""
        found = [RangeAnnouncement.decode(one.value) for one in self.records("kafkatx-audit")]
        return [
            (one.place, one.topic, one.start, one.end, sum(count for _, count in one.windows))
            for one in found
        ]

    def count(self, audits: MirrorAudits, target: str) -> None:
        """Count three records among four offsets."""
        stream: Any = FakeStream(target)
        audits.count("dc1", stream, 5, 9, [record(offset) for offset in (5, 6, 8)])

    def test_copy(self) -> None:
        """A copy with another name is announced under both names, every interval."""
        audits = self.audits(audit_interval_ms="10000")
        self.count(audits, "dc1.t")
        self.network.pump(10.1)
        self.assertEqual(sorted(self.events()), [("dc1-dc2", "dc1.t", 5, 9, 3), ("dc1-dc2", "t", 5, 9, 3)])
        self.result(Deferred.fromCoroutine(audits.close()))

    def test_same_name(self) -> None:
        """A copy with the same name is announced once; the rest at the end."""
        audits = self.audits(audit_interval_ms="10000")
        self.count(audits, "t")
        self.result(Deferred.fromCoroutine(audits.close()))
        self.assertEqual(self.events(), [("dc1-dc2", "t", 5, 9, 3)])

    def test_off(self) -> None:
        """Without the setting nothing is counted."""
        audits = self.audits()
        self.count(audits, "t")
        self.result(Deferred.fromCoroutine(audits.close()))
        self.assertEqual((audits.topic, self.events()), ("", []))
