"""DeleteRecords: the new log start offset, also after a crash, and refused requests."""

from __future__ import annotations

import errno
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, capturedLogs, formatEvent

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.files import FileBrokerTestCase
from tests.broker.running import Held, values

VERSIONS = range(3)


class DeleteRecordsTests(FileBrokerTestCase):
    def setUp(self) -> None:
        """Make a topic with ten records in partition 0, and one in partition 1."""
        super().setUp()
        self.partition, _ = self.make_topic("t", 2)
        for number in range(5):
            self.fill(b"%d" % (2 * number), b"%d" % (2 * number + 1))
        self.fill(b"other", partition=1)

    def request(self, offset: int, topic: str = "t", partition: int = 0) -> DeleteRecordsRequest:
        """Return a request to delete the records below an offset."""
        return DeleteRecordsRequest(
            [DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])], 1000
        )

    def delete(self, offset: int, version: int = 2, **where: Any) -> tuple[int, int]:
        """Return the code and the low watermark of the answer."""
        response = self.ask(21, version, self.request(offset, **where))
        (result,) = response.topics[0].partitions
        return result.error_code, result.low_watermark

    def fetched(self, offset: int, partition: int = 0) -> Any:
        """Return the error code of a fetch, or the values from an offset on."""
        asked = [
            FetchTopic("t", partitions=[FetchPartition(partition, -1, offset, partition_max_bytes=1 << 20)])
        ]
        response = self.ask(1, 12, FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=asked))
        part = response.responses[0].partitions[0]
        return part.error_code or values(part.records)

    def lines(self, offset: int, **where: Any) -> list[str]:
        """Delete records; return the log lines."""
        with capturedLogs() as events:
            self.assertEqual(self.delete(offset, **where), (0, offset))
        return [formatEvent(event) for event in events if event["log_level"] is LogLevel.info]

    def test_deleted_segments_are_logged(self) -> None:
        """The log names the client and its deleted segments and bytes; records within one are not logged."""
        self.assertEqual(self.lines(3), [])
        size = self.partition.log.size_bytes
        self.assertEqual(
            self.lines(10),
            [
                f"DeleteRecords from {self.peer} deleted 1 segments of t-0, {size} bytes; the log starts at"
                " offset 10 now"
            ],
        )

    def test_limited_log(self) -> None:
        """A client that deletes again and again causes a limited number of lines."""
        count = 0
        for offset in range(11, 40):
            self.fill(b"more")
            count += len(self.lines(offset))
        self.assertEqual(count, 10)

    def test_moves_the_start(self) -> None:
        """Records below the offset cannot be read any more, the rest can, in every version."""
        for version in VERSIONS:
            offset = 2 * version + 2
            self.assertEqual(self.delete(offset, version), (0, offset))
            self.assertEqual(self.fetched(offset - 1), ErrorCode.OFFSET_OUT_OF_RANGE)
            self.assertEqual(self.fetched(offset), [b"%d" % n for n in range(offset, 10)])
        self.assertEqual(self.fetched(0, partition=1), [b"other"])

    def test_all(self) -> None:
        """An offset of -1 deletes up to the high watermark, and the next record has the next offset."""
        self.assertEqual(self.delete(-1), (0, 10))
        self.fill(b"next")
        self.assertEqual(self.fetched(10), [b"next"])

    def test_already_gone(self) -> None:
        """An offset before the start changes nothing, and the answer has the current start."""
        self.delete(5)
        self.assertEqual(self.delete(3), (0, 5))

    def test_out_of_range(self) -> None:
        """An offset above the high watermark is refused."""
        for offset in (11, -2):
            self.assertEqual(self.delete(offset), (ErrorCode.OFFSET_OUT_OF_RANGE, -1))
        self.assertEqual(self.partition.log.log_start_offset, 0)

    def test_unseen(self) -> None:
        """Records above the high watermark cannot be deleted."""
        self.partition.high_watermark = 4
        self.assertEqual(self.delete(5)[0], ErrorCode.OFFSET_OUT_OF_RANGE)
        self.assertEqual(self.delete(-1), (0, 4))

    def test_refused(self) -> None:
        """Compact-only, internal and unknown topics are refused; others are not affected."""
        self.make_topic("c", 1, cleanup_policy="compact")
        self.make_topic("b", 1, cleanup_policy="compact,delete")
        self.assertEqual(self.delete(0, topic="c"), (ErrorCode.POLICY_VIOLATION, -1))
        self.make_topic("e", 1, cleanup_policy="")
        self.assertEqual(self.delete(0, topic="b"), (0, 0))
        self.assertEqual(self.delete(0, topic="e"), (0, 0))
        self.assertEqual(self.delete(0, topic="u")[0], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertEqual(self.delete(0, partition=2)[0], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertEqual(self.delete(0, topic="__consumer_offsets")[0], ErrorCode.INVALID_TOPIC_EXCEPTION)

    def test_survives_a_crash(self) -> None:
        """An answered deletion survives kill -9."""
        self.delete(4)
        self.delete(-1, partition=1)
        self.restart()
        self.assertEqual(self.fetched(3), ErrorCode.OFFSET_OUT_OF_RANGE)
        self.assertEqual(self.fetched(4)[0], b"4")
        self.assertEqual(self.fetched(1, partition=1), [])
        self.assertEqual(self.fetched(0, partition=1), ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_answered_when_written_down(self) -> None:
        """The answer waits for the disk."""
        held = Held()
        held.holding = False
        self.restart(held)
        held.holding = True
        waiting = self.answer(21, 2, self.request(4))
        self.assertNoResult(waiting)
        held.work()
        self.successResultOf(waiting)

    def test_parked(self) -> None:
        """A fetch parked at a deleted offset is answered at once."""
        asked = [FetchTopic("t", partitions=[FetchPartition(1, -1, 0, partition_max_bytes=1 << 20)])]
        request = FetchRequest(max_wait_ms=9999, min_bytes=1000, max_bytes=1 << 20, topics=asked)
        waiting = self.answer(1, 12, request)
        self.assertIsInstance(waiting, Deferred)
        self.delete(1, partition=1)
        response = self.response(1, 12, self.successResultOf(waiting))
        (part,) = response.responses[0].partitions
        self.assertEqual(part.error_code, ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_storage(self) -> None:
        """A failed write or an offline partition is KAFKA_STORAGE_ERROR."""
        self.files.failing, self.files.error = {"create"}, errno.ENOSPC
        for _ in range(2):
            self.assertEqual(self.delete(4), (ErrorCode.KAFKA_STORAGE_ERROR, -1))
            self.files.error = errno.EIO
        self.files.failing = set()
        self.assertTrue(self.partition.offline)
        self.assertEqual(self.delete(4), (ErrorCode.KAFKA_STORAGE_ERROR, -1))
        self.assertEqual(self.delete(1, partition=1), (0, 1))
