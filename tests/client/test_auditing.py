"""Tests of kafkatx.client.auditing, with producers."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.producer import Producer
from kafkatx.clientside.audit import Announcement
from kafkatx.clientside.errors import ProduceFailed
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import LOSE_REPLY, Log
from tests.client.producing import ProducerTestCase


class AuditorTests(ProducerTestCase):
    def setUp(self) -> None:
        """The audit topic is there."""
        super().setUp()
        self.metadata.topics["audit"] = [Log()]

    def audited(self, **settings: Any) -> Producer:
        """A producer that announces every ten seconds."""
        return self.producer(audit_interval_ms=10_000, audit_topic="audit", client_id="shop", **settings)

    def events(self) -> list[Announcement]:
        """What is in the audit topic."""
        records = self.records("audit")
        events = [Announcement.decode(record.value) for record in records]
        self.assertEqual([record.key for record in records], [event.topic.encode() for event in events])
        return events

    def counts(self) -> list[tuple[str, int, int]]:
        """Topics, windows and counts."""
        return [(event.topic, event.window_start_ms, event.count) for event in self.events()]

    def test_off(self) -> None:
        """Nothing is announced unless it is asked for."""
        producer = self.producer()
        self.result(producer.send("one", b"v"))
        self.network.pump(60)
        self.result(producer.close())
        self.assertEqual(self.events(), [])

    def test_every_interval(self) -> None:
        """Counts are announced by time, though nothing more is sent, and only once."""
        producer = self.audited()
        producer.send("one", b"a", timestamp_ms=9999)
        producer.send("one", b"b", timestamp_ms=10_000)
        producer.send_batch("t", [b"c", b"d", b"e"], partition=1, timestamp_ms=10_001)
        self.network.pump(9.9)
        self.assertEqual(self.counts(), [])
        self.network.pump(0.2)
        self.assertEqual(self.counts(), [("one", 0, 1), ("one", 10_000, 1), ("t", 10_000, 3)])
        self.assertTrue(self.events()[0].producer.startswith("shop-"))
        self.network.pump(30)
        self.assertEqual(len(self.counts()), 3)
        producer.send("one", b"f", timestamp_ms=5)
        self.network.pump(10)
        self.assertEqual(self.counts()[3:], [("one", 0, 1)])
        self.assertEqual([event.sequence for event in self.events()], [0, 1, 2, 3])

    def test_close(self) -> None:
        """What is sent last is delivered, counted and announced before the producer is closed."""
        producer = self.audited(linger_ms=1000)
        for number in range(3):
            producer.send("t", b"v", partition=number, timestamp_ms=1)
        self.result(producer.close(), 5)
        self.assertEqual(self.counts(), [("t", 0, 3)])

    def test_encoders(self) -> None:
        """The application's encoders do not see announcements."""

        def encode(value: bytes) -> bytes:
            return b"<" + value + b">"

        producer = self.audited(value_serializer=encode, key_serializer=encode)
        self.result(producer.send("one", b"v", timestamp_ms=1))
        self.result(producer.close(), 5)
        self.assertEqual(self.counts(), [("one", 0, 1)])
        self.assertEqual(self.records()[0].value, b"<v>")

    def test_retries_count_once(self) -> None:
        """A batch whose reply was lost is counted once, and one that is refused not at all."""
        producer = self.audited()
        self.faults.append(LOSE_REPLY)
        self.result(producer.send_batch("one", [b"a", b"b"], timestamp_ms=1), 1)
        self.faults.append(ErrorCode.INVALID_RECORD)
        self.error(producer.send("one", b"c", timestamp_ms=1))
        self.result(producer.close(), 5)
        self.assertEqual(self.counts(), [("one", 0, 2)])

    def test_no_answers(self) -> None:
        """With acks=0 what was sent is counted."""
        producer = self.audited(acks=0)
        producer.send("one", b"v", timestamp_ms=1)
        self.network.pump(11)
        self.assertEqual(self.counts(), [("one", 0, 1)])

    def test_audit_topic_fails(self) -> None:
        """What cannot be announced is announced with the next; the application does not notice."""
        producer = self.audited()
        self.result(producer.send("one", b"a", timestamp_ms=1))
        self.faults.append(ErrorCode.INVALID_RECORD)
        self.network.pump(10.1)
        self.assertEqual(self.counts(), [])
        self.result(producer.send("one", b"b", timestamp_ms=2))
        self.network.pump(10)
        self.assertEqual(self.counts(), [("one", 0, 1)])
        self.network.pump(10)
        self.assertEqual(self.counts(), [("one", 0, 1), ("one", 0, 1)])

    def test_no_audit_topic(self) -> None:
        """A topic that is not there delays nothing but the announcement."""
        del self.metadata.topics["audit"]
        self.metadata.auto_create = False
        producer = self.audited()
        self.result(producer.send("one", b"a", timestamp_ms=1))
        self.network.pump(10.1)
        self.result(producer.send("one", b"b", timestamp_ms=2))
        self.result(producer.close(timeout_s=3), 5)
        self.assertEqual(len(self.records()), 2)
        self.assertTrue(self.network.sent(MetadataRequest))

    def test_late_answer(self) -> None:
        """A batch that was given up and turns out to be in the log is counted: the log has it.

        Its sender was told before, and is not told again.
        """
        producer = self.audited(
            delivery_timeout_ms=3000,
            request_timeout_ms=2900,
            retry_backoff_ms=2000,
            retry_backoff_max_ms=2000,
        )
        reply: Deferred[None] = Deferred()
        self.faults.extend([ErrorCode.NOT_LEADER_OR_FOLLOWER, reply])
        self.assertIsInstance(self.error(producer.send("one", b"a", timestamp_ms=1), 3.1), ProduceFailed)
        self.assertEqual(len(self.records()), 1)
        reply.callback(None)
        self.network.pump()
        self.network.pump(10)
        self.assertEqual(self.counts(), [("one", 0, 1)])
