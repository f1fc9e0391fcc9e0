"""Tests of kafkatx.log.append.follower; the contract of logs has the rest (log_replication)."""

from __future__ import annotations

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.append.follower import FollowedBatches, check_batches
from kafkatx.records.batch import Record
from kafkatx.records.compression import Codec
from kafkatx.records.keyed import build_keyed
from kafkatx.records.legacy.message_sets import build
from kafkatx.testing.contracts.partition_log import NOW_MS
from tests.log.segments import info, stored


class CheckTests(SynchronousTestCase):
    def check(
        self, *batches: bytes, next_offset: int = 0, latest: int = -1, leader: int = 9, is_empty: bool = False
    ) -> FollowedBatches:
        """Return the batches at the start of a reply."""
        return check_batches(memoryview(b"".join(batches)), next_offset, latest, leader, is_empty)

    def test_nothing(self) -> None:
        """An empty reply has no batch, and changes nothing."""
        found = self.check(next_offset=7, latest=3)
        self.assertEqual((found.size, found.batches, found.next_offset), (0, [], 7))
        self.assertEqual((found.latest_epoch, found.changes), (3, False))

    def test_facts(self) -> None:
        """The size, offsets and newest time of each batch are known, and the producer's sequences."""
        first = stored([b"a", b"b"], 4, [NOW_MS, NOW_MS - 5], 2, (7, 1, 30))
        second = stored([b"c"], 6, None, 2)
        found = self.check(first, second, next_offset=4, latest=2)
        self.assertEqual(found.batches, [info(first), info(second)])
        self.assertEqual((found.size, found.next_offset), (len(first) + len(second), 7))
        self.assertEqual(found.of_producers, [(7, 1, 30, 4, 5, False, None)])
        self.assertFalse(found.changes)

    def test_epochs(self) -> None:
        """Each new epoch begins at the base offset of its first batch, in a gap or not."""
        batches = [stored([b"x"], offset, epoch=epoch) for offset, epoch in ((3, 1), (4, 1), (6, 4), (7, 9))]
        found = self.check(*batches, next_offset=3, latest=0)
        self.assertEqual(found.epoch_starts, [(1, 3), (4, 6), (9, 7)])
        self.assertEqual((found.latest_epoch, found.gap_end, found.changes), (9, 6, True))
        self.assertRaises(CorruptRecords, self.check, *batches, next_offset=3, latest=0, leader=8)
        self.assertRaises(CorruptRecords, self.check, *batches, next_offset=3, latest=2)
        self.assertRaises(CorruptRecords, self.check, stored([b"x"], 0, epoch=5), latest=5, leader=4)

    def test_first_of_an_empty_log(self) -> None:
        """Only the first batch may begin below the end, only in an empty log, and it must reach the end."""
        first, second = stored([b"a", b"b", b"c"], 5), stored([b"d"], 8)
        found = self.check(first, second, next_offset=7, is_empty=True)
        self.assertEqual((found.next_offset, found.gap_end), (9, 0))
        self.assertRaises(CorruptRecords, self.check, first, next_offset=7)
        self.assertRaises(CorruptRecords, self.check, first, next_offset=8, is_empty=True)
        self.assertRaises(CorruptRecords, self.check, first, first, next_offset=7, is_empty=True)

    def test_old_formats(self) -> None:
        """The header of a compressed message has only the last offset; no message has an epoch."""
        records = [Record(0, NOW_MS + number, b"k", b"v" * 9, []) for number in range(3)]
        for magic in (0, 1):
            plain, packed = build(records, magic, Codec.NONE, 2), build(records, magic, Codec.GZIP, 5)
            found = self.check(
                stored([b"x"], 1, epoch=3), plain, packed, stored([b"y"], 9, epoch=4), next_offset=1
            )
            offsets = [(batch.base_offset, batch.last_offset) for batch in found.batches]
            self.assertEqual(offsets, [(1, 1), (2, 2), (3, 3), (4, 4), (5, 7), (9, 9)])
            self.assertEqual((found.epoch_starts, found.forgets_epochs), ([(4, 9)], True))
            self.assertEqual((found.gap_end, found.latest_epoch), (9, 4))
            self.assertEqual(self.check(plain, packed[:-1], next_offset=2).size, len(plain))
            self.assertRaises(CorruptRecords, self.check, plain, next_offset=3)
            self.assertRaises(CorruptRecords, self.check, plain[:-1] + b"?", next_offset=2)
        least = build([Record(0, -1, None, None, [])], 0)
        self.assertEqual(self.check(least).size, 26)
        self.assertEqual(self.check(least[:-1]).size, 0)

    def test_garbage(self) -> None:
        """Garbage is refused, or whole batches of it are found; nothing else is raised."""
        random = Random(3)
        good = b"".join(stored([b"x" * 9], offset, epoch=offset // 3) for offset in range(6))
        for _ in range(3000):
            data = bytearray(good)
            for _ in range(random.randint(1, 4)):
                data[random.randrange(len(data))] = random.randrange(256)
            part = bytes(data[: random.randint(0, len(data))])
            try:
                found = self.check(part)
            except CorruptRecords:
                continue
            self.assertLessEqual(found.size, len(part))
            self.assertEqual(found.size, sum(batch.size for batch in found.batches))

    def test_no_copy(self) -> None:
        """Bytes are checked where they are."""
        data = bytearray(stored([b"x"], 0))
        found = self.check(bytes(data))
        self.assertEqual(found.size, len(data))

    def test_without_sequence(self) -> None:
        """A batch of a transaction counts without a sequence, too: the broker writes such ones."""
        data = build_keyed([(b"k", b"v")], NOW_MS, (7, 3))
        found = self.check(data[:12] + (0).to_bytes(4, "big") + data[16:])
        self.assertEqual(found.of_producers, [(7, 3, -1, 0, 0, True, None)])
