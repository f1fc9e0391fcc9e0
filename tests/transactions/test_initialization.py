"""Tests of the decision about InitProducerId."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.transactions.completion import fenced
from kafkatx.transactions.initialization import initialized
from kafkatx.transactions.metadata import LAST_EPOCH, Producer, TransactionMetadata
from kafkatx.transactions.states import State
from tests.transactions.values import A, state_of

IDLE = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


class NewInstanceTests(SynchronousTestCase):
    """A producer that has no id yet."""

    def init(self, metadata: TransactionMetadata) -> TransactionMetadata | ErrorCode:
        """Ask without an id."""
        return initialized(metadata, None, 30_000, 99, 2000)

    def test_first(self) -> None:
        """A new transactional id begins with epoch 0."""
        after = self.init(TransactionMetadata(7, 60_000))
        assert isinstance(after, TransactionMetadata)
        self.assertEqual((after.producer, after.timeout_ms, after.state), ((7, 0), 30_000, State.EMPTY))

    def test_next_epoch(self) -> None:
        """Each instance has a higher epoch than the one before, and its own time-out."""
        for state in IDLE:
            after = self.init(state_of(state))
            assert isinstance(after, TransactionMetadata)
            self.assertEqual((after.producer, after.state, after.start_ms), ((7, 5), State.EMPTY, -1))
            self.assertEqual((after.last_producer_epoch, after.timeout_ms), (-1, 30_000))

    def test_rollover(self) -> None:
        """After the last epoch comes a new producer id, also after one that fenced."""
        for epoch in (LAST_EPOCH, LAST_EPOCH + 1):
            after = self.init(state_of(State.COMPLETE_ABORT, epoch))
            assert isinstance(after, TransactionMetadata)
            self.assertEqual((after.producer, after.previous_producer_id), ((99, 0), 7))

    def test_fence(self) -> None:
        """An open transaction is aborted first, with an epoch that no producer gets."""
        after = self.init(state_of(State.ONGOING))
        assert isinstance(after, TransactionMetadata)
        self.assertEqual((after.state, after.producer, after.partitions), (State.PREPARE_ABORT, (7, 5), {A}))
        self.assertEqual((after.last_producer_epoch, after.next_producer_id), (-1, -1))

    def test_fence_at_the_last_epoch(self) -> None:
        """The fence of the last epoch is the largest number there is; the next instance has a new id."""
        after = self.init(state_of(State.ONGOING, LAST_EPOCH))
        assert isinstance(after, TransactionMetadata)
        self.assertEqual(after.producer_epoch, 2**15 - 1)
        later = self.init(after.completed(3000))
        assert isinstance(later, TransactionMetadata)
        self.assertEqual(later.producer, (99, 0))

    def test_ending(self) -> None:
        """While markers are being written, each producer has to ask again, whatever id it has."""
        for state in (State.PREPARE_COMMIT, State.PREPARE_ABORT):
            for expected in (None, Producer(7, 4), Producer(8, 0)):
                after = initialized(state_of(state), expected, 30_000, 99, 2000)
                self.assertEqual(after, ErrorCode.CONCURRENT_TRANSACTIONS)


class RecoveryTests(SynchronousTestCase):
    """A producer that goes on with its id (KIP-360)."""

    def init(self, metadata: TransactionMetadata, producer_id: int, epoch: int) -> object:
        """Ask with an id; return id, epoch and last epoch, or the error."""
        after = initialized(metadata, Producer(producer_id, epoch), 60_000, 99, 2000)
        if isinstance(after, ErrorCode):
            return after
        return (*after.producer, after.last_producer_epoch)

    def test_current(self) -> None:
        """The current producer gets the next epoch."""
        for state in IDLE:
            self.assertEqual(self.init(state_of(state), 7, 4), (7, 5, 4))

    def test_repeated(self) -> None:
        """A repeated request gets the answer of the first one."""
        raised = attrs.evolve(state_of(State.EMPTY, 5), last_producer_epoch=4)
        self.assertEqual(self.init(raised, 7, 4), (7, 5, 4))

    def test_fenced(self) -> None:
        """A producer is fenced after another instance, and by a wrong id or epoch."""
        for metadata, producer_id, epoch in (
            (state_of(State.EMPTY, 5), 7, 4),
            (state_of(State.EMPTY, 5), 7, 6),
            (state_of(State.EMPTY, 5), 8, 5),
            (state_of(State.ONGOING), 8, 4),
            (state_of(State.COMPLETE_ABORT, LAST_EPOCH + 1), 7, LAST_EPOCH),
            (state_of(State.EMPTY, 0), 7, -1),
        ):
            self.assertEqual(self.init(metadata, producer_id, epoch), ErrorCode.PRODUCER_FENCED)

    def test_rollover(self) -> None:
        """The last epoch is followed by a new id; the repeated request, with the old id, finds it again."""
        asked = Producer(7, LAST_EPOCH)
        after = initialized(state_of(State.EMPTY, LAST_EPOCH), asked, 60_000, 99, 2000)
        assert isinstance(after, TransactionMetadata)
        self.assertEqual((after.producer, after.last_producer_epoch), ((99, 0), LAST_EPOCH))
        self.assertEqual(self.init(after, 7, LAST_EPOCH), (99, 0, LAST_EPOCH))
        self.assertEqual(self.init(after, 7, LAST_EPOCH - 1), ErrorCode.PRODUCER_FENCED)

    def test_forgotten(self) -> None:
        """A transactional id that has expired is new, whatever id the producer had."""
        self.assertEqual(self.init(TransactionMetadata(50, 1), 7, 4), (50, 0, -1))

    def test_own_transaction(self) -> None:
        """A producer that has lost its way in its own transaction has it aborted, and asks again."""
        after = initialized(state_of(State.ONGOING), Producer(7, 4), 60_000, 99, 2000)
        assert isinstance(after, TransactionMetadata)
        self.assertEqual((after.state, after.producer_epoch), (State.PREPARE_ABORT, 5))
        self.assertEqual(self.init(after.completed(3000), 7, 4), (7, 5, 4))

    def test_after_time_out(self) -> None:
        """A producer whose transaction has timed out gets the raised epoch, if no other one has it."""
        late = fenced(state_of(State.ONGOING), True, 2000).completed(3000)
        self.assertEqual(self.init(late, 7, 4), (7, 5, 4))
        other = initialized(late, None, 60_000, 99, 4000)
        assert isinstance(other, TransactionMetadata)
        self.assertEqual(self.init(other, 7, 4), ErrorCode.PRODUCER_FENCED)
