"""One fetch: the records that are returned, their number, and errors."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import ClassVar

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.batch import parse_header
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches, iter_any
from tests.broker.fetch.case import FetchTestCase, asking, raw
from tests.broker.running import NOW_MS, codes, values

VERSIONS = range(13)


class ReadTests(FetchTestCase):
    def test_every_version(self) -> None:
        """Every version returns the records in a magic that it supports: 0, then 1, then 2."""
        self.fill(b"a", b"b")
        for version in VERSIONS:
            (part,) = self.parts(version=version)
            self.assertEqual((part.error_code, values(part.records)), (0, [b"a", b"b"]), version)
            magics = {span.magic for span in batches(raw(part))}
            self.assertEqual(magics, {0 if version < 2 else 1 if version < 4 else 2}, version)
            self.assertEqual(part.high_watermark, 2)
            self.assertEqual(part.last_stable_offset, 2 if version >= 4 else -1)
            self.assertEqual(part.log_start_offset, 0 if version >= 5 else -1)

    def test_the_bytes_of_the_producer(self) -> None:
        """The bytes of a batch are returned as they were sent, except base offset and leader epoch."""
        sent = [build_values([b"v" * 100] * 3, NOW_MS, codec) for codec in Codec]
        for records in sent:
            self.produce(records)
        (part,) = self.parts()
        got = bytes(raw(part))
        at = 0
        for number, records in enumerate(sent):
            header = parse_header(got, at)
            self.assertEqual((header.base_offset, header.partition_leader_epoch), (3 * number, 0))
            self.assertEqual(got[at + 8 : at + 12], records[8:12])
            self.assertEqual(got[at + 16 : at + len(records)], records[16:])
            at += len(records)
        self.assertEqual(at, len(got))

    def test_within_a_batch(self) -> None:
        """An offset in the middle of a batch returns the whole batch, which clients filter."""
        self.fill(b"a", b"b", b"c")
        (part,) = self.parts(asking(2))
        self.assertEqual(values(part.records), [b"a", b"b", b"c"])

    def test_old_clients_within_a_batch(self) -> None:
        """Records keep their offsets when they are converted for old clients."""
        self.fill(b"a", b"b", b"c")
        for version in range(4):
            (part,) = self.parts(asking(1), version=version)
            found = {record.offset: record.value for record in iter_any(raw(part))}
            self.assertEqual((found[1], found[2]), (b"b", b"c"), version)

    def test_first_batch_is_whole(self) -> None:
        """The first batch is returned whole, even above max_bytes of the partition and of the request."""
        self.fill(b"v" * 1000)
        self.fill(b"w")
        for topics, limit in (
            (asking(0, max_bytes=10), 1 << 20),
            (asking(0), 10),
            (asking(0, max_bytes=0), 0),
        ):
            (part,) = self.parts(topics, max_bytes=limit)
            self.assertEqual(values(part.records), [b"v" * 1000])

    def test_only_the_first_exceeds(self) -> None:
        """The request's max_bytes applies to the partitions after the first that has records."""
        self.fill(b"v" * 1000)
        self.fill(b"w" * 1000, partition=1)
        first, second = self.parts(asking(0, 0), max_bytes=1100)
        self.assertEqual((values(first.records), values(second.records)), ([b"v" * 1000], []))
        first, second = self.parts(asking(1, 0), max_bytes=10)
        self.assertEqual((values(first.records), values(second.records)), ([], [b"w" * 1000]))

    def test_partition_max_bytes(self) -> None:
        """The limit partition_max_bytes applies to each partition."""
        for _ in range(10):
            self.fill(b"v" * 100)
        (part,) = self.parts(asking(0, max_bytes=500))
        self.assertLessEqual(len(part.records or b""), 500)
        self.assertEqual(values(part.records), [b"v" * 100] * 2)

    def test_end_of_the_log(self) -> None:
        """A fetch at the end of the log returns no records and no error."""
        self.fill(b"a")
        (part,) = self.parts(asking(1))
        self.assertEqual((part.error_code, len(raw(part)), part.high_watermark), (0, 0, 1))

    def test_not_above_the_high_watermark(self) -> None:
        """Records above the high watermark are not returned, whatever the isolation level."""
        self.fill(b"a")
        self.fill(b"b")
        self.broker.topics.of("t")[0].high_watermark = 1
        for isolation_level in (0, 1):
            (part,) = self.parts(isolation_level=isolation_level)
            self.assertEqual((values(part.records), part.high_watermark), ([b"a"], 1))

    def test_read_committed(self) -> None:
        """A read_committed fetch has the high watermark as last stable offset, and no aborted ones."""
        self.fill(b"a")
        (part,) = self.parts(isolation_level=1)
        self.assertEqual((part.last_stable_offset, part.aborted_transactions), (1, []))
        (part,) = self.parts(isolation_level=0)
        self.assertEqual((part.last_stable_offset, part.aborted_transactions), (1, None))

    def test_zstd_is_not_converted(self) -> None:
        """A zstd batch is an error for versions that need conversion; the next partition is read."""
        self.produce(build_values([b"v"], NOW_MS, Codec.ZSTD))
        self.fill(b"w", partition=1)
        for version in VERSIONS:
            zstd, plain = self.parts(asking(0, 0), version=version)
            expected = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if version < 4 else 0
            self.assertEqual((zstd.error_code, values(plain.records)), (expected, [b"w"]), version)
            self.assertEqual(values(zstd.records), [b"v"] if version >= 4 else [])

    def test_zstd_topic_needs_version_10(self) -> None:
        """A topic with compression.type=zstd is an error before version 10, as in Apache Kafka."""
        self.make_topic("zstd", compression_type="zstd")
        self.fill(b"v", topic="zstd")
        for version in VERSIONS:
            (part,) = self.parts(asking(0, topic="zstd"), version=version)
            expected = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if version < 10 else 0
            self.assertEqual(part.error_code, expected, version)

    def test_storage_error(self) -> None:
        """A log that cannot be read is an error of its partition."""
        self.fill(b"v")
        self.fill(b"w", partition=1)

        def read(*_: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        self.patch(self.broker.topics.of("t")[0].log, "read", read)
        first, second = self.parts(asking(0, 0))
        self.assertEqual((first.error_code, values(second.records)), (ErrorCode.KAFKA_STORAGE_ERROR, [b"w"]))


class ErrorTests(FetchTestCase):
    def test_unknown(self) -> None:
        """An unknown topic or partition is refused."""
        for topics in (asking(0, topic="u"), asking(0, topic="../x"), asking(0, topic="")):
            self.assertEqual(codes(self.parts(topics)), [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
        self.assertEqual(codes(self.parts(asking(0, 0, 0))), [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])

    def test_out_of_range(self) -> None:
        """An offset outside the log is out of range, and a fetch that may wait is answered at once."""
        self.fill(b"a")
        for offset in (2, -1, 2**62, -(2**63)):
            for version in VERSIONS:
                (part,) = self.parts(asking(offset), version=version)
                self.assertEqual(part.error_code, ErrorCode.OFFSET_OUT_OF_RANGE, (offset, version))
            (part,) = self.came(self.park(asking(offset)))
            self.assertEqual(part.error_code, ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_below_the_start(self) -> None:
        """Records deleted by retention are out of range; the remaining ones are read."""
        self.fill(b"a")
        self.fill(b"b")
        self.broker.topics.of("t")[0].log.advance_log_start(1)
        self.assertEqual(codes(self.parts(asking(0))), [ErrorCode.OFFSET_OUT_OF_RANGE])
        (part,) = self.parts(asking(1))
        self.assertEqual((values(part.records), part.log_start_offset), ([b"b"], 1))

    def test_epochs(self) -> None:
        """An old leader epoch is fenced, a newer one is unknown, and both are answered at once."""
        self.broker.topics.of("t")[0].leader_epoch = 3
        for epoch, code in (
            (2, ErrorCode.FENCED_LEADER_EPOCH),
            (4, ErrorCode.UNKNOWN_LEADER_EPOCH),
            (3, 0),
            (-1, 0),
        ):
            self.assertEqual(codes(self.parts(asking(0, epoch=epoch))), [code])
            if code:
                self.assertEqual(codes(self.came(self.park(asking(0, epoch=epoch)))), [code])

    def test_race_with_retention(self) -> None:
        """An OffsetOutOfRange raised only during the read is reported."""
        self.fill(b"a")

        def read(*_: object) -> None:
            raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE)

        self.patch(self.broker.topics.of("t")[0].log, "read", read)
        self.assertEqual(codes(self.parts()), [ErrorCode.OFFSET_OUT_OF_RANGE])


class LimitTests(FetchTestCase):
    settings: ClassVar[Mapping[str, str]] = {"fetch.max.bytes": "1024"}

    def test_fetch_max_bytes(self) -> None:
        """No reply is larger than fetch.max.bytes, except that the first batch is whole."""
        for _ in range(20):
            self.fill(b"v" * 100)
        self.fill(b"w" * 2000, partition=1)
        first, second = self.parts(asking(0, 0))
        self.assertLessEqual(len(first.records or b""), 1024)
        self.assertEqual(values(second.records), [])
        (_, second) = self.parts(asking(20, 0))
        self.assertEqual(values(second.records), [b"w" * 2000])
