"""Tests of kafkatx.mirror.core.encoder, by the project's own reader and an independent one."""

from __future__ import annotations

import random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.record import Record
from kafkatx.mirror.core.encoder import BatchEncoder, size_of, total_size
from kafkatx.mirror.core.provenance import HEADER, HeaderStamp
from kafkatx.records import batch as v2
from kafkatx.records.builder import encode_headers
from kafkatx.records.compression import Codec


def record(offset: int, time_ms: int, key: bytes | None, value: bytes | None, headers: v2.Headers) -> Record:
    """Make a consumed record."""
    return Record("t", 1, offset, time_ms, 0, key, value, encode_headers(headers) if headers else b"")


def records(count: int, seed: int = 1) -> list[Record]:
    """Make records of all shapes, with gaps between their offsets."""
    chance = random.Random(seed)
    found, offset = [], chance.randrange(1 << 40)
    for _ in range(count):
        headers: v2.Headers = [("h" * chance.randrange(90), chance.choice([None, b"", b"x" * 70]))]
        found.append(
            record(
                offset,
                1_700_000_000_000 + chance.randrange(-10_000, 10_000_000),
                chance.choice([None, b"", b"k", bytes(70), bytes(9000)]),
                chance.choice([None, b"", b"v", bytes(100), bytes(10_000)]),
                headers * chance.randrange(3),
            )
        )
        offset += chance.choice([1, 1, 5])
    return found


class EncoderTests(SynchronousTestCase):
    def encoder(self, codec: Codec = Codec.NONE) -> BatchEncoder:
        """Make an encoder of a partition."""
        return BatchEncoder(HeaderStamp("C", "t", 1), codec)

    def test_copies(self) -> None:
        """All fields stay, the provenance comes behind the headers; offsets follow each other."""
        wanted = records(300)
        for codec in Codec:
            raw = memoryview(self.encoder(codec).encode(wanted, 9, 2, 40))
            header = v2.parse_header(raw)
            v2.check(raw, 0, header, produced=True)
            self.assertEqual(
                (header.producer_id, header.producer_epoch, header.base_sequence, header.codec),
                (9, 2, 40, codec),
            )
            self.assertEqual(header.max_timestamp, max(one.timestamp_ms for one in wanted))
            copies = list(v2.iter_records(raw))
            self.assertEqual([one.offset for one in copies], list(range(300)))
            self.assertEqual(
                [(one.timestamp, one.key, one.value, one.headers) for one in copies],
                [
                    (one.timestamp_ms, one.key, one.value, [*one.headers, (HEADER, b"C:t:1:%d" % one.offset)])
                    for one in wanted
                ],
            )

    def test_independent_reader(self) -> None:
        """kafka-python reads the same."""
        from kafka.record import MemoryRecords

        wanted = records(50, seed=2)
        batch = MemoryRecords(self.encoder().encode(wanted, 9, 2, 40)).next_batch()
        found = [(one.timestamp, one.key, one.value, one.headers[-1]) for one in batch]
        self.assertEqual(
            found,
            [(one.timestamp_ms, one.key, one.value, (HEADER, b"C:t:1:%d" % one.offset)) for one in wanted],
        )

    def test_no_time(self) -> None:
        """A record of magic 0 has no timestamp, nor has its copy."""
        raw = memoryview(self.encoder().encode([record(0, -1, None, b"v", [])], 9, 0, 0))
        self.assertEqual([one.timestamp for one in v2.iter_records(raw)], [-1])

    def test_size(self) -> None:
        """The size told for a batch is at least about that of the batch."""
        wanted = records(200, seed=3)
        told, real = total_size(wanted), len(self.encoder().encode(wanted, 9, 0, 0))
        self.assertEqual(told, sum(map(size_of, wanted)))
        self.assertLess(abs(told - real), 0.05 * real)
