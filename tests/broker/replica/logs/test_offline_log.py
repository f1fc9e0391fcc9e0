"""A log dir that fails under a running broker: its partitions are offline, the others are served."""

from __future__ import annotations

import errno
import os
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs
from zope.interface.verify import verifyObject

from kafkatx.broker.replica.logs.offline_log import OfflineLog
from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.interfaces import IPartitionLog
from kafkatx.records.builder import build_values
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.files import FileBrokerTestCase
from tests.broker.running import NODE, NOW_MS, Held, produce_request, values

STORAGE = ErrorCode.KAFKA_STORAGE_ERROR


class OfflineTestCase(FileBrokerTestCase):
    def setUp(self) -> None:
        """Make a topic with a record in each of four partitions; t-0 and t-2 are in the dir that fails."""
        super().setUp()
        self.partitions = self.make_topic("t", 4)
        for number in range(4):
            self.fill(b"%d" % number, partition=number)

    def break_dir(self, what: str = "write", error: int = errno.EIO) -> None:
        """Make the first dir fail from now on."""
        self.files.failing, self.files.error = {what}, error

    def send(self, *numbers: int, acks: int = -1) -> list[int]:
        """Produce to these partitions in one request; return the error codes."""
        data = [PartitionProduceData(number, build_values([b"v"], NOW_MS)) for number in numbers]
        response = self.ask(0, 9, ProduceRequest(None, acks, 1000, [TopicProduceData("t", data)]))
        return [result.error_code for result in response.responses[0].partition_responses]

    def fetch(self, number: int, max_wait_ms: int = 0) -> Any:
        """Fetch from a partition's start; return its part of the answer, or a Deferred of the reply."""
        asked = [FetchTopic("t", partitions=[FetchPartition(number, -1, 0, partition_max_bytes=1 << 20)])]
        request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1 << 19, max_bytes=1 << 20, topics=asked)
        answer = self.answer(1, 12, request)
        if isinstance(answer, Deferred) and not answer.called:
            return answer
        return self.part(answer)

    def part(self, answer: Any) -> Any:
        """Return the one partition of a fetch's answer."""
        reply = self.successResultOf(answer) if isinstance(answer, Deferred) else answer
        return self.response(1, 12, reply).responses[0].partitions[0]

    def list_offset(self, number: int, timestamp: int = -1) -> Any:
        """Return a partition's latest offset, or that of another timestamp."""
        asked = [ListOffsetsTopic("t", [ListOffsetsPartition(number, -1, timestamp)])]
        return self.ask(2, 7, ListOffsetsRequest(-1, 0, asked)).topics[0].partitions[0]


