"""Tests of the machine of one transactional id."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.transactions.actions import (
    Action,
    Answer,
    CompleteLater,
    LogLine,
    Marker,
    Remove,
    Reply,
    Store,
    WriteMarkers,
)
from kafkatx.transactions.metadata import LAST_EPOCH, TV1, TV2, Producer, TransactionMetadata
from kafkatx.transactions.records import decode_value
from kafkatx.transactions.states import State
from kafkatx.transactions.transaction import Transaction
from kafkatx.types import TopicPartition
from tests.transactions.values import PRODUCER, A, B, state_of

NONE, CONCURRENT = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
FENCED, UNKNOWN = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING
DAY_MS = 86_400_000


class MachineCase(SynchronousTestCase):
    """A machine whose stores the test reports."""

    def setUp(self) -> None:
        """Begin with a wall clock far from the monotonic one."""
        self.wall_ms = 1_700_000_000_000
        self.written: list[TransactionMetadata | None] = []

    def make(self, metadata: TransactionMetadata, now_ms: int = 0) -> Transaction:
        """Make a machine in a state."""
        return Transaction("tx", metadata, lambda: self.wall_ms, now_ms)

    def store(self, transaction: Transaction, actions: list[Action], error: ErrorCode = NONE) -> list[Action]:
        """Report the one store among actions; return what follows, after the other actions."""
        record = next(action.record for action in actions if isinstance(action, Store))
        self.written.append(None if record.value is None else decode_value(record.value))
        return [a for a in actions if not isinstance(a, Store)] + transaction.stored(error, 10)

    def error(self, actions: list[Action]) -> ErrorCode:
        """Return the error of the only action, an answer."""
        (answer,) = actions
        assert isinstance(answer, Answer)
        return answer.reply.error


class WholeTests(MachineCase):
    """Transactions from begin to end."""

    def test_tv1(self) -> None:
        """The client is answered when the decision is stored; then come the markers, and then the end."""
        tx = self.make(TransactionMetadata(7, 60_000))
        self.assertTrue(tx.is_unused)
        after = self.store(tx, tx.initialize(None, 30_000, -1, "i", 0))
        self.assertEqual(after, [Answer("i", Reply(NONE, Producer(7, 0)))])
        self.assertFalse(tx.is_unused)
        added = self.store(tx, tx.add(Producer(7, 0), [A, B], TV1, "a", 0))
        self.assertEqual(added, [Answer("a", Reply(NONE))])
        ended = self.store(tx, tx.end(Producer(7, 0), True, TV1, -1, "e", 0))
        marker = Marker(Producer(7, 0), True, TV1)
        self.assertEqual(
            ended, [Answer("e", Reply(NONE, Producer(7, 0))), WriteMarkers(marker, frozenset({A, B}))]
        )
        self.assertEqual(self.store(tx, tx.markers_written(0)), [])
        self.assertEqual(tx.metadata.state, State.COMPLETE_COMMIT)
        self.assertEqual(
            [one.state for one in self.written if one is not None],
            [State.EMPTY, State.ONGOING, State.PREPARE_COMMIT, State.COMPLETE_COMMIT],
        )

    def test_tv2(self) -> None:
        """The answer and the marker have the raised epoch, with which the next transaction begins."""
        tx = self.make(state_of(State.ONGOING, version=TV2))
        ended = self.store(tx, tx.end(PRODUCER, False, TV2, -1, "e", 0))
        marker = Marker(Producer(7, 5), False, TV2)
        self.assertEqual(
            ended, [Answer("e", Reply(NONE, Producer(7, 5))), WriteMarkers(marker, frozenset({A}))]
        )
        self.store(tx, tx.markers_written(0))
        self.store(tx, tx.add(Producer(7, 5), [B], TV2, "a", 0))
        self.assertEqual(tx.metadata.partitions, {B})

    def test_nothing(self) -> None:
        """An abort without partitions (version 2) has no markers: the end is stored at once."""
        tx = self.make(state_of(State.EMPTY))
        after = self.store(tx, tx.end(PRODUCER, False, TV2, -1, "e", 0))
        self.assertEqual(after[0], Answer("e", Reply(NONE, Producer(7, 5))))
        self.assertEqual(self.store(tx, after[1:]), [])
        self.assertEqual(tx.metadata.state, State.COMPLETE_ABORT)

    def test_rollover(self) -> None:
        """Version 2 tells the next producer id in its answer, which counts once the markers are written."""
        tx = self.make(state_of(State.ONGOING, LAST_EPOCH, TV2))
        self.assertTrue(tx.wants_new_id)
        last = Producer(7, LAST_EPOCH)
        answer, markers = self.store(tx, tx.end(last, True, TV2, 99, "e", 0))
        self.assertEqual(answer, Answer("e", Reply(NONE, Producer(99, 0))))
        assert isinstance(markers, WriteMarkers)
        self.assertEqual(markers.marker.producer, Producer(7, LAST_EPOCH + 1))
        for producer in (last, Producer(99, 0)):  # neither is fenced or unknown while markers are written
            self.assertEqual(self.error(tx.add(producer, [A], TV2, "a", 0)), CONCURRENT)
        ending = tx.markers_written(0)
        self.assertEqual(self.error(tx.add(Producer(99, 0), [A], TV2, "a", 0)), CONCURRENT)
        self.store(tx, ending)
        repeated = tx.end(last, True, TV2, 100, "e", 0)
        self.assertEqual(repeated, [Answer("e", Reply(NONE, Producer(99, 0)))])

    def test_fence(self) -> None:
        """A new instance has the open transaction aborted, asks again, and gets the epoch after the fence."""
        tx = self.make(state_of(State.ONGOING))
        line, answer, markers = self.store(tx, tx.initialize(None, 60_000, -1, "i", 0))
        self.assertIsInstance(line, LogLine)
        self.assertEqual(answer, Answer("i", Reply(CONCURRENT)))
        self.assertEqual(markers, WriteMarkers(Marker(Producer(7, 5), False, TV1), frozenset({A})))
        self.assertEqual(self.error(tx.initialize(None, 60_000, -1, "i", 0)), CONCURRENT)
        self.store(tx, tx.markers_written(0))
        self.assertEqual(
            self.store(tx, tx.initialize(None, 60_000, -1, "i", 0)),
            [Answer("i", Reply(NONE, Producer(7, 6)))],
        )


class RequestTests(MachineCase):
    """Requests that are refused, or need no write."""

    def test_add(self) -> None:
        """Another id, another epoch and an ending transaction are refused; known partitions need no write."""
        tx = self.make(state_of(State.ONGOING))
        self.assertEqual(self.error(tx.add(Producer(8, 4), [A], TV1, "a", 0)), UNKNOWN)
        self.assertEqual(self.error(tx.add(Producer(7, 3), [A], TV1, "a", 0)), FENCED)
        self.assertEqual(self.error(tx.add(PRODUCER, [A], TV1, "a", 0)), NONE)
        for state in (State.PREPARE_ABORT, State.PREPARE_COMMIT):
            self.assertEqual(
                self.error(self.make(state_of(state)).add(PRODUCER, [A], TV1, "a", 0)), CONCURRENT
            )

    def test_untold_epoch(self) -> None:
        """An epoch that only fences never begins a transaction."""
        tx = self.make(state_of(State.COMPLETE_ABORT, LAST_EPOCH + 1))
        self.assertEqual(self.error(tx.add(Producer(7, LAST_EPOCH + 1), [A], TV2, "a", 0)), FENCED)

    def test_verify(self) -> None:
        """A partition is verified if it is in the open transaction of this producer."""
        tx = self.make(state_of(State.ONGOING))
        found = [tx.verify(PRODUCER, A), tx.verify(PRODUCER, B), tx.verify(Producer(7, 5), A)]
        self.assertEqual(found, [NONE, ErrorCode.TRANSACTION_ABORTABLE, FENCED])
        done = self.make(state_of(State.COMPLETE_COMMIT))
        self.assertEqual(done.verify(PRODUCER, A), ErrorCode.TRANSACTION_ABORTABLE)
        self.assertEqual(self.make(state_of(State.PREPARE_ABORT)).verify(PRODUCER, A), CONCURRENT)

    def test_pending(self) -> None:
        """While a change is stored every request is to be repeated, before id and epoch are looked at."""
        tx = self.make(state_of(State.COMPLETE_COMMIT))
        tx.add(PRODUCER, [A], TV1, "a", 0)
        self.assertTrue(tx.is_pending)
        other = Producer(8, 0)
        self.assertEqual(self.error(tx.add(other, [A], TV1, "b", 0)), CONCURRENT)
        self.assertEqual(self.error(tx.initialize(other, 1, -1, "b", 0)), CONCURRENT)
        self.assertEqual(self.error(tx.end(other, True, TV2, -1, "b", 0)), CONCURRENT)
        self.assertEqual(tx.verify(other, A), CONCURRENT)
        self.assertEqual(tx.abort_if_late(DAY_MS), [])
        self.assertEqual(tx.expire(DAY_MS, 1), [])

    def test_late_end(self) -> None:
        """EndTxn is late over a connection that is older than all that have added partitions."""
        transaction = self.make(state_of(State.EMPTY))
        self.store(transaction, transaction.add(PRODUCER, [A], TV1, "t", 0, 7))
        self.assertTrue(transaction.is_late_end(PRODUCER, 6))
        self.assertFalse(transaction.is_late_end(PRODUCER, 7))
        self.assertFalse(transaction.is_late_end(PRODUCER, 8))
        self.assertFalse(transaction.is_late_end(Producer(PRODUCER.id, PRODUCER.epoch + 1), 6))
        self.store(transaction, transaction.add(PRODUCER, [B], TV1, "t", 0, 5))
        self.assertFalse(transaction.is_late_end(PRODUCER, 5), "an older one has added partitions, too")
        self.assertTrue(transaction.is_late_end(PRODUCER, 4))
        transaction.add(PRODUCER, [B], TV1, "t", 0, 3)
        self.assertFalse(transaction.is_late_end(PRODUCER, 3), "known partitions count")

    def test_late_end_of_another(self) -> None:
        """The connections of the transaction before, or of one that is not open, tell nothing."""
        transaction = self.make(state_of(State.EMPTY))
        self.assertFalse(transaction.is_late_end(PRODUCER, 1))
        self.store(transaction, transaction.add(PRODUCER, [A], TV1, "t", 0, 5))
        self.store(transaction, transaction.end(PRODUCER, True, TV1, -1, "t", 0))
        self.store(transaction, transaction.markers_written(0))
        self.assertFalse(transaction.is_late_end(PRODUCER, 1), "it has ended")
        self.store(transaction, transaction.add(PRODUCER, [A], TV1, "t", 0, 9))
        self.assertTrue(transaction.is_late_end(PRODUCER, 5), "that of the one before")

    def test_late_end_is_not_known(self) -> None:
        """After a load, and where a broker has added the partitions, no EndTxn is late."""
        self.assertFalse(self.make(state_of(State.ONGOING)).is_late_end(PRODUCER, 1))
        transaction = self.make(state_of(State.EMPTY))
        self.store(transaction, transaction.add(PRODUCER, [A], TV2, "t", 0))
        self.store(transaction, transaction.add(PRODUCER, [B], TV1, "t", 0, 9))
        self.assertFalse(transaction.is_late_end(PRODUCER, 1))

    def test_pending_tv1(self) -> None:
        """EndTxn of version 1 is checked for id and epoch first."""
        tx = self.make(state_of(State.COMPLETE_COMMIT))
        tx.add(PRODUCER, [A], TV1, "a", 0)
        self.assertEqual(self.error(tx.end(Producer(8, 4), True, TV1, -1, "b", 0)), UNKNOWN)
        self.assertEqual(self.error(tx.end(Producer(7, 3), True, TV1, -1, "b", 0)), FENCED)
        self.assertEqual(self.error(tx.end(PRODUCER, True, TV1, -1, "b", 0)), CONCURRENT)

    def test_repeated_end(self) -> None:
        """A repeated EndTxn is to be repeated until the markers are written, and has succeeded then."""
        tx = self.make(state_of(State.ONGOING))
        self.store(tx, tx.end(PRODUCER, True, TV1, -1, "e", 0))
        self.assertEqual(self.error(tx.end(PRODUCER, True, TV1, -1, "e", 0)), CONCURRENT)
        self.assertEqual(self.error(tx.end(PRODUCER, False, TV1, -1, "e", 0)), CONCURRENT)
        self.store(tx, tx.markers_written(0))
        self.assertEqual(self.error(tx.end(PRODUCER, True, TV1, -1, "e", 0)), NONE)
        self.assertEqual(self.error(tx.end(PRODUCER, False, TV1, -1, "e", 0)), ErrorCode.INVALID_TXN_STATE)


class FailureTests(MachineCase):
    """Stores that fail."""

    def test_nothing_changes(self) -> None:
        """A change whose record is not stored has not happened; its client is told the error."""
        lost = ErrorCode.COORDINATOR_NOT_AVAILABLE
        for state, call in (
            (State.EMPTY, lambda tx: tx.initialize(None, 1, -1, "t", 0)),
            (State.EMPTY, lambda tx: tx.add(PRODUCER, [A], TV1, "t", 0)),
            (State.ONGOING, lambda tx: tx.end(PRODUCER, True, TV1, -1, "t", 0)),
        ):
            tx = self.make(state_of(state))
            self.assertEqual(self.store(tx, call(tx), lost), [Answer("t", Reply(lost))])
            self.assertEqual((tx.metadata, tx.is_pending), (state_of(state), False))

    def test_new(self) -> None:
        """A transactional id whose first record is not stored is unused."""
        tx = self.make(TransactionMetadata(7, 1))
        self.store(tx, tx.initialize(None, 1, -1, "t", 0), ErrorCode.NOT_COORDINATOR)
        self.assertTrue(tx.is_unused)

    def test_end(self) -> None:
        """The end of a transaction that cannot be stored is stored later; until then it has not ended."""
        tx = self.make(state_of(State.PREPARE_COMMIT))
        after = self.store(tx, tx.markers_written(0), ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.assertEqual(after, [CompleteLater()])
        self.assertEqual(tx.metadata.state, State.PREPARE_COMMIT)
        self.assertEqual(self.store(tx, tx.markers_written(0)), [])
        self.assertEqual(tx.metadata.state, State.COMPLETE_COMMIT)

    def test_fence_again(self) -> None:
        """A fence that was not stored does not use up an epoch."""
        tx = self.make(state_of(State.ONGOING))
        for error in (ErrorCode.COORDINATOR_NOT_AVAILABLE, NONE):
            self.store(tx, tx.initialize(None, 1, -1, "i", 0), error)
        self.assertEqual(tx.metadata.producer_epoch, 5)


class TimeTests(MachineCase):
    """Time-outs and expiry."""

    def test_late(self) -> None:
        """A transaction is aborted when its time-out has passed since it began, not since its last change."""
        tx = self.make(state_of(State.COMPLETE_ABORT))
        begin = tx.add(PRODUCER, [A], TV1, "a", 0)
        self.store(tx, begin)  # at 10 ms
        self.assertEqual(tx.abort_if_late(60_009), [])
        tx.add(PRODUCER, [B], TV1, "a", 0)
        tx.stored(NONE, 50_000)
        line, store = tx.abort_if_late(60_010)
        assert isinstance(line, LogLine)
        self.assertTrue(line.warn)
        self.assertIn("transaction.max.timeout.ms", line.text)
        (markers,) = self.store(tx, [store])
        assert isinstance(markers, WriteMarkers)
        self.assertEqual((markers.marker, markers.partitions), (Marker(Producer(7, 5), False, TV1), {A, B}))

    def test_ended_in_time(self) -> None:
        """Only an open transaction can be late."""
        for state in State:
            if state is not State.ONGOING:
                self.assertEqual(self.make(state_of(state)).abort_if_late(DAY_MS), [])

    def test_loaded(self) -> None:
        """After a load an open transaction has the rest of its time, by the wall clock at its beginning."""
        open_one = attrs.evolve(
            state_of(State.ONGOING), start_ms=self.wall_ms - 50_000, update_ms=self.wall_ms
        )
        tx = self.make(open_one, 1_000_000)
        self.assertEqual(tx.abort_if_late(1_009_999), [])
        self.assertEqual(len(tx.abort_if_late(1_010_000)), 2)

    def test_loaded_from_the_future(self) -> None:
        """A wall clock that was set back gives a transaction no more than its whole time-out."""
        tx = self.make(attrs.evolve(state_of(State.ONGOING), start_ms=self.wall_ms + DAY_MS), 5)
        self.assertEqual(tx.abort_if_late(60_004), [])
        self.assertEqual(len(tx.abort_if_late(60_005)), 2)

    def test_loaded_ending(self) -> None:
        """After a load the markers of a decided transaction are written again; others need nothing."""
        for state in State:
            actions = self.make(state_of(state)).loaded()
            if state.is_preparing:
                marker = Marker(PRODUCER, state is State.PREPARE_COMMIT, TV1)
                self.assertEqual(actions, [WriteMarkers(marker, frozenset({A}))])
            else:
                self.assertEqual(actions, [])

    def test_loaded_ending_empty(self) -> None:
        """A decided transaction without partitions ends at once."""
        tx = self.make(attrs.evolve(state_of(State.PREPARE_ABORT), partitions=frozenset()))
        self.store(tx, tx.loaded())
        self.assertEqual(tx.metadata.state, State.COMPLETE_ABORT)

    def test_expire(self) -> None:
        """An id without a transaction expires; it is forgotten once its tombstone is stored."""
        for state in State:
            metadata = attrs.evolve(state_of(state), update_ms=self.wall_ms)
            tx = self.make(metadata)
            self.assertEqual(tx.expire(DAY_MS - 1, DAY_MS), [])
            if state.may_expire:
                self.assertEqual(self.store(tx, tx.expire(DAY_MS, DAY_MS)), [Remove()])
                self.assertEqual(self.written, [None])
                self.written.clear()
            else:
                self.assertEqual(tx.expire(DAY_MS, DAY_MS), [])

    def test_expire_pending(self) -> None:
        """An id does not expire while a change is being stored, nor changes while its tombstone is."""
        tx = self.make(attrs.evolve(state_of(State.EMPTY), update_ms=self.wall_ms))
        tx.add(PRODUCER, [A], TV1, "a", DAY_MS)
        self.assertEqual(tx.expire(DAY_MS, DAY_MS), [])
        tx.stored(ErrorCode.NOT_COORDINATOR, DAY_MS)
        tx.expire(DAY_MS, DAY_MS)
        self.assertEqual(self.error(tx.add(PRODUCER, [A], TV1, "b", DAY_MS)), CONCURRENT)

    def test_expire_used(self) -> None:
        """Use of the id begins the time anew; a tombstone that fails leaves it as it is."""
        tx = self.make(attrs.evolve(state_of(State.EMPTY), update_ms=self.wall_ms))
        self.store(tx, tx.initialize(None, 1, -1, "i", 0))  # at 10 ms
        self.assertEqual(tx.expire(DAY_MS, DAY_MS), [])
        after = self.store(tx, tx.expire(DAY_MS + 10, DAY_MS), ErrorCode.NOT_COORDINATOR)
        self.assertEqual((after, tx.is_pending), ([], False))

    def test_memory(self) -> None:
        """Memory grows with the partitions and the id."""
        small, large = self.make(state_of(State.EMPTY)), self.make(state_of(State.ONGOING))
        self.assertGreater(large.held_bytes, small.held_bytes)
        many = {TopicPartition("t", number) for number in range(100)}
        self.store(large, large.add(PRODUCER, many, TV1, "a", 0))
        self.assertGreater(large.held_bytes, 100 * 100)
