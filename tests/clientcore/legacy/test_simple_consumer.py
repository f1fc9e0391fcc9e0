"""Tests of kafkatx.clientcore.legacy.simple_consumer."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.completed_fetch import DecodeSettings
from kafkatx.clientcore.errors import OffsetOutOfRange, Undecodable
from kafkatx.clientcore.legacy.simple_consumer import FetchRequest, MessageSet, Reader, offsets_known
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.errors import CorruptRecords, ErrorCode, KafkaTXError, RequestError
from kafkatx.records.builder import BatchBuilder
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData

AT = TopicPartition("t", 0)


def batch(base_offset: int, *values: bytes) -> bytes:
    """Return a stored batch."""
    builder = BatchBuilder()
    builder.append_values(values, 1000)
    return builder.build(base_offset)


def response(data: bytes, error_code: int = 0) -> FetchResponse:
    """Return a response with these bytes of partition 0."""
    part = PartitionData(0, error_code, high_watermark=9, log_start_offset=2, records=memoryview(data))
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[part])])


def read(data: bytes, offset: int = 0, error_code: int = 0, **decoding: Any) -> MessageSet:
    """Return the message set of such a response."""
    reader = Reader(DecodeSettings(**decoding))
    request = FetchRequest("t", 0, offset, 50)
    return reader.read(response(data, error_code), {AT: request})[AT]


class ReadTests(SynchronousTestCase):
    def test_records(self) -> None:
        """A message set has the records of whole batches from the offset on, the next offset and the end."""
        found = read(batch(3, b"a", b"b") + batch(5, b"c") + batch(6, b"d")[:-1], offset=4)
        self.assertEqual([(r.offset, r.value) for r in found], [(4, b"b"), (5, b"c")])
        self.assertEqual([r.timestamp_ms for r in found], [1000, 1000])
        self.assertEqual((len(found), found.next_offset, found.high_watermark, found.error), (2, 6, 9, None))

    def test_nothing(self) -> None:
        """A fetch at the end has no records, and the next offset is the same."""
        found = read(b"", offset=9)
        self.assertEqual((list(found), found.next_offset, found.error), ([], 9, None))

    def test_out_of_range(self) -> None:
        """An offset out of range raises an error with the range of the log."""
        found = read(b"", 77, ErrorCode.OFFSET_OUT_OF_RANGE)
        self.assertIsInstance(found.error, OffsetOutOfRange)
        self.assertEqual(str(found.error), "t [0] has no offset 77: the earliest is 2, the latest 9")
        self.assertEqual(found.next_offset, 77)
        self.assertRaises(OffsetOutOfRange, list, found)

    def test_refused(self) -> None:
        """Another error names the partition; one of the whole request is raised at once."""
        found = read(b"", 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.assertEqual(str(found.error), "t [0]: topic authorization failed")
        refused = FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        self.assertRaises(RequestError, Reader().read, refused, {AT: FetchRequest("t", 0, 0)})

    def test_too_large(self) -> None:
        """A truncated batch is an error that names the limit to raise."""
        found = read(batch(3, b"a" * 99)[:50], offset=3)
        self.assertEqual(
            str(found.error), "t [0]: the batch at offset 3 is larger than max_bytes=50: increase it"
        )

    def test_corrupt(self) -> None:
        """A corrupt batch ends the set; those before it can be read."""
        broken = bytearray(batch(5, b"c"))
        broken[-1] ^= 1
        found = read(batch(3, b"a", b"b") + broken, offset=3)
        given = []
        with self.assertRaises(CorruptRecords):
            for record in found:
                given.append(record.value)
        self.assertEqual((given, found.next_offset), ([b"a", b"b"], 5))
        self.assertIsNone(read(bytes(broken), 5, check_crcs=False).error)

    def test_undecodable(self) -> None:
        """A value that cannot be decoded ends the set after the record before it."""
        found = read(batch(3, b"1", b"2", b"x", b"4"), 3, decode_value=lambda topic, data: int(data))
        self.assertEqual(([record.value for record in found.records], found.next_offset), ([1, 2], 5))
        self.assertIsInstance(found.error, Undecodable)

    def test_not_asked(self) -> None:
        """Partitions that were not requested are ignored."""
        self.assertEqual(Reader().read(response(batch(3, b"a")), {}), {})

    def test_passes_bugs_on(self) -> None:
        """Only errors of this package belong to a message set."""
        self.assertRaises(KafkaTXError, list, MessageSet(FetchRequest("t", 0, 0), error=KafkaTXError("x")))


class OffsetsKnownTests(SynchronousTestCase):
    def test_times(self) -> None:
        """Offsets are in descending order, limited to the requested number, and without duplicates."""
        for time, first_after, expected in (
            (EARLIEST, 2, [2]),
            (LATEST, 9, [9, 2]),
            (1000, 5, [5, 2]),
            (1000, 2, [2]),
            (5000, -1, [9, 2]),
        ):
            found = offsets_known(time, 2, 9, first_after, 10)
            self.assertEqual(found, expected, time)
            self.assertEqual(offsets_known(time, 2, 9, first_after, 1), expected[:1])
        self.assertEqual(offsets_known(LATEST, 4, 4, 4, 10), [4])
