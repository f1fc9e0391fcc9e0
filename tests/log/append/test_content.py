"""Tests of kafkatx.log.append.content: when the content of batches is validated, and the result."""

from __future__ import annotations

import struct

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import BOUNDED, FULL, HEADERS, LogConfig
from kafkatx.errors import ErrorCode
from kafkatx.interfaces.storage import DEFER_VALIDATION, NEEDS_VALIDATION, TRUSTED
from kafkatx.log.append.appender import Appender
from kafkatx.log.append.content import (
    SMALL_BYTES,
    SMALL_RECORDS,
    Allowance,
    ValidatedRecords,
    ValidationRequired,
)
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.transactions.ended import EndedTransactions
from kafkatx.records.batch import Record, parse_header
from kafkatx.records.builder import BatchBuilder, assemble, build_values
from kafkatx.records.compression import Codec, compress
from kafkatx.records.legacy import message_sets
from kafkatx.testing.contracts.partition_log import NOW_MS, TP

COMPACT = frozenset({"compact"})
CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
RECORD = build_values([b"v"], NOW_MS)[61:]


def log(**settings: object) -> Appender:
    """Return a log that stores nothing."""
    config = LogConfig(**settings)  # type: ignore[arg-type]
    return Appender(TP, config, ProducerStateManager(), EndedTransactions(), LeaderEpochCache(), 0)


def made(payload: bytes, count: int, codec: Codec = Codec.NONE) -> bytes:
    """Return a batch with a right header and checksum around any payload."""
    return assemble(payload, count, codec, NOW_MS, NOW_MS)


def numbered(count: int) -> bytes:
    """Return the payload of *count* small records."""
    return build_values([b""] * count, NOW_MS)[61:]


class RefusedTests(SynchronousTestCase):
    def check(self, batch: bytes, code: ErrorCode, **settings: object) -> None:
        """Check that the batch is refused, at once or after its validation, and that nothing is staged."""
        for validated in (None, DEFER_VALIDATION):
            appending = log(**settings)
            done = appending.append(batch, 0, NOW_MS, True, validated)
            if isinstance(done, ValidationRequired):
                done = appending.append(batch, 0, NOW_MS, True, done.validate())
            self.assertEqual(ErrorCode.of(done.error), code)
            self.assertEqual(appending.staged.batches, [])

    def test_garbage(self) -> None:
        """A batch that cannot be decompressed is refused, with an error that producers do not retry."""
        for codec in CODECS:
            self.check(made(b"garbage that is nothing", 3, codec), ErrorCode.INVALID_RECORD)

    def test_garbage_always(self) -> None:
        """A batch that cannot be decompressed is refused, also when the allowance is used up."""
        for codec in CODECS:
            appending = log()
            appending._allowance.open_ms = NOW_MS + 1
            batch = made(b"garbage that is nothing", 3, codec)
            done = appending.append(batch, 0, NOW_MS, True)
            if isinstance(done, ValidationRequired):
                done = appending.append(batch, 0, NOW_MS, True, done.validate())
            self.assertEqual(ErrorCode.of(done.error), ErrorCode.INVALID_RECORD)

    def test_counts(self) -> None:
        """More or fewer records than the header says are refused, compressed or not."""
        for count in (1, 2, 4, 9):
            for codec in (Codec.NONE, *CODECS):
                self.check(made(compress(codec, numbered(3)), count, codec), ErrorCode.INVALID_RECORD)

    def test_one_offset(self) -> None:
        """Two records under one offset are refused."""
        for codec in (Codec.NONE, *CODECS):
            self.check(made(compress(codec, RECORD * 2), 2, codec), ErrorCode.INVALID_RECORD)

    def test_log_end(self) -> None:
        """A few bytes do not move the log's end by 2^31, even if only headers are checked."""
        batch = made(compress(Codec.GZIP, RECORD), 2**31 - 1, Codec.GZIP)
        for validation in (HEADERS, BOUNDED, FULL):
            self.check(batch, ErrorCode.INVALID_RECORD, records_validation=validation)

    def test_bomb(self) -> None:
        """A batch that is too large, decompressed, is refused; a topic that allows it stores it."""
        payload = build_values([bytes(3_000_000)], NOW_MS)[61:]
        for codec in CODECS:
            batch = made(compress(codec, payload), 1, codec)
            self.check(batch, ErrorCode.MESSAGE_TOO_LARGE, max_inflated_bytes=2_000_000)
            self.check(
                batch, ErrorCode.MESSAGE_TOO_LARGE, max_inflated_bytes=2_000_000, cleanup_policy=COMPACT
            )
            appending = log(max_inflated_bytes=4_000_000)
            done = appending.append(batch, 0, NOW_MS, True)
            assert isinstance(done, ValidationRequired)
            self.assertEqual(appending.append(batch, 0, NOW_MS, True, done.validate()).error, 0)

    def test_keys(self) -> None:
        """Records without key are named, as many as a thousand."""
        batch = made(compress(Codec.ZSTD, numbered(3)), 3, Codec.ZSTD)
        self.check(batch, ErrorCode.INVALID_RECORD, cleanup_policy=COMPACT)
        done = log(cleanup_policy=COMPACT).append(batch, 0, NOW_MS, True)
        self.assertEqual([number for number, _ in done.record_errors], [0, 1, 2])

    def test_attributes(self) -> None:
        """Attribute bits that are not a client's are refused."""
        for bit in (0x40, 0x80, 0x4000):
            self.check(assemble(RECORD, 1, bit, NOW_MS, NOW_MS), ErrorCode.INVALID_RECORD)

    def test_message_sets(self) -> None:
        """The wrappers of a message set share one limit."""
        big = Record(0, NOW_MS, None, bytes(1_200_000), [])
        wrapper = message_sets.build([big], 1, Codec.GZIP, 0)
        for count, code in ((1, ErrorCode.NONE), (2, ErrorCode.MESSAGE_TOO_LARGE)):
            appending = log(max_inflated_bytes=2_000_000)
            done = appending.append(wrapper * count, 0, NOW_MS, False)
            assert isinstance(done, ValidationRequired)
            done = appending.append(wrapper * count, 0, NOW_MS, False, done.validate())
            self.assertEqual(ErrorCode.of(done.error), code)


