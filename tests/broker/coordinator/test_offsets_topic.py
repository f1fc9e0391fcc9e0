"""The topic ``__consumer_offsets``: the partition of a group, its creation, and its records."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.offsets_topic import OffsetsTopic, java_hash, partition_for
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Record
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.records.batch import parse_header
from kafkatx.records.conversion import iter_any
from tests.broker.running import BrokerTestCase, Held
from tests.broker.stored import in_memory

RECORDS = [Record(b"\0\2key", b"value"), Record(b"\0\2other", None)]


class HashTests(SynchronousTestCase):
    def test_java(self) -> None:
        """The hash equals Java's ``hashCode()``, even outside of ASCII and the BMP."""
        known = {"": 0, "a": 97, "hello": 99162322, "Hello World": -862545276, "é": 233, "😀": 1772899}
        self.assertEqual({text: java_hash(text) for text in known}, known)

    def test_partition(self) -> None:
        """A negative hash counts by its absolute value, and the minimum, which has none, as 0."""
        self.assertEqual(partition_for("hello", 50), 22)
        self.assertEqual(partition_for("Hello World", 50), 26)
        self.assertEqual(java_hash("polygenelubricants"), -(2**31))
        self.assertEqual(partition_for("polygenelubricants", 50), 0)


class TopicTestCase(BrokerTestCase):
    """A test case with ``self.topic`` and the records of a group's partition."""

    @property
    def topic(self) -> OffsetsTopic:
        """The offsets topic of the running broker."""
        return self.broker.groups.topic

    def make(self) -> None:
        """Make the topic."""
        self.successResultOf(self.topic.ensure())

    def read(self, group_id: str = "g") -> list[tuple[bytes | None, bytes | None]]:
        """Return the keys and values of the group's partition."""
        log = self.topic.find(group_id).log
        data = in_memory(log.read(0, 1 << 30, log.log_end_offset, True))
        return [(record.key, record.value) for record in iter_any(data)]

    def assertRefused(self, code: ErrorCode, group_id: str = "g", records: Any = RECORDS) -> None:
        """Assert that appending raises *code*."""
        error = self.assertRaises(RequestError, self.topic.append, group_id, records)
        self.assertEqual(error.code, code)


