"""Tests of kafkatx.blocking.producer.audit, with writers."""

from __future__ import annotations

import logging
import platform
from itertools import count
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.producer.audit import Announcer, announcer
from kafkatx.blocking.producer.writer import Writer
from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.clientcore.audit.server_header import make_stamp
from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import ErrorCode
from kafkatx.records.conversion import iter_any
from kafkatx.wire.messages.init_producer_id import InitProducerIdResponse
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.produce import ProduceRequest
from tests.blocking.fakes import LOSE_REPLY, FakeCluster, Log

LOGGER = logging.getLogger("kafkatx.blocking.producer.audit")


class AnnouncerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A topic with one partition, a time that only the test moves, and an id for each writer."""
        ids = count(7)
        self.patch(
            FakeCluster,
            "answer_init_producer_id",
            lambda *_: InitProducerIdResponse(producer_id=next(ids), producer_epoch=0),
        )
        self.fake = FakeCluster({"t": [Log()], "audit": [Log()]})
        self.now_s = 100.0

    def writer(self, topic: str = "t", **options: Any) -> Writer:
        """A writer whose counts are announced every ten seconds."""
        cluster = self.fake.client()
        cluster.clock = lambda: self.fake.now + self.now_s
        auditor = Announcer(cluster, "shop", 10_000, "audit", clock=lambda: self.now_s)
        return Writer(cluster, topic, auditor=auditor, clock=lambda: self.now_s, **options)

    def events(self) -> list[Announcement]:
        """Return the events in the audit topic."""
        records = [record for data in self.fake.topics["audit"][0].batches for record in iter_any(data)]
        events = [Announcement.decode(record.value) for record in records]
        self.assertEqual([record.key for record in records], [event.topic.encode() for event in events])
        return events

    def test_at_the_end(self) -> None:
        """Written records are announced when the writer is closed, by name, topic and window."""
        with self.writer() as writer:
            for number in range(5):
                writer.send(b"v", timestamp_ms=8000 + 1000 * number)
            self.assertEqual(self.events(), [])
        events = self.events()
        self.assertEqual(
            [(e.topic, e.window_start_ms, e.count) for e in events], [("t", 0, 2), ("t", 10_000, 3)]
        )
        self.assertEqual({(e.window_ms, e.sent_ms) for e in events}, {(10_000, 100_000)})
        self.assertEqual(len({e.producer for e in events}), 1)
        self.assertTrue(events[0].producer.startswith("shop-"))

    def test_server(self) -> None:
        """Announcements name the server, and so does each record's header where a stamp is given."""
        with self.writer(stamp=make_stamp("server", "web-1")) as writer:
            writer.send_values([b"a", b"b"])
            writer.send(b"c", b"k", headers=[("x", b"1")])
        records = [record for data in self.fake.topics["t"][0].batches for record in iter_any(data)]
        stamp = ("server", b"web-1")
        self.assertEqual([list(r.headers) for r in records], [[stamp], [stamp], [("x", b"1"), stamp]])
        self.assertEqual({event.server for event in self.events()}, {platform.node()})

    def test_every_interval(self) -> None:
        """While the writer writes, counts are announced when the interval is over."""
        with self.writer() as writer:
            writer.send_values([b"a", b"b"])
            writer.flush()
            self.now_s += 10
            writer.send_values([b"c"])
            writer.flush()
            self.assertEqual([e.count for e in self.events()], [2, 1])
            writer.send_values([b"d"])
            writer.flush()
            self.assertEqual(len(self.events()), 2)
        self.assertEqual([e.count for e in self.events()], [2, 1, 1])

    def test_retries_count_once(self) -> None:
        """A batch whose reply was lost is counted once."""
        self.fake.faults[ProduceRequest].append(LOSE_REPLY)
        with self.writer() as writer:
            writer.send_values([b"a", b"b"])
        self.assertEqual([e.count for e in self.events()], [2])

    def test_refused(self) -> None:
        """Rejected records are not counted; earlier ones are announced although the writer failed."""

        def write() -> None:
            with self.writer() as writer:
                writer.send_values([b"a", b"b"])
                writer.flush()
                self.fake.faults[ProduceRequest].append(ErrorCode.INVALID_RECORD)
                writer.send_values([b"c"])
                writer.flush()

        self.assertRaises(ProduceFailed, write)
        self.assertEqual([e.count for e in self.events()], [2])

    def test_no_answers(self) -> None:
        """With acks=0 what was sent is counted."""
        with self.writer(acks=0) as writer:
            writer.send_values([b"a", b"b"])
        self.assertEqual([e.count for e in self.events()], [2])

    def test_audit_topic_fails(self) -> None:
        """A topic that cannot be written to costs a warning; the counts go out with the next."""
        writer = self.writer()
        writer.send_values([b"a", b"b"])
        writer.flush()
        self.now_s += 10
        self.fake.faults[MetadataRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        with self.assertLogs(LOGGER, "WARNING") as logs:
            writer.send_values([b"c"])
            writer.flush()
        self.assertIn("could not be sent to audit", logs.output[0])
        self.assertEqual(self.events(), [])
        writer.close()
        self.assertEqual([(e.sequence, e.count) for e in self.events()], [(0, 2), (1, 1)])

    def test_append_time(self) -> None:
        """In a topic with the broker's times these count."""
        answer = FakeCluster.answer_produce

        def append_time(fake: FakeCluster, *arguments: Any) -> Any:
            response = answer(fake, *arguments)
            response.responses[0].partition_responses[0].log_append_time_ms = 55_555
            return response

        self.patch(FakeCluster, "answer_produce", append_time)
        with self.writer() as writer:
            writer.send_values([b"a", b"b"], timestamp_ms=7)
        self.assertEqual([(e.window_start_ms, e.count) for e in self.events()], [(50_000, 2)])

    def test_settings(self) -> None:
        """The settings of a producer say whether and where."""
        cluster = self.fake.client()
        self.assertIsNone(announcer(cluster, ClientSettings.load("producer")))
        chosen = {"audit.interval.ms": 500, "audit.topic": "audit", "client.id": "me"}
        with Writer(
            cluster, "t", auditor=announcer(cluster, ClientSettings.load("producer", chosen))
        ) as writer:
            writer.send(b"v", timestamp_ms=700)
        event = self.events()[0]
        self.assertEqual((event.window_start_ms, event.window_ms, event.producer[:3]), (500, 500, "me-"))
