"""Tests of kafkatx.clientcore.producer.transactions.states."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.producer.transactions.errors import TransactionMisuse
from kafkatx.clientcore.producer.transactions.states import TRANSITIONS, Event, State, after

WORDS = {
    State.UNINITIALIZED: {Event.INITIALIZED},
    State.READY: {Event.BEGIN},
    State.IN_TRANSACTION: {Event.COMMIT, Event.ABORT, Event.FAILED},
    State.COMMITTING: {Event.COMMIT, Event.ENDED, Event.FAILED},
    State.ABORTABLE_ERROR: {Event.ABORT, Event.FAILED},
    State.ABORTING: {Event.ABORT, Event.ENDED, Event.FAILED},
    State.FATAL_ERROR: set[Event](),
}


class TableTests(SynchronousTestCase):
    def test_possible(self) -> None:
        """In each state these events are possible, and each may be fatal; no others."""
        for state, events in WORDS.items():
            found = {event for known, event in TRANSITIONS if known is state}
            self.assertEqual(found, events | {Event.FATAL}, state)

    def test_a_committed_transaction_is_never_aborted(self) -> None:
        """After the end was asked for, only a failure before it makes an abort possible."""
        self.assertRaises(TransactionMisuse, after, State.COMMITTING, Event.ABORT)
        self.assertRaises(TransactionMisuse, after, State.ABORTING, Event.COMMIT)
        self.assertRaises(TransactionMisuse, after, State.ABORTABLE_ERROR, Event.COMMIT)

    def test_for_good(self) -> None:
        """A producer that has failed stays so, whatever is called."""
        for event in set(Event) - {Event.FATAL}:
            self.assertRaises(TransactionMisuse, after, State.FATAL_ERROR, event)
        self.assertIs(after(State.FATAL_ERROR, Event.FATAL), State.FATAL_ERROR)

    def test_message(self) -> None:
        """The error names the call, and what to do."""
        error = self.assertRaises(TransactionMisuse, after, State.READY, Event.COMMIT)
        self.assertEqual(str(error), "commit() is not possible now: no transaction is open: call begin()")
