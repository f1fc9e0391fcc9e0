"""Tests of kafkatx.mirror.core.tail: where streams go on, by the batches of a log."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.record import Record
from kafkatx.errors import CorruptRecords
from kafkatx.mirror.core.encoder import BatchEncoder
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.provenance import HeaderStamp
from kafkatx.mirror.core.tail import NO_SOURCE, SEQUENCES, Copied, StreamTail, TailScan, resume
from kafkatx.records import batch as v2
from kafkatx.records.builder import BatchBuilder
from tests.mirror.batches import compacted, stamped

A, B = 1001, 1002


def batch(producer: int, sources: list[int], sequence: int, base: int, epoch: int = 0) -> bytes:
    """Return a batch of a stream, as the log has it."""
    encoder = BatchEncoder(HeaderStamp("C", "t", 0))
    copies = [Record("t", 0, source, 5, 0, b"k%d" % source, b"v") for source in sources]
    return stamped(encoder.encode(copies, producer, epoch, sequence), base)


def foreign(base: int, count: int = 3) -> bytes:
    """Return a batch of another producer."""
    builder = BatchBuilder()
    builder.append_values([b"x"] * count, 5)
    return builder.build(base)


def scan(*batches: bytes, start: int = 0) -> TailScan:
    """Read a log with the streams A and B."""
    found = TailScan([A, B], start)
    found.feed(memoryview(b"".join(batches)))
    return found


class ScanTests(SynchronousTestCase):
    def test_fan_in(self) -> None:
        """Two streams in one log, with others between: each has its own last batch and copies."""
        found = scan(batch(A, [0, 1], 0, 0), batch(B, [7], 0, 2), foreign(3), batch(A, [2, 5], 2, 6))
        self.assertEqual(found.tails[A], StreamTail(0, 4, 8, 5, 0, 3))
        self.assertEqual(found.tails[B], StreamTail(0, 1, 3, 7, 0, 0))
        self.assertEqual(found.copied, {A: [Copied([0, 1], 0), Copied([2, 5], 6)], B: [Copied([7], 2)]})
        self.assertEqual(found.next_offset, 8)

    def test_pieces(self) -> None:
        """A batch that is cut off at the end of a piece is left for the next one."""
        log = batch(A, [0, 1], 0, 0) + batch(A, [2], 2, 2)
        found = TailScan([A], 0)
        used = found.feed(memoryview(log[:-1]))
        self.assertEqual((found.next_offset, found.tails[A].source), (2, 1))
        found.feed(memoryview(log[used:]))
        self.assertEqual((found.next_offset, found.tails[A].source), (3, 2))

    def test_before_the_start(self) -> None:
        """The broker answers with a whole batch, also if only its end was asked for."""
        found = scan(batch(A, [0, 1], 0, 0), batch(A, [2], 2, 2), start=2)
        self.assertEqual(found.copied, {A: [Copied([2], 2)]})

    def test_epoch_and_wrap(self) -> None:
        """The last epoch counts; sequence numbers begin at 0 again after the last one."""
        found = scan(batch(A, [0], 7, 0), batch(A, [1, 2], SEQUENCES - 1, 1, epoch=3))
        self.assertEqual((found.tails[A].producer_epoch, found.tails[A].next_sequence), (3, 1))

    def test_damaged(self) -> None:
        """A damaged batch of a stream is an error; one of others is not looked at."""
        bad = bytearray(batch(A, [0, 1], 0, 0))
        bad[-1] ^= 1
        with self.assertRaises(CorruptRecords):
            scan(bytes(bad))
        other = bytearray(foreign(0))
        other[-1] ^= 1
        self.assertEqual(scan(bytes(other), batch(A, [4], 0, 3)).tails[A].source, 4)

    def test_compacted(self) -> None:
        """Only headers of the last batches may be left: then their records are counted, to be skipped."""
        first = batch(A, [0, 1, 2], 0, 0)
        second = batch(A, [3, 4], 3, 3)
        gone = compacted(second, [])
        self.assertEqual(v2.parse_header(gone).count, 0)
        tail = scan(first, gone).tails[A]
        self.assertEqual((tail.source, tail.skip, tail.next_sequence, tail.target), (2, 2, 5, 5))
        tail = scan(compacted(first, [0]), gone).tails[A]
        self.assertEqual((tail.source, tail.skip), (0, 4))
        tail = scan(first, gone, batch(A, [9], 5, 5)).tails[A]
        self.assertEqual((tail.source, tail.skip), (9, 0))
        self.assertEqual(
            scan(compacted(batch(A, [0, 1, 2, 3], 0, 0), [0, 1, 3])).copied[A],
            [Copied([0, 1], 0), Copied([3], 3)],
        )


class ResumeTests(SynchronousTestCase):
    KNOWN = Position(50, 40, A, 1, 30, "old")

    def test_nothing(self) -> None:
        """Nothing is known: the stream begins."""
        self.assertEqual(resume(None, None, A, "id").position, Position(NO_SOURCE, -1, A, 0, 0, "id"))

    def test_noted(self) -> None:
        """Nothing was written since the note: it counts."""
        self.assertEqual(resume(self.KNOWN, None, A, "id").position, Position(50, 40, A, 1, 30, "id"))

    def test_log(self) -> None:
        """The log goes before the note."""
        found = resume(self.KNOWN, StreamTail(1, 35, 47, 60, 0), A, "id")
        self.assertEqual((found.position, found.skip), (Position(61, 47, A, 1, 35, "id"), 0))
        found = resume(None, StreamTail(1, 35, 47, 60, 3), A, "")
        self.assertEqual((found.position.source, found.skip), (61, 3))

    def test_headers_only(self) -> None:
        """Only headers are left since the note: as many records as they had are skipped behind it."""
        found = resume(self.KNOWN, StreamTail(1, 35, 47), A, "id")
        self.assertEqual((found.position, found.skip), (Position(50, 47, A, 1, 35, "id"), 5))
        found = resume(None, StreamTail(1, 35, 47), A, "id")
        self.assertEqual((found.position.source, found.skip), (NO_SOURCE, 35))
