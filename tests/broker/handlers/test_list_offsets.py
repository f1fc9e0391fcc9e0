"""ListOffsets: the offset for a timestamp."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail, succeed

from kafkatx.errors import CorruptRecords, ErrorCode
from kafkatx.testing.contracts.log.transactions import COMMIT, in_transaction
from kafkatx.wire.messages.list_offsets import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.broker.running import NOW_MS, BrokerTestCase

VERSIONS = range(12)


class ListOffsetsTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """Make a topic."""
        super().setUp()
        (self.partition,) = self.make_topic()

    def ask_one(
        self,
        timestamp: int,
        version: int = 7,
        topic: str = "t",
        number: int = 0,
        epoch: int = -1,
        isolation_level: int = 0,
        max_num_offsets: int = 1,
    ) -> ListOffsetsPartitionResponse:
        """Return the answer for one partition."""
        asked = [ListOffsetsTopic(topic, [ListOffsetsPartition(number, epoch, timestamp, max_num_offsets)])]
        response = self.ask(2, version, ListOffsetsRequest(-1, isolation_level, asked))
        result: ListOffsetsPartitionResponse = response.topics[0].partitions[0]
        self.assertEqual(result.partition_index, number)
        return result


class ListOffsetsTests(ListOffsetsTestCase):
    def ask_for(self, timestamp: int, version: int = 7) -> tuple[int, int]:
        """Return the offset and its timestamp."""
        result = self.ask_one(timestamp, version)
        self.assertEqual(result.error_code, 0)
        return result.offset, result.timestamp

    def test_latest(self) -> None:
        """The timestamp -1 gives the high watermark."""
        self.fill(b"a", b"b")
        for version in VERSIONS[1:]:
            self.assertEqual(self.ask_for(LATEST_TIMESTAMP, version), (2, -1))
        self.partition.high_watermark = 1
        self.assertEqual(self.ask_for(LATEST_TIMESTAMP), (1, -1))

    def test_latest_committed(self) -> None:
        """The timestamp -1 under read_committed gives the last stable offset."""
        self.fill(b"a", b"b")
        self.assertEqual(self.ask_one(LATEST_TIMESTAMP, isolation_level=1).offset, 2)
        log = self.partition.log
        log.append(in_transaction(1, 7), 0, NOW_MS, True, None, True)
        log.write()
        self.fill(b"c")
        self.assertEqual(self.ask_one(LATEST_TIMESTAMP, isolation_level=1).offset, 2)
        self.assertEqual(self.ask_one(LATEST_TIMESTAMP).offset, 4)
        self.assertEqual(self.ask_one(NOW_MS + 1, isolation_level=1).offset, -1)
        log.append_marker(7, 0, COMMIT, 0, NOW_MS)
        log.write()
        self.partition.advance()
        self.assertEqual(self.ask_one(LATEST_TIMESTAMP, isolation_level=1).offset, 5)

    def test_earliest(self) -> None:
        """The timestamp -2 gives the log start offset."""
        self.fill(b"a")
        self.fill(b"b")
        self.partition.log.advance_log_start(1)
        for version in VERSIONS[1:]:
            self.assertEqual(self.ask_for(EARLIEST_TIMESTAMP, version), (1, -1))

    def test_largest_timestamp(self) -> None:
        """The timestamp -3 gives the record with the largest timestamp, from version 7 on."""
        self.fill(b"a", timestamp_ms=NOW_MS + 5)
        self.fill(b"b", timestamp_ms=NOW_MS)
        self.assertEqual(self.ask_for(MAX_TIMESTAMP), (0, NOW_MS + 5))
        self.assertEqual(self.ask_one(MAX_TIMESTAMP, 6).error_code, ErrorCode.UNSUPPORTED_VERSION)

    def test_earliest_local(self) -> None:
        """The timestamp -4 gives the log start offset, without tiered storage, from version 8 on."""
        self.fill(b"a")
        self.fill(b"b")
        self.partition.log.advance_log_start(1)
        for version in VERSIONS[8:]:
            self.assertEqual(self.ask_for(EARLIEST_LOCAL_TIMESTAMP, version), (1, -1))
            self.assertEqual(self.ask_one(EARLIEST_LOCAL_TIMESTAMP, version).leader_epoch, 0)
        for version in VERSIONS[1:8]:
            result = self.ask_one(EARLIEST_LOCAL_TIMESTAMP, version)
            self.assertEqual((result.error_code, result.offset), (ErrorCode.UNSUPPORTED_VERSION, -1))

    def test_remote_times(self) -> None:
        """The timestamps -5 (tiered) and -6 (upload pending) find no offset; older versions refuse them."""
        self.fill(b"a")
        for time, since in ((LATEST_TIERED_TIMESTAMP, 9), (EARLIEST_PENDING_UPLOAD_TIMESTAMP, 11)):
            for version in VERSIONS[1:]:
                result = self.ask_one(time, version)
                expected = 0 if version >= since else ErrorCode.UNSUPPORTED_VERSION
                self.assertEqual((result.error_code, result.offset, result.timestamp), (expected, -1, -1))

    def test_no_such_time(self) -> None:
        """An unknown negative timestamp is refused, not taken for one before all records."""
        self.fill(b"a")
        for version in VERSIONS[1:]:
            for time in (-7, -(2**63)):
                result = self.ask_one(time, version)
                self.assertEqual((result.error_code, result.offset), (ErrorCode.UNSUPPORTED_VERSION, -1))

    def test_empty(self) -> None:
        """An empty log has start and end 0, and no record for a timestamp."""
        self.assertEqual(self.ask_for(EARLIEST_TIMESTAMP), (0, -1))
        self.assertEqual(self.ask_for(LATEST_TIMESTAMP), (0, -1))
        self.assertEqual(self.ask_for(MAX_TIMESTAMP), (-1, -1))
        self.assertEqual(self.ask_for(0), (-1, -1))

    def test_by_time(self) -> None:
        """A timestamp gives the first record at or after it; without one the offset is -1, and no error."""
        for delay in (0, 10, 20):
            self.fill(b"v", timestamp_ms=NOW_MS + delay)
        for time, expected in (
            (0, (0, NOW_MS)),
            (NOW_MS, (0, NOW_MS)),
            (NOW_MS + 1, (1, NOW_MS + 10)),
            (NOW_MS + 20, (2, NOW_MS + 20)),
            (NOW_MS + 21, (-1, -1)),
        ):
            for version in VERSIONS[1:]:
                self.assertEqual(self.ask_for(time, version), expected, (time, version))

    def test_not_above_the_high_watermark(self) -> None:
        """A record above the high watermark is not found by its timestamp either."""
        self.fill(b"a", timestamp_ms=NOW_MS)
        self.fill(b"b", timestamp_ms=NOW_MS + 10)
        self.partition.high_watermark = 1
        self.assertEqual(self.ask_for(NOW_MS + 5), (-1, -1))

    def test_leader_epoch(self) -> None:
        """The leader epoch of the offset is returned from version 4 on."""
        self.fill(b"a")
        self.partition.leader_epoch = 4
        self.fill(b"b")
        for time, epoch in ((EARLIEST_TIMESTAMP, 0), (LATEST_TIMESTAMP, 4), (NOW_MS, 0)):
            self.assertEqual(self.ask_one(time, 4).leader_epoch, epoch)
            self.assertEqual(self.ask_one(time, 3).leader_epoch, -1)

    def test_errors(self) -> None:
        """Unknown partitions and wrong epochs are refused."""
        for topic, number in (("u", 0), ("t", 1), ("t", -1)):
            result = self.ask_one(-1, topic=topic, number=number)
            self.assertEqual((result.error_code, result.offset), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1))
        self.partition.leader_epoch = 2
        for epoch, code in (
            (1, ErrorCode.FENCED_LEADER_EPOCH),
            (3, ErrorCode.UNKNOWN_LEADER_EPOCH),
            (2, 0),
        ):
            self.assertEqual(self.ask_one(-1, epoch=epoch).error_code, code)


class SearchTests(ListOffsetsTestCase):
    """Lookups of timestamps in the log, which may take time or fail."""

    def search(self, *searches: Deferred[Any]) -> Any:
        """Look up a timestamp in one partition per Deferred; return the answer."""
        partitions = self.make_topic("times", len(searches))
        for partition, search in zip(partitions, searches, strict=True):
            self.patch(partition.log, "offset_for_timestamp", lambda _, search=search: search)
            partition.high_watermark = 10
        asked = [ListOffsetsPartition(number, -1, 5) for number in range(len(searches))]
        return self.answer(2, 7, ListOffsetsRequest(-1, 0, [ListOffsetsTopic("times", asked)]))

    def parts(self, answer: Any) -> list[tuple[int, int]]:
        """Return error and offset of each part."""
        response = self.response(2, 7, self.successResultOf(answer))
        return [(part.error_code, part.offset) for part in response.topics[0].partitions]

    def test_waits_for_all(self) -> None:
        """The reply is sent when all lookups have ended."""
        slow: Deferred[Any] = Deferred()
        answer = self.search(slow, succeed((7, 5, 0)), succeed(None))
        self.assertNoResult(answer)
        slow.callback((3, 5, 0))
        self.assertEqual(self.parts(answer), [(0, 3), (0, 7), (0, -1)])

    def test_log_that_fails(self) -> None:
        """A failing disk and a damaged batch are errors of their partitions only."""
        answer = self.search(
            fail(OSError(5, "Input/output error")), fail(CorruptRecords("damaged")), succeed((7, 5, 0))
        )
        self.assertEqual(
            self.parts(answer), [(ErrorCode.KAFKA_STORAGE_ERROR, -1), (ErrorCode.CORRUPT_MESSAGE, -1), (0, 7)]
        )

    def test_cancelled(self) -> None:
        """A cancelled request cancels its wait."""
        answer = self.search(Deferred(), Deferred())
        answer.cancel()
        self.failureResultOf(answer, CancelledError)


class VersionZeroTests(ListOffsetsTestCase):
    """Version 0, which returns a list of offsets, segment by segment, newest first."""

    def setUp(self) -> None:
        """Make a topic of three segments."""
        super().setUp()
        self.partition = self.make_topic("rolled", segment_bytes="200")[0]
        for number in range(3):
            self.fill(b"v" * 150, topic="rolled", timestamp_ms=NOW_MS + 10 * number)

    def ask_list(self, timestamp: int, count: int = 10) -> list[int]:
        """Return the offsets for a timestamp."""
        result = self.ask_one(timestamp, 0, "rolled", max_num_offsets=count)
        self.assertEqual(result.error_code, 0)
        return result.old_style_offsets

    def test_list_latest(self) -> None:
        """The timestamp -1 gives the end and the start of every segment."""
        self.assertEqual(self.ask_list(LATEST_TIMESTAMP), [3, 2, 1, 0])

    def test_list_is_cut(self) -> None:
        """The list is cut to max_num_offsets, which may be 0."""
        self.assertEqual(self.ask_list(LATEST_TIMESTAMP, 1), [3])
        self.assertEqual(self.ask_list(LATEST_TIMESTAMP, 0), [])
        self.assertEqual(self.ask_list(LATEST_TIMESTAMP, -5), [])

    def test_list_earliest(self) -> None:
        """The timestamp -2 gives the log start offset."""
        self.assertEqual(self.ask_list(EARLIEST_TIMESTAMP), [0])

    def test_list_by_time(self) -> None:
        """A timestamp gives the starts of the segments last written at or before it."""
        self.assertEqual(self.ask_list(NOW_MS + 10), [1, 0])
        self.assertEqual(self.ask_list(NOW_MS - 1), [])
        self.assertEqual(self.ask_list(NOW_MS + 20), [3, 2, 1, 0])
