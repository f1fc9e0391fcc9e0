"""Tests of kafkatx.log.append.appender: offsets, epochs and producers of staged batches."""

from __future__ import annotations

import struct

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode
from kafkatx.interfaces.storage import TRUSTED
from kafkatx.log.append.appender import Appender
from kafkatx.log.append.result import Appended
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.transactions.ended import EndedTransactions
from kafkatx.records.keyed import build_keyed
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch
from kafkatx.types import Marker


class AppenderCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an appender of a log with ten records of epoch 2."""
        self.epochs = LeaderEpochCache([(2, 0)])
        self.appender = Appender(
            TP, LogConfig(), ProducerStateManager(), EndedTransactions(), self.epochs, 10
        )

    def append(
        self, count: int = 1, epoch: int = 2, producer: tuple[int, int, int] = (-1, -1, -1)
    ) -> Appended:
        """Append a batch of *count* records."""
        data = batch([b"x"] * count, producer=producer)
        done = self.appender.append(data, epoch, NOW_MS, True)
        assert isinstance(done, Appended)
        return done


class OffsetTests(AppenderCase):
    def test_follow_on(self) -> None:
        """Offsets continue from batch to batch, also before anything is written."""
        found = [(done.base_offset, done.last_offset) for done in (self.append(3), self.append(2))]
        self.assertEqual(found, [(10, 12), (13, 14)])
        self.assertEqual(self.appender.next_offset, 15)

    def test_stamped(self) -> None:
        """Staged bytes have the log's offset and leader epoch; the rest is as it was sent."""
        self.append(3)
        self.append(1)
        staged = self.appender.staged
        second = b"".join(staged.buffers[2:])
        self.assertEqual(struct.unpack_from(">qii", second), (13, len(second) - 12, 2))
        self.assertEqual(second[16:], batch([b"x"])[16:])
        self.assertEqual(
            [one.size for one in staged.batches], [len(b"".join(staged.buffers[:2])), len(second)]
        )
        self.assertEqual((staged.size_bytes, staged.append_ms), (sum(map(len, staged.buffers)), NOW_MS))

    def test_written(self) -> None:
        """After a write nothing is staged, and offsets go on."""
        self.append(3)
        before = self.appender.staged.buffers
        self.appender.written()
        self.assertEqual((self.appender.staged.batches, self.appender.staged.size_bytes), ([], 0))
        self.assertEqual(len(before), 2)
        self.assertEqual(self.append().base_offset, 13)

    def test_discard(self) -> None:
        """After a failed write the same offsets are assigned again."""
        self.append(3)
        self.append(3)
        self.appender.discard()
        self.appender.discard()
        self.assertEqual((self.append().base_offset, len(self.appender.staged.batches)), (10, 1))

    def test_refused(self) -> None:
        """A refused batch stages nothing and takes no offset."""
        data = bytearray(batch([b"x"]))
        data[-1] ^= 1
        done = self.appender.append(bytes(data), 2, NOW_MS, True)
        self.assertEqual((done.error, self.appender.next_offset), (ErrorCode.CORRUPT_MESSAGE, 10))
        self.assertEqual(self.appender.staged.batches, [])

    def test_trusted(self) -> None:
        """The broker's own records are not validated by the limits for clients."""
        self.appender.configure(LogConfig(records_validation="full"))
        done = self.appender.append(batch([b"x"]), 2, NOW_MS, True, TRUSTED)
        self.assertEqual((done.error, done.base_offset), (0, 10))


class EpochTests(AppenderCase):
    def starts(self) -> list[tuple[int, int]]:
        """Return the epochs that staged batches begin."""
        return [] if self.appender.changes is None else self.appender.changes.epoch_starts

    def test_new(self) -> None:
        """A new epoch begins at its first batch; the cache is left to the log."""
        self.append(3)
        self.append(1, epoch=4)
        self.append(1, epoch=4)
        self.assertEqual(self.starts(), [(4, 13)])
        self.assertEqual(self.epochs.latest, 2)

    def test_never_back(self) -> None:
        """A leader with an older epoch than the log's is stamped with the log's."""
        self.append(1, epoch=1)
        (epoch,) = struct.unpack_from(">i", self.appender.staged.buffers[0], 12)
        self.assertEqual((epoch, self.starts()), (2, []))

    def test_discard(self) -> None:
        """After a failed write the epoch begins anew."""
        self.append(1, epoch=4)
        self.appender.discard()
        self.append(1, epoch=4)
        self.assertEqual(self.starts(), [(4, 10)])

    def test_restart(self) -> None:
        """After a truncation offsets and epoch are those of the log that is left."""
        self.epochs.assign(4, 8)
        self.epochs.cut_end(5)
        self.appender.restart_at(5, ProducerStateManager())
        self.append(1, epoch=3)
        self.assertEqual((self.starts(), self.appender.next_offset), ([(3, 5)], 6))


