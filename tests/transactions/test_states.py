"""Tests of the table of states."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.transactions.states import NUMBERS, TRANSITIONS, Event, State, next_state

MAY_FOLLOW = {
    State.EMPTY: {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.ONGOING: {State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.PREPARE_COMMIT: {State.ONGOING},
    State.PREPARE_ABORT: {
        State.ONGOING,
        State.PREPARE_EPOCH_FENCE,
        State.EMPTY,
        State.COMPLETE_COMMIT,
        State.COMPLETE_ABORT,
    },
    State.COMPLETE_COMMIT: {State.PREPARE_COMMIT},
    State.COMPLETE_ABORT: {State.PREPARE_ABORT},
    State.DEAD: {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.PREPARE_EPOCH_FENCE: {State.ONGOING},
}
"""The valid previous states of ``TransactionState`` of Apache Kafka."""


class StatesTests(SynchronousTestCase):
    """The table against Apache Kafka's."""

    def test_previous_states(self) -> None:
        """A state follows exactly those that may come before it in Apache Kafka."""
        found: dict[State, set[State]] = {state: set() for state in State}
        for state, row in TRANSITIONS.items():
            for following in row.values():
                found[following].add(state)
        self.assertEqual(found, MAY_FOLLOW)

    def test_numbers(self) -> None:
        """The numbers in the log and the names for people are Apache Kafka's."""
        self.assertEqual(
            {state.value: number for state, number in NUMBERS.items()},
            {
                "Empty": 0,
                "Ongoing": 1,
                "PrepareCommit": 2,
                "PrepareAbort": 3,
                "CompleteCommit": 4,
                "CompleteAbort": 5,
                "Dead": 6,
                "PrepareEpochFence": 7,
            },
        )

    def test_missing(self) -> None:
        """A transition that is not in the table is an error, and names both."""
        error = self.assertRaises(RuntimeError, next_state, State.EMPTY, Event.COMMIT)
        self.assertIn("COMMIT cannot happen to a transactional id that is EMPTY", str(error))

    def test_expiry(self) -> None:
        """An id may expire where the table lets it, and never while a transaction is open or ends."""
        for state in State:
            self.assertEqual(state.may_expire, Event.EXPIRE in TRANSITIONS[state], state)
            self.assertEqual(state.is_preparing, Event.COMPLETE in TRANSITIONS[state], state)
