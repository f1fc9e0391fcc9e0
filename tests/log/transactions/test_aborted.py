"""Tests of kafkatx.log.transactions.aborted: the format, and the search for those that a reader must know."""

from __future__ import annotations

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.segment.index import IndexDamaged
from kafkatx.log.transactions.aborted import (
    AbortedTransaction,
    AbortedTransactions,
    decode_aborted,
    encode_aborted,
)

ONE, TWO = AbortedTransaction(7, 10, 20, 5), AbortedTransaction(8, 5, 30, 31)


def some(random: Random, count: int) -> list[AbortedTransaction]:
    """Return transactions of concurrent producers, each with the right last stable offset."""
    entries: list[AbortedTransaction] = []
    opened: dict[int, int] = {}
    offset = 0
    while len(entries) < count:
        producer_id = random.randrange(6)
        if producer_id in opened:
            first = opened.pop(producer_id)
            entries.append(
                AbortedTransaction(producer_id, first, offset, min(opened.values(), default=offset + 1))
            )
        else:
            opened[producer_id] = offset
        offset += random.randint(1, 3)
    return entries


class FormatTests(SynchronousTestCase):
    def test_bytes(self) -> None:
        """An entry has 34 bytes, as Apache Kafka's ``AbortedTxn``."""
        data = encode_aborted([ONE])
        self.assertEqual(data.hex(), "0000" + "".join(f"{value:016x}" for value in ONE))
        self.assertEqual(decode_aborted(data + encode_aborted([TWO])), [ONE, TWO])
        self.assertEqual(decode_aborted(b""), [])

    def test_damaged(self) -> None:
        """Bytes that no log would have written are an error."""
        whole = encode_aborted([ONE, TWO])
        for data in (
            whole[:-1],
            b"\0\1" + whole[2:],
            encode_aborted([TWO, ONE]),
            encode_aborted([ONE, ONE]),
            encode_aborted([ONE._replace(first_offset=20)]),
            encode_aborted([ONE._replace(first_offset=-1)]),
        ):
            self.assertRaises(IndexDamaged, decode_aborted, data)


class SearchTests(SynchronousTestCase):
    def test_as_a_list(self) -> None:
        """For any range all transactions are found that a look at each of them finds."""
        for seed in range(30):
            entries = some(Random(seed), 40)
            known = AbortedTransactions(entries)
            for start in range(0, 90, 7):
                for end in range(start + 1, 100, 5):
                    expected = sorted(
                        (one.first_offset, one.producer_id)
                        for one in entries
                        if one.last_offset >= start and one.first_offset < end
                    )
                    found = known.among(start, end, 1000)
                    self.assertEqual(found, (end, [(key, first) for first, key in expected]))

    def test_shortened(self) -> None:
        """A range with too many is made shorter, and what is found is right for the shorter one."""
        for seed in range(30):
            known = AbortedTransactions(some(Random(seed), 60))
            for start in range(0, 90, 3):
                end, found = known.among(start, 1000, 2)
                self.assertGreater(end, start)
                self.assertEqual(known.among(start, end, 1000), (end, found))
                within = [first for _, first in found if first > start]
                self.assertLessEqual(len(within), 2)

    def test_stops(self) -> None:
        """The search ends at a transaction after which none can have begun in the range."""
        known = AbortedTransactions([ONE._replace(last_stable_offset=21), TWO._replace(first_offset=6)])
        self.assertEqual(known.among(0, 21, 10), (21, [(7, 10)]))
        self.assertEqual(known.among(0, 22, 10), (22, [(8, 6), (7, 10)]))


class ChangeTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make ten transactions, with markers at 1, 3 ... 19."""
        self.entries = [AbortedTransaction(1, 2 * n, 2 * n + 1, 2 * n + 2) for n in range(10)]
        self.known = AbortedTransactions(self.entries)

    def test_cut_from(self) -> None:
        """The transactions from a marker on are forgotten."""
        self.known.cut_from(7)
        self.assertEqual(list(self.known), self.entries[:3])

    def test_cut_before(self) -> None:
        """The transactions before a marker are forgotten."""
        self.known.cut_before(7)
        self.assertEqual(list(self.known), self.entries[3:])

    def test_replace(self) -> None:
        """Those of a range are replaced by fewer or none."""
        self.known.replace(5, 12, [self.entries[4]])
        self.assertEqual(list(self.known), [*self.entries[:2], self.entries[4], *self.entries[6:]])
        self.known.replace(0, 100, [])
        self.assertEqual((list(self.known), len(self.known)), ([], 0))

    def test_part(self) -> None:
        """A part is taken by numbers."""
        self.assertEqual(self.known.part(2, 4), self.entries[2:4])
        self.assertEqual(self.known.number_of(5), 2)