class MakingTests(TopicTestCase):
    def test_made_when_needed(self) -> None:
        """The topic is created on demand: compacted, with the set partitions, one replica for one broker."""
        self.assertFalse(self.topic.exists)
        self.make()
        self.assertTrue(self.topic.exists)
        made = self.broker.metadata.state.topics[CONSUMER_OFFSETS]
        self.assertTrue(made.internal)
        self.assertEqual([p.replicas for p in made.partitions], [(0,)] * 50)
        self.assertEqual(
            dict(made.configs),
            {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
        )
        self.assertTrue(self.topic.find("g").log.config.compacted)

    def test_settings(self) -> None:
        """The settings offsets.topic.num.partitions and offsets.topic.segment.bytes are used."""
        names = {"offsets.topic.num.partitions": "3", "offsets.topic.segment.bytes": "5000"}
        self.broker = self.make_broker(**names)
        self.make()
        self.assertEqual(len(self.topic.partitions), 3)
        self.assertEqual(self.topic.find("g").log.config.segment_bytes, 5000)
        self.assertEqual(self.topic.find("hello"), self.topic.partitions[99162322 % 3])
        self.assertEqual(self.topic.partition_of("hello"), 99162322 % 3)

    def test_by_metadata(self) -> None:
        """A Metadata request may create the topic, with the configs of an offsets topic."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topics.ensure(CONSUMER_OFFSETS)))
        self.assertEqual(len(self.topic.partitions), 50)
        self.assertTrue(self.topic.partitions[0].log.config.compacted)

    def test_order(self) -> None:
        """Requests that wait for the topic are answered in order; later ones are answered at once."""
        held = Held()
        self.broker = self.make_broker(held)
        told: list[int] = []

        def tell(_: None, number: int) -> None:
            told.append(number)

        for number in range(3):
            self.topic.ensure().addCallback(tell, number)
        self.assertEqual(told, [])
        held.work()
        self.assertEqual(told, [0, 1, 2])
        self.topic.ensure().addCallback(tell, 3)
        self.assertEqual(told, [0, 1, 2, 3])

    def test_who_does_not_wait_any_more(self) -> None:
        """A cancelled request delays neither the topic nor the other requests."""
        held = Held()
        self.broker = self.make_broker(held)
        first, second = self.topic.ensure(), self.topic.ensure()
        first.addErrback(lambda failure: None)
        first.cancel()
        held.work()
        self.successResultOf(second)

    def test_failed(self) -> None:
        """Waiting requests fail with COORDINATOR_NOT_AVAILABLE if the logs fail; the next try may succeed."""

        def create(*args: Any) -> Any:
            raise OSError(errno.ENOSPC, "No space left on device")

        patched = self.patch(self.broker.store, "create", create)
        error = self.failureResultOf(self.topic.ensure(), RequestError).value
        self.assertEqual(error.code, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.assertIn("No space left", str(error))
        patched.restore()
        self.make()
        self.assertTrue(self.topic.exists)

    def test_bug(self) -> None:
        """A bug is logged with its traceback, and the waiting requests fail."""

        def create(*args: Any) -> Any:
            raise ZeroDivisionError

        self.patch(self.broker.store, "create", create)
        self.failureResultOf(self.topic.ensure(), RequestError)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_not_there(self) -> None:
        """A missing topic can be neither searched nor written, and has nothing to load."""
        self.assertRefused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.assertRaises(RequestError, self.topic.partition_of, "g")
        self.assertEqual(self.topic.check("g"), ErrorCode.NONE)


class AppendTests(TopicTestCase):
    settings: ClassVar[Mapping[str, str]] = {"offsets.topic.num.partitions": "3"}

    def setUp(self) -> None:
        """Make the topic."""
        super().setUp()
        self.make()

    def test_append(self) -> None:
        """Records are in the group's partition at once, in one batch with the broker's time."""
        self.assertIsNone(self.topic.append("g", RECORDS))
        self.assertEqual(self.read(), RECORDS)
        partition = self.topic.find("g")
        self.assertEqual(partition.high_watermark, 2)
        header = parse_header(bytes(in_memory(partition.log.read(0, 1 << 20, 2, True))))
        self.assertEqual((header.count, header.base_timestamp), (2, self.now_ms))
        others = [p for p in self.topic.partitions if p is not partition]
        self.assertEqual([p.log.log_end_offset for p in others], [0, 0])

    def test_readers_are_woken(self) -> None:
        """Consumers that wait for the topic are woken, though not in the same turn."""
        woken: list[Partition] = []

        class Waiting:
            def wake(self) -> None:
                woken.append(partition)

        partition = self.topic.find("g")
        partition.delayed_fetches.add(Waiting())
        self.topic.append("g", RECORDS)
        self.assertEqual(woken, [])
        self.clock.advance(0)
        self.assertEqual(woken, [partition])

    def test_others_are_left_staged(self) -> None:
        """Data staged in other partitions waits for its own round."""
        (other,) = self.make_topic("t")
        self.broker.replicas.staged[other] = None
        self.topic.append("g", RECORDS)
        self.assertEqual(list(self.broker.replicas.staged), [other])

    def test_many(self) -> None:
        """Records that exceed one batch become several, in order, each within max.message.bytes."""
        partition = self.topic.find("g")
        most = partition.log.config.max_message_bytes
        records = [Record(b"\0\2%d" % n, b"v" * (most // 3)) for n in range(7)]
        self.topic.append("g", records)
        self.assertEqual(self.read(), records)
        self.assertEqual(partition.log.log_end_offset, 7)

    def test_too_large(self) -> None:
        """A record that no batch can hold is refused with the code that Apache Kafka uses."""
        most = self.topic.find("g").log.config.max_message_bytes
        self.assertRefused(ErrorCode.UNKNOWN_SERVER_ERROR, records=[Record(b"\0\2", b"v" * most)])
        self.assertEqual(self.read(), [])

    def test_told_once_in_a_while(self) -> None:
        """Refused records are logged, but not on each attempt of a client."""
        most = self.topic.find("g").log.config.max_message_bytes
        for wait_s, lines in ((0, 1), (9, 0), (1, 1)):
            self.clock.advance(wait_s)
            with capturedLogs() as logs:
                for _ in range(3):
                    self.assertRaises(RequestError, self.topic.append, "g", [Record(b"\0\2", b"v" * most)])
            self.assertEqual([log["log_level"] for log in logs], [LogLevel.error] * lines)

    def test_too_few_replicas(self) -> None:
        """No record is written with fewer in-sync replicas than min.insync.replicas."""
        self.topic.find("g").min_insync_replicas = 2
        self.assertRefused(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def test_offline(self) -> None:
        """Appending to a partition in an offline log dir fails with NOT_COORDINATOR."""
        self.topic.find("g").go_offline()
        self.assertRefused(ErrorCode.NOT_COORDINATOR)

    def test_failed_write(self) -> None:
        """A failed write leaves no records, and the next write succeeds."""
        log = self.topic.find("g").log

        def write() -> None:
            log.truncate_to(log.log_end_offset)  # drops the staged records, as a failing write() does
            patched.restore()
            raise OSError(errno.ENOSPC, "No space left on device")

        patched = self.patch(log, "write", write)
        self.assertRefused(ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.read(), [])
        self.topic.append("g", RECORDS)
        self.assertEqual(self.read(), RECORDS)

    def test_flush(self) -> None:
        """The returned Deferred fires when the records are on disk, if flush.messages asks for that."""
        partition = self.topic.find("g")
        partition.flush_messages = 1
        flushing: Deferred[int] = Deferred()
        self.patch(type(partition.log), "flushed_offset", property(lambda log: 0))
        self.patch(partition.log, "flush", lambda: flushing)
        self.assertIs(self.topic.append("g", RECORDS), flushing)
