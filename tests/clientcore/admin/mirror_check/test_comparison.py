"""Tests of the comparison of two copies of a partition."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.mirror_check.comparison import MOST_KEPT, Tally, batches_of, compare
from kafkatx.errors import CorruptRecords
from kafkatx.records.builder import BatchBuilder, assemble
from kafkatx.records.varint import encode
from tests.wire.strategies import quick

END = 1000
LOST = "the copy lacks this record, and has no later one with its key"


def batch(
    base_offset: int,
    *values: str | None,
    epoch: int = 0,
    producer_id: int = -1,
    key_at: int | None = None,
    transactional: bool = False,
) -> bytes:
    """Return a batch with one key for each value; None leaves an offset out, as compaction does.

    :param key_at: the offset whose key is the first one's; None: its own.
    """
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=transactional
    )
    for number, value in enumerate(values):
        key = base_offset + number if key_at is None else key_at + number
        builder.append(b"key %d" % key, (value or "").encode(), 5)
    if None not in values:
        return builder.build(base_offset, epoch)
    return _with_gaps(base_offset, values, epoch)


def _with_gaps(base_offset: int, values: tuple[str | None, ...], epoch: int) -> bytes:
    """Return a compacted batch: its records keep their offsets, and the header its last one."""
    payload = b""
    kept = [(number, value) for number, value in enumerate(values) if value is not None]
    for number, value in kept:
        key, data = b"key %d" % (base_offset + number), value.encode()
        body = b"\0" + encode(0) + encode(number) + encode(len(key)) + key + encode(len(data)) + data
        body += encode(0)
        payload += encode(len(body)) + body
    return assemble(
        payload,
        len(kept),
        0,
        5,
        5,
        base_offset=base_offset,
        leader_epoch=epoch,
        last_offset_delta=len(values) - 1,
    )


class ComparisonTests(SynchronousTestCase):
    def compare(
        self, source: list[bytes], copy: list[bytes], compacted: bool = False, start: int = 0, end: int = END
    ) -> Tally:
        """Compare two logs, each batch of which comes alone or with the next one."""
        tally = Tally(start, end, start)
        theirs = batches_of([memoryview(one) for one in source], start, end)
        ours = batches_of(
            [memoryview(b"".join(copy[at : at + 2])) for at in range(0, len(copy), 2)], start, end
        )
        for _ in compare(tally, theirs, ours, compacted):
            pass
        self.assertEqual(tally.position, end)
        return tally

    def whats(self, tally: Tally) -> list[tuple[int, int, str]]:
        """Return the differences."""
        self.assertEqual(tally.different, len(tally.differences))
        return [(one.first_offset, one.last_offset, one.what) for one in tally.differences]

    def test_equal(self) -> None:
        """Equal batches are counted with their bytes."""
        log = [batch(0, "a", "b"), batch(2, "c"), batch(7, "d", producer_id=4)]
        tally = self.compare(log, log)
        self.assertEqual((tally.batches, tally.different, tally.compacted), (3, 0, 0))
        self.assertEqual(tally.size_bytes, len(b"".join(log)))

    def test_other_records(self) -> None:
        """Another value, leader epoch, producer or length of a batch is a difference."""
        first, last = batch(0, "a"), batch(3, "z")
        for theirs, ours, what in (
            (batch(1, "a", "b"), batch(1, "a", "c"), "the records differ (other checksums)"),
            (batch(1, "a", "b", epoch=1), batch(1, "a", "b", epoch=2), "leader epoch or producer differ"),
            (
                batch(1, "a", "b", producer_id=1),
                batch(1, "a", "b", producer_id=2),
                "the records differ (other checksums)",
            ),
        ):
            tally = self.compare([first, theirs, last], [first, ours, last])
            self.assertEqual(self.whats(tally), [(1, 2, what)])

    def test_other_boundaries(self) -> None:
        """The same records in other batches are a difference."""
        tally = self.compare(
            [batch(0, "a", "b"), batch(2, "c")], [batch(0, "a"), batch(1, "b"), batch(2, "c")]
        )
        self.assertEqual(
            self.whats(tally),
            [
                (0, 0, "the source's batch has the offsets 0 to 1, the copy's 0 to 0"),
                (1, 1, "the source's batch has the offsets 0 to 1, the copy's 1 to 1"),
            ],
        )

    def test_missing(self) -> None:
        """A batch that one side lacks is a difference, at the beginning, in the middle and at the end."""
        log = [batch(0, "a"), batch(1, "b", "c"), batch(3, "d")]
        for at, edges in ((0, (0, 0)), (1, (1, 2)), (2, (3, 3))):
            less = log[:at] + log[at + 1 :]
            self.assertEqual(self.whats(self.compare(log, less)), [(*edges, "the copy lacks this batch")])
            lost = [(offset, offset, LOST) for offset in range(edges[0], edges[1] + 1)]
            self.assertEqual(self.whats(self.compare(log, less, compacted=True)), lost)
            self.assertEqual(
                self.whats(self.compare(less, log)), [(*edges, "the source does not have this batch")]
            )

    def test_compacted_away(self) -> None:
        """Compaction explains a batch that only the copy has."""
        log = [batch(0, "a"), batch(1, "b"), batch(2, "c")]
        tally = self.compare(log[2:], log, compacted=True)
        self.assertEqual((tally.different, tally.compacted, tally.batches), (0, 2, 1))

    def test_compacted_batch(self) -> None:
        """A batch of which compaction has removed records equals the whole one; other records do not."""
        whole, less = batch(0, "a", "b", "c"), batch(0, "a", None, "c")
        tally = self.compare([less], [whole], compacted=True)
        self.assertEqual((tally.different, tally.compacted), (0, 1))
        self.assertEqual(self.compare([less], [whole]).different, 1)
        (only,) = self.whats(self.compare([less], [batch(0, "a", "b", "x")], compacted=True))
        self.assertEqual(only, (2, 2, "records that both have differ"))
        self.assertEqual(self.whats(self.compare([whole], [less], compacted=True)), [(1, 1, LOST)])

    def test_copy_compacted_first(self) -> None:
        """The copy may lack a record of the source, or a batch, if it has a later record with its key."""
        newer = batch(7, "n", key_at=1)
        for log in ([batch(0, "a", "b", "c"), newer], [batch(0, "a"), batch(1, "b"), batch(2, "c"), newer]):
            copy = [batch(0, "a", None, "c"), newer] if len(log) == 2 else [log[0], log[2], newer]
            tally = self.compare(log, copy, compacted=True)
            self.assertEqual((tally.different, tally.compacted), (0, 1))
            self.assertEqual(self.whats(self.compare(log[:-1], copy[:-1], compacted=True)), [(1, 1, LOST)])
        older = [batch(0, "n", key_at=1), batch(1, "b")]
        self.assertEqual(self.whats(self.compare(older, older[:1], compacted=True)), [(1, 1, LOST)])

    def test_later_than_the_range(self) -> None:
        """A record that the copy has got since explains a missing one, too."""
        tally = Tally(0, 2, 0)
        source, copy = (batches_of([memoryview(one)], 0, 2) for one in (batch(0, "a", "b"), batch(0, "a")))
        newer = memoryview(batch(7, "n", key_at=1))
        for _ in compare(tally, source, copy, True, lambda: batches_of([newer], 2, END)):
            pass
        self.assertEqual(tally.different, 0)

    def test_transaction(self) -> None:
        """A missing record of a transaction may be one of an aborted one."""
        log = [batch(0, "a"), batch(1, "b", producer_id=1, transactional=True)]
        self.assertEqual(self.compare(log, log[:1], compacted=True).different, 0)

    def test_damaged(self) -> None:
        """Bytes that do not fit the checksum are a difference, although the headers are equal."""
        good = batch(0, "a", "b")
        bad = good[:-1] + bytes([good[-1] ^ 1])
        self.assertEqual(
            self.whats(self.compare([good], [bad])),
            [(0, 1, "the copy's batch is damaged: its checksum is wrong")],
        )
        self.assertEqual(
            self.whats(self.compare([bad], [good], compacted=True)),
            [(0, 1, "the source's batch is damaged: its checksum is wrong")],
        )
        self.assertEqual(self.compare([], [bad], compacted=True).different, 1)

    def test_range(self) -> None:
        """Batches outside of the range are left out; one at its beginning is compared whole."""
        log = [batch(0, "a"), batch(1, "b", "c"), batch(3, "d"), batch(4, "e")]
        tally = self.compare([log[1], log[2]], log, start=2, end=4)
        self.assertEqual((tally.batches, tally.different), (2, 0))

    def test_old_formats(self) -> None:
        """Messages of old formats are compared by their bytes."""
        a, b = (struct.pack(">qi", 0, 14) + struct.pack(">IbbiI", 1, 0, 0, -1, n) for n in (1, 2))
        self.assertEqual(self.compare([a], [a]).different, 0)
        self.assertEqual(self.compare([a], [b]).different, 1)

    def test_many(self) -> None:
        """All differences are counted, and the first ones kept."""
        theirs = [batch(n, "a") for n in range(MOST_KEPT + 5)]
        ours = [batch(n, "b") for n in range(MOST_KEPT + 5)]
        tally = self.compare(theirs, ours)
        self.assertEqual((tally.different, len(tally.differences)), (MOST_KEPT + 5, MOST_KEPT))

    def test_no_batches(self) -> None:
        """Bytes that are no batches are an error."""
        self.assertRaises(CorruptRecords, self.compare, [b"\xff" * 100], [])

    def test_any_change(self) -> None:
        """Any change of one batch of any log is found, and nothing is found without one."""

        @quick(100)
        @given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
        def check(sizes: list[int], data: st.DataObject) -> None:
            log, at = [], 0
            for size in sizes:
                log.append(batch(at, *(f"{at + n}" for n in range(size))))
                at += size
            self.assertEqual(self.compare(log, log).different, 0)
            self.assertEqual(self.compare(log, log, compacted=True).different, 0)
            changed = data.draw(st.integers(0, len(log) - 1))
            byte = data.draw(st.integers(12, len(log[changed]) - 1).filter(lambda n: n != 16))
            other = bytearray(log[changed])
            other[byte] ^= 1 << data.draw(st.integers(0, 7))
            for pair in ((log[changed], bytes(other)), (bytes(other), log[changed])):
                theirs, ours = [*log], [*log]
                theirs[changed], ours[changed] = pair
                self.assertGreater(self.compare(theirs, ours).different, 0)

        check()