class WhenTests(SynchronousTestCase):
    """Content that is validated during the append, later, or not at all."""

    def test_small(self) -> None:
        """Small batches are validated at once; many records, many bytes, or what inflates to many are not."""
        few = made(compress(Codec.GZIP, numbered(10)), 10, Codec.GZIP)
        many = made(compress(Codec.GZIP, numbered(SMALL_RECORDS + 1)), SMALL_RECORDS + 1, Codec.GZIP)
        payload = build_values([bytes(100_000)], NOW_MS)[61:]
        inflating = made(compress(Codec.GZIP, payload), 1, Codec.GZIP)
        self.assertEqual(log().append(few, 0, NOW_MS, True).error, 0)
        for batch in (many, inflating):
            self.assertEqual(log().append(batch, 0, NOW_MS, True).error, NEEDS_VALIDATION)
        self.assertEqual(log().append(few, 0, NOW_MS, True, DEFER_VALIDATION).error, NEEDS_VALIDATION)
        large = build_values([bytes(2 * SMALL_BYTES)], NOW_MS)
        self.assertEqual(log(records_validation=FULL).append(large, 0, NOW_MS, True).error, 0)

    def test_trusted(self) -> None:
        """Batches that the broker itself has built are not validated."""
        batch = made(b"garbage", 1, Codec.GZIP)
        self.assertEqual(log().append(batch, 0, NOW_MS, True, TRUSTED).error, 0)

    def test_headers(self) -> None:
        """Garbage is stored if only headers are checked, but not on a compacted topic."""
        batch = made(b"garbage", 1, Codec.GZIP)
        self.assertEqual(log(records_validation=HEADERS).append(batch, 0, NOW_MS, True).error, 0)
        done = log(records_validation=HEADERS, cleanup_policy=COMPACT).append(batch, 0, NOW_MS, True)
        self.assertEqual(done.error, ErrorCode.INVALID_RECORD)

    def test_full(self) -> None:
        """Fields that do not fit are found while the allowance lasts, which refused batches do not use up.

        Where all records are checked they always are.
        """
        record = bytes((14, 0, 0, 0, 126, 1, 0, 0))
        packed, plain = made(compress(Codec.GZIP, record), 1, Codec.GZIP), made(record, 1)
        bounded = log()
        for _ in range(2000):
            self.assertEqual(bounded.append(plain, 0, NOW_MS, True).error, ErrorCode.INVALID_RECORD)
        bounded._allowance.open_ms = NOW_MS + 1
        self.assertEqual(bounded.append(plain, 0, NOW_MS, True).error, 0)
        self.assertEqual(bounded.append(packed, 0, NOW_MS, True).error, 0)
        full = log(records_validation=FULL)
        full._allowance.open_ms = NOW_MS + 1
        for batch in (plain, packed):
            self.assertEqual(full.append(batch, 0, NOW_MS, True).error, ErrorCode.INVALID_RECORD)

    def test_allowance(self) -> None:
        """A log checks every field of a thousand records, then of a hundred a second."""
        allowance = Allowance()
        taken = [allowance.take(100, NOW_MS) for _ in range(20)]
        self.assertEqual(taken, [True] * 11 + [False] * 9)
        taken = [allowance.take(10, NOW_MS + 1000 + second * 1000) for second in range(1, 100)]
        self.assertTrue(all(taken))
        self.assertTrue(allowance.take(10**6, NOW_MS + 200_000))
        self.assertFalse(allowance.take(1, NOW_MS + 209_000))
        self.assertTrue(allowance.take(1, NOW_MS + 211_000))

    def test_single_always(self) -> None:
        """A batch of one record that holds two is refused, however many came before it."""
        appending = log()
        appending._allowance.open_ms = NOW_MS + 10**6
        done = appending.append(made(RECORD * 2, 1), 0, NOW_MS, True)
        self.assertEqual(done.error, ErrorCode.INVALID_RECORD)
        self.assertEqual(appending.append(made(RECORD, 1), 0, NOW_MS, True).error, 0)

    def test_other_settings(self) -> None:
        """Records that were validated by settings that have changed since are validated again."""
        appending = log()
        batch = made(compress(Codec.GZIP, numbered(5000)), 5000, Codec.GZIP)
        done = appending.append(batch, 0, NOW_MS, True)
        assert isinstance(done, ValidationRequired)
        validated = done.validate()
        self.assertIsInstance(validated, ValidatedRecords)
        appending.configure(LogConfig(compression_type="lz4"))
        again = appending.append(batch, 0, NOW_MS, True, validated)
        assert isinstance(again, ValidationRequired)
        self.assertEqual(appending.append(batch, 0, NOW_MS, True, again.validate()).error, 0)
        (codec,) = struct.unpack_from(">h", b"".join(appending.staged.buffers), 21)
        self.assertEqual(codec, Codec.LZ4)

    def test_recompressed(self) -> None:
        """A batch that is compressed anew keeps producer, epoch and sequence, and its transaction."""
        appending = log(compression_type="lz4")
        builder = BatchBuilder(Codec.GZIP, 77, 3, 0, transactional=True)
        for number in range(5000):
            builder.append(None, b"%d" % number, NOW_MS)
        sent = builder.build()
        done = appending.append(sent, 0, NOW_MS, True, None, True)
        assert isinstance(done, ValidationRequired)
        self.assertEqual(appending.append(sent, 0, NOW_MS, True, done.validate(), True).error, 0)
        kept = parse_header(b"".join(appending.staged.buffers))
        self.assertEqual((kept.codec, kept.transactional), (Codec.LZ4, True))
        self.assertEqual((kept.producer_id, kept.producer_epoch, kept.base_sequence), (77, 3, 0))

    def test_grown_log(self) -> None:
        """A message set that was validated for another offset is validated again and gets the right one."""
        appending = log()
        records = [Record(n, NOW_MS, None, bytes(2000), []) for n in range(50)]
        for magic in (0, 1):
            data = message_sets.build(records, magic, Codec.GZIP, 0) * 30
            done = appending.append(data, 0, NOW_MS, False, DEFER_VALIDATION)
            assert isinstance(done, ValidationRequired)
            validated = done.validate()
            self.assertEqual(appending.append(made(RECORD, 1), 0, NOW_MS, True).error, 0)
            again = appending.append(data, 0, NOW_MS, False, validated)
            assert isinstance(again, ValidationRequired)
            before = appending.next_offset
            final = appending.append(data, 0, NOW_MS, False, again.validate())
            self.assertEqual((final.error, final.base_offset), (0, before))
            stored = b"".join(appending.staged.buffers[-60:])
            offsets = [record.offset for record in message_sets.iter_records(stored)]
            self.assertEqual(offsets, list(range(before, before + 1500)))


class ProducerIdTests(SynchronousTestCase):
    def test_bounded(self) -> None:
        """A log remembers as many producers as it may, those that wrote last; a failed write changes none."""
        appending = log(producer_ids_max=50)
        for number in range(500):
            batch = build_values([b"v"], NOW_MS, Codec.NONE, number, 0, 0)
            self.assertEqual(appending.append(batch, 0, NOW_MS + number, True).error, 0)
            appending.written()
        known = list(appending.producers.states)
        self.assertLessEqual(len(known), 50)
        self.assertEqual(known, list(range(500 - len(known), 500)))
        before = dict(appending.producers.states)
        appending.append(build_values([b"v"], NOW_MS, Codec.NONE, 499, 0, 1), 0, NOW_MS, True)
        appending.discard()
        self.assertEqual(appending.producers.states, before)
