"""The records that a coordinator writes, and the wait until they are committed."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.coordinator.runtime.record_writer import outcome
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Record
from kafkatx.records.batch import parse_header
from tests.broker.coordinated import partition_of, partitions_of
from tests.broker.coordinator.runtime.topic_case import TopicTestCase
from tests.broker.stored import in_memory

RECORDS = [Record(b"\0\2key", b"value"), Record(b"\0\2other", None)]


class AppendTests(TopicTestCase):
    settings: ClassVar[Mapping[str, str]] = {"offsets.topic.num.partitions": "3"}

    def setUp(self) -> None:
        """Make the topic."""
        super().setUp()
        self.make()
        self.partition = partition_of(self.broker)

    def assertRefused(self, code: ErrorCode, records: Any = RECORDS) -> None:
        """Assert that appending raises *code*."""
        error = self.assertRaises(RequestError, self.writer.append, self.partition, records)
        self.assertEqual(error.code, code)

    def test_append(self) -> None:
        """Records are in the group's partition at once, in one batch with the broker's time."""
        self.assertIsNone(self.writer.append(self.partition, RECORDS))
        self.assertEqual(self.read(), RECORDS)
        self.assertEqual(self.partition.high_watermark, 2)
        header = parse_header(bytes(in_memory(self.partition.log.read(0, 1 << 20, 2, True))))
        self.assertEqual((header.count, header.base_timestamp), (2, self.now_ms))
        others = [p for p in partitions_of(self.broker) if p is not self.partition]
        self.assertEqual([p.log.log_end_offset for p in others], [0, 0])

    def test_readers_are_woken(self) -> None:
        """Consumers that wait for the topic are woken, though not in the same turn."""
        woken: list[int] = []

        class Waiting:
            def wake(self) -> None:
                woken.append(0)

        self.partition.delayed_fetches.add(Waiting())
        self.writer.append(self.partition, RECORDS)
        self.assertEqual(woken, [])
        self.clock.advance(0)
        self.assertEqual(woken, [0])

    def test_others_are_left_staged(self) -> None:
        """Data staged in other partitions waits for its own round."""
        (other,) = self.make_topic("t")
        self.broker.replicas.staged[other] = None
        self.writer.append(self.partition, RECORDS)
        self.assertEqual(list(self.broker.replicas.staged), [other])

    def test_many(self) -> None:
        """Records that exceed one batch become several, in order, each within max.message.bytes."""
        most = self.partition.log.config.max_message_bytes
        records = [Record(b"\0\2%d" % n, b"v" * (most // 3)) for n in range(7)]
        self.writer.append(self.partition, records)
        self.assertEqual(self.read(), records)
        self.assertEqual(self.partition.log.log_end_offset, 7)

    def test_too_large(self) -> None:
        """A record that no batch can hold is refused with the code that Apache Kafka uses."""
        most = self.partition.log.config.max_message_bytes
        self.assertRefused(ErrorCode.UNKNOWN_SERVER_ERROR, records=[Record(b"\0\2", b"v" * most)])
        self.assertEqual(self.read(), [])

    def test_told_once_in_a_while(self) -> None:
        """Refused records are logged, but not on each attempt of a client."""
        most = self.partition.log.config.max_message_bytes
        for wait_s, lines in ((0, 1), (9, 0), (1, 1)):
            self.clock.advance(wait_s)
            with capturedLogs() as logs:
                for _ in range(3):
                    self.assertRaises(
                        RequestError, self.writer.append, self.partition, [Record(b"\0\2", b"v" * most)]
                    )
            self.assertEqual([log["log_level"] for log in logs], [LogLevel.error] * lines)

    def test_too_few_replicas(self) -> None:
        """No record is written with fewer in-sync replicas than min.insync.replicas."""
        self.partition.replicated, self.partition.min_insync = True, 2
        self.assertRefused(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def test_offline(self) -> None:
        """Appending to a partition in an offline log dir fails with NOT_COORDINATOR."""
        self.partition.go_offline()
        self.assertRefused(ErrorCode.NOT_COORDINATOR)

    def test_not_led(self) -> None:
        """Nothing is written to a partition that this broker leads no more."""
        self.partition.resign()
        self.assertRefused(ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.read(), [])

    def test_failed_write(self) -> None:
        """A failed write leaves no records, and the next write succeeds."""
        log = self.partition.log

        def write() -> None:
            log.truncate_to(log.log_end_offset)  # drops the staged records, as a failing write() does
            patched.restore()
            raise OSError(errno.ENOSPC, "No space left on device")

        patched = self.patch(log, "write", write)
        self.assertRefused(ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.read(), [])
        self.writer.append(self.partition, RECORDS)
        self.assertEqual(self.read(), RECORDS)


class CommittedTests(TopicTestCase):
    """Waits for the disk, which ``flush.messages`` asks for."""

    def setUp(self) -> None:
        """Make a partition whose flushes the test ends."""
        super().setUp()
        self.make()
        self.partition = partition_of(self.broker)
        self.partition.flush_messages = 1
        self.flushes: list[Deferred[int]] = []
        self.patch(type(self.partition.log), "flushed_offset", property(lambda log: 0))
        self.patch(self.partition.log, "flush", self.flush)

    def flush(self) -> Deferred[int]:
        """Begin a flush that the test ends."""
        self.flushes.append(Deferred())
        return self.flushes[-1]

    def append(self) -> Deferred[None]:
        """Append records, and return what waits for them."""
        committed = self.writer.append(self.partition, RECORDS)
        assert committed is not None
        self.assertNoResult(committed)
        return committed

    def test_flushed(self) -> None:
        """The records count when they are on the disk."""
        committed = self.append()
        self.flushes[0].callback(2)
        self.successResultOf(committed)

    def test_failed(self) -> None:
        """Clients are sent to find the coordinator if the disk fails; a bug is logged as well."""
        for failure, bugs in ((OSError(errno.EIO, "bad disk"), 0), (ZeroDivisionError(), 1)):
            waiting = Deferred.fromCoroutine(outcome(self.append()))
            self.flushes.pop().errback(failure)
            self.assertEqual(self.successResultOf(waiting), ErrorCode.NOT_COORDINATOR)
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), bugs)

    def test_dropped(self) -> None:
        """The waiting for a partition that is led no more ends at once; the flush is of no interest then."""
        waiting = [Deferred.fromCoroutine(outcome(self.append())) for _ in range(2)]
        self.writer.drop(self.partition)
        self.assertEqual([self.successResultOf(one) for one in waiting], [ErrorCode.NOT_COORDINATOR] * 2)
        self.flushes[0].callback(2)
        self.flushes[1].errback(OSError(errno.EIO, "bad disk"))
        again = self.append()
        self.flushes[2].callback(4)
        self.successResultOf(again)

    def test_cancelled(self) -> None:
        """A client that has gone waits no more; the others do."""
        first, second = self.append(), self.append()
        first.cancel()
        self.failureResultOf(first, CancelledError)
        for flush in self.flushes:
            flush.callback(4)
        self.successResultOf(second)
        self.writer.drop(self.partition)

    def test_at_once(self) -> None:
        """Nothing is waited for without a limit of unflushed records."""
        self.partition.flush_messages = 2**63 - 1
        self.assertIsNone(self.writer.append(self.partition, RECORDS))
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(outcome(None))), ErrorCode.NONE)