class OfflineTests(OfflineTestCase):
    def test_write_fails(self) -> None:
        """A failed write is refused with all others in its dir; writes to the other dir succeed."""
        self.break_dir()
        self.assertEqual(self.send(0, 1, 2, 3), [STORAGE, 0, STORAGE, 0])
        self.assertEqual([one.offline for one in self.partitions], [True, False, True, False])
        self.files.failing = set()
        self.assertEqual(self.send(0, 1, 2, 3), [STORAGE, 0, STORAGE, 0])

    def test_written_before_the_failure(self) -> None:
        """A record written by the same request just before its dir failed is not acknowledged."""
        real, calls = self.files.writev, []

        def writev(file: Any, *rest: Any) -> None:
            calls.append(file.path)
            if "t-2" in file.path:
                raise OSError(errno.EIO, "I/O error")
            real(file, *rest)

        self.patch(self.files, "writev", writev)
        self.assertEqual(self.send(0, 2), [STORAGE, STORAGE])
        self.assertEqual(len(calls), 2)

    def test_no_acks(self) -> None:
        """A producer with acks=0 is disconnected."""
        self.break_dir()
        self.send(0)
        with self.assertRaisesRegex(ProtocolViolation, "KAFKA_STORAGE_ERROR"):
            self.send(0, acks=0)

    def test_reading(self) -> None:
        """Fetch, ListOffsets and OffsetForLeaderEpoch fail for the offline partitions; others are read."""
        self.break_dir()
        self.send(0)
        part = self.fetch(0)
        self.assertEqual((part.error_code, part.high_watermark, part.log_start_offset), (STORAGE, -1, -1))
        self.assertEqual(values(self.fetch(1).records), [b"1"])
        for timestamp in (-1, -2, -3, 5):
            self.assertEqual(self.list_offset(2, timestamp).error_code, STORAGE)
            self.assertEqual(self.list_offset(3, timestamp).error_code, 0)
        asked = [OffsetForLeaderTopic("t", [OffsetForLeaderPartition(n, -1, 0) for n in (0, 1)])]
        (topic,) = self.ask(23, 4, OffsetForLeaderEpochRequest(-1, asked)).topics
        self.assertEqual([part.error_code for part in topic.partitions], [STORAGE, 0])

    def test_one_partition(self) -> None:
        """A partition whose own files fail is offline alone, and its topic can be deleted."""
        path = os.path.join(self.dirs[0], "t-0")
        real = self.files.open

        def denied(name: str, *rest: Any) -> Any:
            if name.startswith(path):
                raise OSError(errno.EACCES, "Permission denied", name)
            return real(name, *rest)

        self.patch(self.files, "open", denied)
        self.restart()
        self.assertEqual(self.send(0, 1, 2, 3), [STORAGE, 0, 0, 0])
        self.assertEqual([self.fetch(n).error_code for n in range(4)], [STORAGE, 0, 0, 0])
        self.assertEqual([self.list_offset(n).error_code for n in range(4)], [STORAGE, 0, 0, 0])
        (topic,) = self.ask(3, 12, MetadataRequest([MetadataRequestTopic(name="t")])).topics
        self.assertEqual([part.error_code for part in topic.partitions], [STORAGE, 0, 0, 0])
        self.assertTrue(os.path.exists(path))
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.assertFalse(os.path.exists(path))

    def test_metadata(self) -> None:
        """Metadata shows the offline partitions and their broker."""
        self.break_dir()
        self.send(0)
        (topic,) = self.ask(3, 12, MetadataRequest([MetadataRequestTopic(name="t")])).topics
        self.assertEqual([part.error_code for part in topic.partitions], [STORAGE, 0, STORAGE, 0])
        self.assertEqual([part.offline_replicas for part in topic.partitions], [[NODE.id], [], [NODE.id], []])

    def test_log_dirs(self) -> None:
        """DescribeLogDirs has an error for the dir and no partitions of it."""
        self.break_dir()
        self.send(0)
        first, second = self.ask(35, 2, DescribeLogDirsRequest(None)).results
        self.assertEqual((first.error_code, first.log_dir, first.topics), (STORAGE, self.dirs[0], []))
        self.assertEqual((second.error_code, len(second.topics[0].partitions)), (0, 2))

    def test_parked(self) -> None:
        """A fetch parked at an offline partition is answered soon, whichever operation failed."""
        parked, other = self.fetch(2, 10_000), self.fetch(3, 10_000)
        self.break_dir("create")
        self.failureResultOf(self.broker.store.checkpoint(), OSError)
        self.clock.advance(0)
        self.assertEqual(self.part(parked).error_code, STORAGE)
        self.assertNoResult(other)

    def test_topics_come_and_go(self) -> None:
        """A topic with offline partitions can be deleted and created again in the remaining dirs."""
        self.break_dir()
        self.send(0)
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.make_topic("t", 4)
        self.assertEqual(self.send(0, 1, 2, 3), [0, 0, 0, 0])

    def test_dir_fails_while_a_topic_is_made(self) -> None:
        """A topic being created when a dir fails has no partition that seems to work."""
        real = self.files.make_dirs

        def make_dirs(path: str) -> None:
            if path.endswith("u-2"):
                self.break_dir("make_dirs")
            real(path)

        self.patch(self.files, "make_dirs", make_dirs)
        made = self.make_topic("u", 3)
        self.assertEqual([one.offline for one in made], [True, False, False])
        self.assertNotIn(TopicPartition("u", 0), self.broker.store.logs)

    def test_all(self) -> None:
        """The broker reports once that it cannot continue when the last dir fails."""
        self.break_dir()
        self.send(0)
        self.assertNoResult(self.broker.replicas.halted)
        self.files.bad_dir = "/"
        self.send(1)
        self.assertIn(f"{self.dirs[1]} was the last", self.successResultOf(self.broker.replicas.halted))

    # --- after a restart

    def test_start_without(self) -> None:
        """Partitions of a dir lost at the start are not made anew elsewhere, and the rest is served."""
        self.break_dir("names")
        with capturedLogs():
            self.restart()
        self.assertEqual(self.send(0, 1, 2, 3), [STORAGE, 0, STORAGE, 0])
        self.assertEqual(values(self.fetch(1).records)[0], b"1")
        self.assertEqual(self.fetch(0).error_code, STORAGE)
        self.files.failing = set()
        self.restart()
        self.assertEqual(values(self.fetch(0).records), [b"0"])

    # --- full disks

    def test_full(self) -> None:
        """A full disk refuses records, can be read, and accepts records again when there is room."""
        self.break_dir("write", errno.ENOSPC)
        with capturedLogs() as events:
            for _ in range(5):
                self.assertEqual(self.send(0, 1), [STORAGE, 0])
        self.assertEqual(len([e for e in events if e["log_level"] == LogLevel.error]), 2)
        self.assertTrue(STORAGE.retriable)
        self.assertEqual(values(self.fetch(0).records), [b"0"])
        self.files.failing = set()
        self.assertEqual(self.send(0), [0])
        self.assertEqual(values(self.fetch(0).records), [b"0", b"v"])


