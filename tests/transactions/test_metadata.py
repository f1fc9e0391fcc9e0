"""Tests of the metadata of a transactional id."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.transactions.metadata import LAST_EPOCH, TV2, TransactionMetadata
from kafkatx.transactions.states import State
from tests.transactions.values import A, B, state_of


class MetadataTests(SynchronousTestCase):
    """Changes of the value."""

    def test_begin(self) -> None:
        """The first partitions begin a transaction; more of them do not change when it began."""
        begun = state_of(State.COMPLETE_ABORT).with_partitions(frozenset({A}), TV2, 2000)
        self.assertEqual((begun.state, begun.start_ms, begun.update_ms), (State.ONGOING, 2000, 2000))
        self.assertEqual(begun.client_version, TV2)
        more = begun.with_partitions(frozenset({B}), TV2, 3000)
        self.assertEqual((more.start_ms, more.update_ms, more.partitions), (2000, 3000, {A, B}))

    def test_completed(self) -> None:
        """A complete transaction has no partitions; producer and epoch stay."""
        done = state_of(State.PREPARE_COMMIT).completed(2000)
        self.assertEqual((done.state, done.partitions), (State.COMPLETE_COMMIT, frozenset()))
        self.assertEqual((done.producer, done.previous_producer_id, done.update_ms), ((7, 4), -1, 2000))
        self.assertEqual(state_of(State.PREPARE_ABORT).completed(1).state, State.COMPLETE_ABORT)

    def test_next_producer(self) -> None:
        """The next producer id takes over with epoch 0 when the transaction is complete."""
        ending = attrs.evolve(state_of(State.PREPARE_COMMIT, LAST_EPOCH + 1), next_producer_id=99)
        done = ending.completed(1)
        self.assertEqual((done.producer, done.previous_producer_id), ((99, 0), 7))
        self.assertEqual(done.next_producer_id, -1)

    def test_exhausted(self) -> None:
        """The last epoch of a producer is one below the largest, which ends its last transaction."""
        self.assertTrue(TransactionMetadata(1, 1, LAST_EPOCH).is_epoch_exhausted)
        self.assertFalse(TransactionMetadata(1, 1, LAST_EPOCH - 1).is_epoch_exhausted)
        self.assertEqual(LAST_EPOCH, 32766)
