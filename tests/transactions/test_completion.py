"""Tests of the decision about EndTxn."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.transactions.completion import ended_by_tv1, ended_by_tv2, fenced
from kafkatx.transactions.metadata import LAST_EPOCH, TV1, TV2, Producer, TransactionMetadata
from kafkatx.transactions.states import State
from tests.transactions.values import PRODUCER, A, state_of

INVALID, FENCED, CONCURRENT = (
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
COMMITTED, ABORTED = State.PREPARE_COMMIT, State.PREPARE_ABORT


def outcome(after: TransactionMetadata | ErrorCode) -> State | ErrorCode:
    """The new state, or the error."""
    return after if isinstance(after, ErrorCode) else after.state


class Tv1Tests(SynchronousTestCase):
    """EndTxn up to version 4."""

    def test_states(self) -> None:
        """Each state has these results for commit and abort."""
        for state, commit, abort in (
            (State.EMPTY, INVALID, INVALID),
            (State.ONGOING, COMMITTED, ABORTED),
            (State.PREPARE_COMMIT, CONCURRENT, CONCURRENT),
            (State.PREPARE_ABORT, CONCURRENT, CONCURRENT),
            (State.COMPLETE_COMMIT, ErrorCode.NONE, INVALID),
            (State.COMPLETE_ABORT, INVALID, ErrorCode.NONE),
        ):
            found = [
                outcome(ended_by_tv1(state_of(state), PRODUCER, commits, 2000)) for commits in (True, False)
            ]
            self.assertEqual(found, [commit, abort], state)

    def test_kept(self) -> None:
        """The epoch and the partitions stay; the version is that of the EndTxn, not of AddPartitionsToTxn."""
        after = ended_by_tv1(state_of(State.ONGOING, version=2), PRODUCER, True, 2000)
        assert isinstance(after, TransactionMetadata)
        self.assertEqual((after.producer, after.partitions, after.start_ms), (PRODUCER, {A}, 500))
        self.assertEqual((after.client_version, after.update_ms), (0, 2000))

    def test_others(self) -> None:
        """Another id is unknown; a lower or a higher epoch is fenced."""
        ongoing = state_of(State.ONGOING)
        self.assertEqual(
            ended_by_tv1(ongoing, Producer(8, 4), True, 1), ErrorCode.INVALID_PRODUCER_ID_MAPPING
        )
        for epoch in (3, 5, -1):
            self.assertEqual(ended_by_tv1(ongoing, Producer(7, epoch), True, 1), FENCED)


class Tv2Tests(SynchronousTestCase):
    """EndTxn from version 5 on."""

    def test_states(self) -> None:
        """Each state has these results for the epoch before and the current one, abort and commit."""
        for state, expected in (
            (State.EMPTY, (FENCED, ABORTED, FENCED, INVALID)),
            (State.ONGOING, (FENCED, ABORTED, FENCED, COMMITTED)),
            (State.COMPLETE_ABORT, (ErrorCode.NONE, ABORTED, INVALID, INVALID)),
            (State.COMPLETE_COMMIT, (INVALID, ABORTED, ErrorCode.NONE, INVALID)),
            (State.PREPARE_ABORT, (CONCURRENT,) * 4),
            (State.PREPARE_COMMIT, (CONCURRENT,) * 4),
        ):
            found = tuple(
                outcome(ended_by_tv2(state_of(state, version=TV2), Producer(7, epoch), commit, -1, 2000))
                for commit in (False, True)
                for epoch in (3, 4)
            )
            self.assertEqual(found, expected, state)

    def test_epoch(self) -> None:
        """The epoch is raised; an abort without a transaction has begun just now."""
        after = ended_by_tv2(state_of(State.ONGOING), PRODUCER, True, -1, 2000)
        assert isinstance(after, TransactionMetadata)
        self.assertEqual((after.producer, after.last_producer_epoch, after.start_ms), ((7, 5), 4, 500))
        self.assertEqual(after.client_version, 2)
        empty = ended_by_tv2(state_of(State.EMPTY), PRODUCER, False, -1, 2000)
        assert isinstance(empty, TransactionMetadata)
        self.assertEqual((empty.start_ms, empty.producer_epoch), (2000, 5))

    def test_rollover(self) -> None:
        """The marker of the last epoch has the largest one; then comes a new id, which a repetition finds."""
        last = Producer(7, LAST_EPOCH)
        after = ended_by_tv2(state_of(State.ONGOING, LAST_EPOCH), last, True, 99, 2000)
        assert isinstance(after, TransactionMetadata)
        self.assertEqual((after.producer, after.next_producer_id), ((7, LAST_EPOCH + 1), 99))
        for producer in (last, Producer(99, 0)):
            self.assertEqual(ended_by_tv2(after, producer, True, 100, 2000), CONCURRENT)
        done = after.completed(3000)
        self.assertEqual(done.producer, (99, 0))
        self.assertEqual(ended_by_tv2(done, last, True, 100, 2000), ErrorCode.NONE)
        self.assertEqual(ended_by_tv2(done, last, False, 100, 2000), INVALID)
        early = ended_by_tv2(done, Producer(7, 4), True, 100, 2000)
        self.assertEqual(early, ErrorCode.INVALID_PRODUCER_ID_MAPPING)

    def test_others(self) -> None:
        """Another id is unknown; an epoch that no producer was told is fenced, and never raised."""
        self.assertEqual(
            ended_by_tv2(state_of(State.ONGOING), Producer(8, 4), True, -1, 1),
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        )
        untold = Producer(7, LAST_EPOCH + 1)
        for state in (State.COMPLETE_ABORT, State.EMPTY):
            self.assertEqual(ended_by_tv2(state_of(state, untold.epoch), untold, False, 9, 1), FENCED)


class FencedTests(SynchronousTestCase):
    """The abort of a transaction that its producer has lost."""

    def test_new_instance(self) -> None:
        """The epoch is one higher, and the old producer is fenced whatever it asks, in both versions."""
        ongoing = attrs.evolve(state_of(State.ONGOING, version=TV2), last_producer_epoch=3)
        after = fenced(ongoing, False, 2000)
        self.assertEqual((after.state, after.producer, after.start_ms), (ABORTED, (7, 5), 500))
        self.assertEqual(after.last_producer_epoch, -1)
        for commit in (True, False):
            self.assertEqual(ended_by_tv1(after, PRODUCER, commit, 1), FENCED)
            self.assertEqual(ended_by_tv2(after, PRODUCER, commit, -1, 1), CONCURRENT)
            self.assertEqual(ended_by_tv1(after.completed(3000), PRODUCER, commit, 1), FENCED)
            self.assertEqual(ended_by_tv2(after.completed(3000), PRODUCER, commit, -1, 1), FENCED)

    def test_late(self) -> None:
        """After a time-out a client of version 2 may abort, and goes on; one of version 1 is fenced."""
        after = fenced(state_of(State.ONGOING, version=TV2), True, 2000)
        self.assertEqual(ended_by_tv2(after, PRODUCER, False, -1, 1), CONCURRENT)
        done = after.completed(3000)
        self.assertEqual(ended_by_tv2(done, PRODUCER, False, -1, 1), ErrorCode.NONE)
        self.assertEqual(ended_by_tv2(done, PRODUCER, True, -1, 1), INVALID)
        self.assertEqual(ended_by_tv1(done, PRODUCER, False, 1), FENCED)

    def test_late_with_last_epoch(self) -> None:
        """The largest epoch is never told to a producer."""
        done = fenced(state_of(State.ONGOING, LAST_EPOCH, TV2), True, 2000).completed(3000)
        self.assertEqual((done.producer_epoch, done.last_producer_epoch), (LAST_EPOCH + 1, -1))
        self.assertEqual(ended_by_tv2(done, Producer(7, LAST_EPOCH), False, 9, 1), FENCED)

    def test_replaced_long_ago(self) -> None:
        """A producer whose id was replaced does not get the id of the one that came after it."""
        other = attrs.evolve(
            state_of(State.COMPLETE_COMMIT, 0), producer_id=99, previous_producer_id=7, client_version=TV1
        )
        after = ended_by_tv2(other, Producer(7, LAST_EPOCH), True, 100, 1)
        self.assertEqual(after, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
