"""The table of states."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.classic.states import TRANSITIONS, Event, State, next_state

PREVIOUS = {
    State.EMPTY: {State.PREPARING_REBALANCE},
    State.PREPARING_REBALANCE: {State.EMPTY, State.COMPLETING_REBALANCE, State.STABLE},
    State.COMPLETING_REBALANCE: {State.PREPARING_REBALANCE},
    State.STABLE: {State.COMPLETING_REBALANCE},
    State.DEAD: {State.EMPTY, State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE, State.STABLE},
}
"""The valid previous states of each, as Apache Kafka's ``ClassicGroupState`` has them."""


class TableTests(SynchronousTestCase):
    def test_as_apache_kafka(self) -> None:
        """A state is reached from the same states as in Apache Kafka."""
        found: dict[State, set[State]] = {state: set() for state in State}
        for state, events in TRANSITIONS.items():
            for following in events.values():
                found[following].add(state)
        self.assertEqual(found, PREVIOUS)

    def test_next_state(self) -> None:
        """Every entry of the table leads to the state that it names."""
        for state, events in TRANSITIONS.items():
            for event, following in events.items():
                self.assertIs(next_state(state, event), following)

    def test_missing_entry(self) -> None:
        """A missing entry raises an error that names state and event."""
        for state in State:
            for event in set(Event) - set(TRANSITIONS[state]):
                with self.assertRaises(RuntimeError) as caught:
                    next_state(state, event)
                self.assertEqual(
                    str(caught.exception), f"{event.name} cannot happen to a group that is {state.name}"
                )

    def test_every_state(self) -> None:
        """Every state has a row, and nothing leaves DEAD."""
        self.assertEqual(set(TRANSITIONS), set(State))
        self.assertEqual(dict(TRANSITIONS[State.DEAD]), {})