class ProducerTests(AppenderCase):
    def test_duplicate(self) -> None:
        """A staged batch that is sent again gets its first offsets, and is staged once."""
        self.append(2, producer=(7, 0, 0))
        again = self.append(2, producer=(7, 0, 0))
        self.assertEqual((again.error, again.base_offset, again.last_offset), (0, 10, 11))
        self.assertEqual(len(self.appender.staged.batches), 1)

    def test_out_of_order(self) -> None:
        """A gap in the sequence is refused with the producer's name."""
        self.append(2, producer=(7, 0, 0))
        refused = self.append(2, producer=(7, 0, 5))
        self.assertEqual(refused.error, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.assertIn("producer 7", str(refused.message))

    def test_discard(self) -> None:
        """A failed write is forgotten: the producer may send the batch again."""
        self.append(2, producer=(7, 0, 0))
        self.append(2, producer=(7, 0, 2))
        self.appender.discard()
        self.assertEqual(self.appender.producers.states, {})
        self.assertEqual(self.append(2, producer=(7, 0, 0)).base_offset, 10)

    def test_states_by_offset(self) -> None:
        """The states at an offset are without the staged batches from there on."""
        self.append(2, producer=(7, 0, 0))
        self.appender.written()
        self.append(2, producer=(7, 0, 2))
        self.append(1, producer=(8, 0, 0))
        last = {key: state.batches[-1].last_offset for key, state in self.appender.producers_at(14).items()}
        self.assertEqual(last, {7: 13})
        (written,) = self.appender.active_producers()
        self.assertEqual((written.producer_id, written.last_sequence), (7, 1))

    def test_no_sequence(self) -> None:
        """A producer id without epoch or sequence is refused."""
        self.assertEqual(self.append(1, producer=(7, -1, 0)).error, ErrorCode.INVALID_RECORD)
        self.assertEqual(self.append(1, producer=(7, 0, -1)).error, ErrorCode.INVALID_RECORD)


class OwnTransactionTests(AppenderCase):
    """Batches that the broker itself writes as part of a producer's transaction: without sequence."""

    def own(self, producer_id: int, epoch: int, validated: object = TRUSTED) -> int:
        """Append such a batch; return the error."""
        data = build_keyed([(b"k", b"v")], NOW_MS, (producer_id, epoch))
        return self.appender.append(data, 2, NOW_MS, True, validated, True).error

    def test_begin(self) -> None:
        """The batch begins the transaction; a marker ends it; more of them follow without sequences."""
        self.assertEqual([self.own(7, 3), self.own(7, 3)], [0, 0])
        self.assertTrue(self.appender.has_transaction(7, 3))
        self.assertEqual(self.appender.last_stable_offset(12, 0), 10)
        self.appender.append_marker(7, 3, Marker(True, 0), 2, NOW_MS)
        self.appender.written()
        self.assertFalse(self.appender.has_transaction(7, 3))
        self.assertEqual(self.own(7, 3), 0)
        self.assertTrue(self.appender.has_transaction(7, 3))

    def test_old_epoch(self) -> None:
        """A batch of an older epoch is refused; one of a newer epoch is not."""
        self.own(7, 3)
        self.assertEqual(self.own(7, 2), ErrorCode.INVALID_PRODUCER_EPOCH)
        self.assertEqual(self.own(7, 4), 0)

    def test_clients(self) -> None:
        """A client's batch without sequence is refused, also as part of a verified transaction."""
        self.assertEqual(self.own(7, 3, None), ErrorCode.INVALID_RECORD)
        self.assertFalse(self.appender.has_transaction(7, 3))

    def test_discard(self) -> None:
        """A staged batch that is discarded has begun nothing."""
        self.own(7, 3)
        self.appender.discard()
        self.assertFalse(self.appender.has_transaction(7, 3))