class FlushFailureTests(OfflineTestCase):
    settings: ClassVar = {"log.flush.interval.messages": "1"}

    def test_never_acknowledged(self) -> None:
        """Records whose sync failed are not acknowledged, nor are later ones in their dir."""
        self.break_dir("sync")
        self.assertEqual(self.send(0, 1, 2), [STORAGE, 0, STORAGE])
        self.files.failing = set()
        self.assertEqual(self.send(0, 1, 2), [STORAGE, 0, STORAGE])

    def test_those_who_wait(self) -> None:
        """All producers that wait for one sync get an error when it fails."""
        held = Held()
        held.holding = False
        self.restart(held)
        held.holding = True
        waiting = [self.answer(0, 9, self.request()) for _ in range(3)]
        self.break_dir("sync")
        held.work()
        for answer in waiting:
            reply = self.response(0, 9, self.successResultOf(answer))
            self.assertEqual(reply.responses[0].partition_responses[0].error_code, STORAGE)

    def request(self) -> ProduceRequest:
        """Return a produce request for the partition that will be lost."""
        return produce_request(build_values([b"v"], NOW_MS), partition=0)


class OfflineLogTests(OfflineTestCase):
    def test_interface(self) -> None:
        """An offline log provides IPartitionLog."""
        self.assertTrue(verifyObject(IPartitionLog, OfflineLog(TopicPartition("t", 0), LogConfig())))

    def test_refuses(self) -> None:
        """Every request to an offline log fails with KAFKA_STORAGE_ERROR, writes and flushes with OSError."""
        log: Any = OfflineLog(TopicPartition("t", 0), LogConfig())
        for refused in (log.append, log.read, log.advance_log_start, log.epoch_at):
            error = self.assertRaises(RequestError, refused, 1)
            self.assertEqual(error.code, STORAGE)
        self.assertRaises(OSError, log.write)
        self.failureResultOf(log.flush(), OSError)
