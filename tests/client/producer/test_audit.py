"""Tests of kafkatx.client.producer.audit, with producers."""

from __future__ import annotations

import platform
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.clientcore.producer.values import ProducerData
from kafkatx.errors import ErrorCode, SettingError
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import LOSE_REPLY, Log
from tests.client.producing import ProducerTestCase


class AuditorTests(ProducerTestCase):
    def setUp(self) -> None:
        """Create the audit topic."""
        super().setUp()
        self.metadata.topics["audit"] = [Log()]

    def audited(self, **settings: Any) -> Producer:
        """Return a producer that announces every ten seconds."""
        return self.producer(audit_interval_ms=10_000, audit_topic="audit", client_id="shop", **settings)

    def events(self) -> list[Announcement]:
        """Return the events in the audit topic."""
        records = self.records("audit")
        events = [Announcement.decode(record.value) for record in records]
        self.assertEqual([record.key for record in records], [event.topic.encode() for event in events])
        return events

    def counts(self) -> list[tuple[str, int, int]]:
        """Return topics, windows and counts."""
        return [(event.topic, event.window_start_ms, event.count) for event in self.events()]

    def test_off(self) -> None:
        """Nothing is announced unless it is asked for."""
        producer = self.producer()
        self.result(producer.send("one", b"v"))
        self.network.pump(60)
        self.result(producer.close())
        self.assertEqual(self.events(), [])

    def test_every_interval(self) -> None:
        """Counts are announced once, by time, even if nothing more is sent."""
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

    def test_server(self) -> None:
        """Announcements carry the host's name, or the server name of the settings."""
        for name, told in (("", platform.node()), ("web-1", "web-1")):
            producer = self.audited(audit_server=name)
            self.result(producer.send("one", b"a", timestamp_ms=1))
            self.result(producer.close(), 5)
            self.assertEqual(self.events()[-1].server, told)

    def test_close(self) -> None:
        """The last records are delivered, counted and announced before the producer is closed."""
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
        """A batch whose reply was lost is counted once, and a refused one not at all."""
        producer = self.audited()
        self.faults.append(LOSE_REPLY)
        self.result(producer.send_batch("one", [b"a", b"b"], timestamp_ms=1), 1)
        self.faults.append(ErrorCode.INVALID_RECORD)
        self.error(producer.send("one", b"c", timestamp_ms=1))
        self.result(producer.close(), 5)
        self.assertEqual(self.counts(), [("one", 0, 2)])

    def test_no_answers(self) -> None:
        """Records that are sent with acks=0 are counted."""
        producer = self.audited(acks=0)
        producer.send("one", b"v", timestamp_ms=1)
        self.network.pump(11)
        self.assertEqual(self.counts(), [("one", 0, 1)])

    def test_audit_topic_fails(self) -> None:
        """A failed announcement is repeated with the next one, and the application does not notice."""
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
        """A missing audit topic delays only the announcement."""
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
        """A batch that has expired and turns out to be in the log is counted.

        The caller got the error before, and gets no second result.
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


class StampTests(ProducerTestCase):
    """``audit.server.header``."""

    def stamps(self, *parts: tuple[str, int]) -> list[tuple[bytes | None, Any]]:
        """Values and headers of all records."""
        return [(record.value, tuple(record.headers)) for part in parts for record in self.records(*part)]

    def test_off(self) -> None:
        """Without the setting records have no header, and go into the open batch of their topic."""
        producer = self.producer(linger_ms=5)
        self.assertTrue(producer._intake.plain)
        for value in (b"a", b"b"):
            producer.send("one", value)
        self.result(producer.flush(), 1)
        self.assertEqual(self.stamps(("one", 0)), [(b"a", ()), (b"b", ())])

    def test_every_way(self) -> None:
        """Each way to send a record adds the header, also to a batch that is open already."""
        producer = self.producer(audit_server_header="server", audit_server="web-1", linger_ms=5)
        stamp = (("server", b"web-1"),)
        self.result(producer.send("one", b"0"), 1)
        for value in (b"a", b"b", b"c"):
            producer.send("one", value)
        producer.produce("one", b"d")
        producer.produce("one", b"e", key=b"k")
        producer.send_batch("one", [b"f", b"g"])
        producer.send_batch("one", [b"h", b"i"], key=b"k")
        producer.send_all([ProducerData("one", [b"j"])])
        producer.send("one", None, key=b"k")
        self.result(producer.flush(), 1)
        values = [b"0", b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j", None]
        self.assertEqual(self.stamps(("one", 0)), [(value, stamp) for value in values])

    def test_headers_of_ones_own(self) -> None:
        """The application's headers come first, and one of this name stays as it is."""
        producer = self.producer(audit_server_header="server", audit_server="web-1")
        for headers in ([("a", b"1")], [("server", b"mine"), ("a", None)]):
            self.result(producer.send("one", b"v", headers=headers))
        expected = [(("a", b"1"), ("server", b"web-1")), (("server", b"mine"), ("a", None))]
        self.assertEqual([headers for _, headers in self.stamps(("one", 0))], expected)

    def test_the_hosts_name(self) -> None:
        """Without a name of its own the server has the host's."""
        producer = self.producer(audit_server_header="server")
        self.result(producer.send("one", b"v"))
        self.assertEqual(self.stamps(("one", 0)), [(b"v", (("server", platform.node().encode()),))])

    def test_size(self) -> None:
        """A record that is too large with the header is refused before it is sent."""
        settings: dict[str, Any] = {"max_request_size": 2000, "batch_size": 2000, "audit_server": "s" * 200}
        self.result(self.producer(**settings).send("one", b"v" * 1800))
        error = self.error(self.producer(audit_server_header="h", **settings).send("one", b"v" * 1800))
        self.assertIs(error.code, ErrorCode.MESSAGE_TOO_LARGE)

    def test_no_text(self) -> None:
        """A name without an encoding is refused when the producer is made."""
        settings = {"bootstrap_servers": "broker1:9092", "audit_server_header": "h", "audit_server": "\ud800"}
        self.assertRaises(SettingError, Producer, settings, reactor=self.network.clock)
