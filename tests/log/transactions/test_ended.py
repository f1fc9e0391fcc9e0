"""Tests of kafkatx.log.transactions.ended: what is not stable yet, and the replay of batches."""

from __future__ import annotations

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.segment.scan import parse
from kafkatx.log.transactions.aborted import AbortedTransaction
from kafkatx.log.transactions.ended import EndedTransaction, EndedTransactions, replay
from kafkatx.records.control import build_marker
from kafkatx.records.keyed import build_keyed
from kafkatx.testing.contracts.log.transactions import ABORT, control_batch, in_transaction
from kafkatx.testing.contracts.log_replication import at_offset
from kafkatx.testing.contracts.partition_log import NOW_MS, batch


def ended(first: int, last: int, committed: bool = True) -> EndedTransaction:
    """Return a transaction of producer 1."""
    return EndedTransaction(1, first, last, last + 1, committed)


class UnstableTests(SynchronousTestCase):
    def test_as_a_list(self) -> None:
        """The first unstable offset is the least of those whose marker is not below the high watermark."""
        for seed in range(50):
            random = Random(seed)
            markers = sorted(random.sample(range(1, 100), 20))
            every = [ended(random.randrange(last), last) for last in markers]
            known = EndedTransactions()
            high_watermark = 0
            for number, one in enumerate(every, 1):
                known.add([one], high_watermark)
                if random.random() < 0.5:
                    high_watermark = random.randint(high_watermark, one.last_offset + 1)
                firsts = [two.first_offset for two in every[:number] if two.last_offset >= high_watermark]
                self.assertEqual(known.first_unstable(high_watermark), min(firsts, default=NO_LIMIT))

    def test_forgotten(self) -> None:
        """Stable transactions are forgotten when others are added: idle followers do not collect them."""
        known = EndedTransactions()
        for number in range(1000):
            known.add([ended(2 * number, 2 * number + 1)], 2 * number)
        self.assertEqual(len(known.unstable), 1)

    def test_cut(self) -> None:
        """The transactions whose markers are cut off have not ended."""
        known = EndedTransactions()
        known.add([ended(0, 5, False), ended(6, 7), ended(8, 9, False)], 0)
        known.cut_from(7)
        self.assertEqual(list(known.aborted), [AbortedTransaction(1, 0, 5, 6)])
        self.assertEqual(list(known.unstable), [(5, 0)])
        known.clear()
        self.assertEqual((list(known.aborted), known.first_unstable(0)), ([], NO_LIMIT))


class ReplayTests(SynchronousTestCase):
    def replayed(self, *batches: bytes) -> tuple[ProducerStateManager, list[EndedTransaction]]:
        """Replay batches of one record each."""
        producers = ProducerStateManager()
        found = []
        for offset, sent in enumerate(batches):
            data = at_offset(sent, offset)
            one = replay(producers, parse(data, 0, 0), lambda data=data: data, NOW_MS)  # type: ignore[misc]
            if one is not None:
                found.append(one)
        return producers, found

    def test_ended(self) -> None:
        """A marker ends its producer's transaction, and tells the first offset of the oldest other one."""
        producers, found = self.replayed(
            in_transaction(1, 1), in_transaction(1, 2), batch([b"a"]), build_marker(2, 0, ABORT, NOW_MS)
        )
        self.assertEqual(found, [EndedTransaction(2, 1, 3, 0, False)])
        self.assertEqual(producers.open, {1: 0})
        self.assertEqual(producers.states[2].coordinator_epoch, ABORT.coordinator_epoch)

    def test_no_transaction(self) -> None:
        """Plain batches, markers without a transaction and other control records end none."""
        producers, found = self.replayed(
            batch([b"a"], producer=(1, 0, 0)),
            build_marker(1, 0, ABORT, NOW_MS),
            control_batch(1, b"\0\0\0\2", b""),
        )
        self.assertEqual((found, producers.open), ([], {}))
        self.assertRaises(CorruptRecords, self.replayed, control_batch(1, b"\0", b""))

    def test_without_sequence(self) -> None:
        """A batch without sequence begins a transaction, and no sequence follows on it."""
        producers = ProducerStateManager()
        data = build_keyed([(b"k", b"v")], NOW_MS, (7, 3))
        replay(producers, parse(data, 0, 0), bytes, NOW_MS)
        self.assertEqual(producers.open, {7: 0})
        self.assertEqual((producers.states[7].epoch, producers.states[7].batches), (3, ()))
