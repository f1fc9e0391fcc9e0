"""Tests of kafkatx.client.consumer.audit, with consumers of a broker in memory."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any, ClassVar

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.errors import SettingError
from kafkatx.wire.messages.produce import ProduceRequest
from tests.client.consumers import T0, ConsumerTestCase

SECOND = 1000


class ConsumerAuditorTests(ConsumerTestCase):
    settings: ClassVar[Mapping[str, str]] = {
        **ConsumerTestCase.settings,
        "log.message.timestamp.after.max.ms": str(1 << 62),  # announcements have the wall clock's time
    }

    def setUp(self) -> None:
        """Make three records of one window and two of another, and the audit topic."""
        super().setUp()
        self.make_topic("t", 1)
        self.make_topic("audit", 1)
        self.fill(b"a", b"b", b"c", timestamp_ms=5 * SECOND)
        self.fill(b"d", b"e", timestamp_ms=15 * SECOND)

    def audited(self, **settings: Any) -> Consumer:
        """Return a member of group g that announces every ten seconds."""
        chosen = {"audit_interval_ms": 10_000, "audit_topic": "audit", "client_id": "reader", **settings}
        return self.member("t", **chosen)

    def events(self) -> list[Announcement]:
        """Return the events in the audit topic."""
        return [Announcement.decode(value) for value in self.stored("audit")]

    def counts(self) -> list[tuple[str, int, int]]:
        """Return topics, windows and counts."""
        return [(event.topic, event.window_start_ms, event.count) for event in self.events()]

    def test_off(self) -> None:
        """Nothing is counted nor produced unless it is asked for."""
        consumer = self.member("t")
        self.values(consumer)
        self.network.run(30)
        self.wait(consumer.close(), 60)
        self.assertEqual(self.network.sent(ProduceRequest), [])
        self.assertEqual(self.stored("audit"), [])

    def test_needs_a_group(self) -> None:
        """Audit without a group is an error, since counts are compared by group."""
        error = self.assertRaises(SettingError, self.unstarted, audit_interval_ms=1000)
        self.assertIn("audit.interval.ms=1000 needs a group.id", str(error))

    def test_every_interval(self) -> None:
        """Processed records are announced by time, with each record's window, the group and the server."""
        consumer = self.audited(audit_server="web-1")
        self.assertEqual(len(self.values(consumer)), 5)
        self.network.run(10)
        self.assertEqual(self.counts(), [])
        self.wait(consumer.getmany())
        self.network.run(10)
        self.assertEqual(self.counts(), [("t", 0, 3), ("t", 10_000, 2)])
        event = self.events()[0]
        self.assertEqual((event.group, event.server, event.window_ms), ("g", "web-1", 10_000))
        self.assertTrue(event.producer.startswith("reader-"))
        self.network.run(30)
        self.assertEqual(len(self.events()), 2)

    def test_close(self) -> None:
        """The records delivered last are announced before the consumer is closed."""
        consumer = self.audited()
        self.values(consumer, 4)
        self.wait(consumer.close(), 5)
        self.assertEqual(self.counts(), [("t", 0, 3), ("t", 10_000, 1)])
        self.assertEqual(self.events()[0].server, platform.node())

    def test_process(self) -> None:
        """Records that a function has processed count, and the one that it failed with does not."""
        consumer = self.audited()

        def work(record: Any) -> None:
            if record.value == b"c":
                raise ValueError("c")

        processing = consumer.process(work)
        self.assertRaises(ValueError, self.wait, processing, 5)
        self.wait(consumer.close(), 5)
        self.assertEqual(self.counts(), [("t", 0, 2)])

    def test_read_again(self) -> None:
        """Records that are read again count again."""
        consumer = self.audited()
        self.values(consumer)
        self.wait(consumer.getmany())
        consumer.seek(T0, 0)
        self.values(consumer)
        self.wait(consumer.close(), 5)
        self.assertEqual(self.counts(), [("t", 0, 6), ("t", 10_000, 4)])

    def test_audit_topic_itself(self) -> None:
        """A consumer of the audit topic does not count its records."""
        consumer = self.audited()
        self.values(consumer)
        self.wait(consumer.close(), 5)
        reader = self.member("audit", audit_interval_ms=10_000, audit_topic="audit", group_id="h")
        self.assertEqual(len(self.values(reader)), 2)
        self.wait(reader.close(), 5)
        self.assertEqual(len(self.events()), 2)

    def test_no_audit_topic(self) -> None:
        """Records are delivered although nothing can be announced; closing takes at most ten seconds more."""
        consumer = self.audited(audit_topic="nowhere", allow_auto_create_topics=False)
        self.assertEqual(len(self.values(consumer)), 5)
        self.wait(consumer.close(), 11)
        self.assertEqual(self.stored("audit"), [])
