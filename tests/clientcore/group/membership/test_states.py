"""Tests of kafkatx.clientcore.group.membership.states."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.membership import Event, State
from kafkatx.clientcore.group.membership.states import TRANSITIONS, next_state


class StatesTests(SynchronousTestCase):
    def test_every_state(self) -> None:
        """The table has a row for each state, and a closed member stays closed."""
        self.assertEqual(set(TRANSITIONS), set(State))
        self.assertEqual(dict(TRANSITIONS[State.CLOSED]), {})

    def test_every_event(self) -> None:
        """Each event is possible in some state."""
        self.assertEqual({event for row in TRANSITIONS.values() for event in row}, set(Event))

    def test_joining(self) -> None:
        """A member joins, syncs, is stable, and joins again."""
        state = State.UNJOINED
        visited = []
        for event in (Event.JOIN, Event.JOINED, Event.SYNCED, Event.JOIN):
            state = next_state(state, event)
            visited.append(state)
        self.assertEqual(visited, [State.JOINING, State.SYNCING, State.STABLE, State.JOINING])

    def test_a_member_can_always_end(self) -> None:
        """Every state but CLOSED can be left by a reset or by a close."""
        for state in set(State) - {State.CLOSED}:
            self.assertIs(next_state(state, Event.CLOSE), State.CLOSED)
            if state is not State.LEAVING:
                self.assertIs(next_state(state, Event.RESET), State.UNJOINED)

    def test_missing_transition(self) -> None:
        """A transition that is not in the table raises, and names event and state."""
        error = self.assertRaises(RuntimeError, next_state, State.UNJOINED, Event.SYNCED)
        self.assertEqual(str(error), "SYNCED cannot happen to a member that is UNJOINED")
