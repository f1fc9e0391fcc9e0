"""The view tells deltas in order, wakes up waiters, and bounds their waiting."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.view import View
from kafkatx.types import BrokerNode, ClusterDelta
from tests.metadata.cluster.memory import MemoryStores


class ViewTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a view."""
        self.stores = MemoryStores()
        self.clock = self.stores.clock
        self.view = View(self.stores.make_tree(), self.clock)

    def show_broker(self, broker_id: int) -> None:
        """Show a state with one broker."""
        draft = Draft(self.view.image)
        draft.set_brokers({broker_id: BrokerNode(broker_id, "h", 1)})
        self.view.show(*draft.finish())

    def test_order(self) -> None:
        """A listener that is told of a change sees those that other listeners cause after it."""
        heard: list[ClusterDelta] = []

        def react(delta: ClusterDelta) -> None:
            if 1 in delta.after.brokers:
                self.view.fence(False)

        self.view.subscribe(react)
        self.view.subscribe(heard.append)
        self.show_broker(1)
        self.assertEqual([delta.after.fenced for delta in heard], [True, False])
        self.assertEqual(heard[0].after, heard[1].before)

    def test_failing_listener(self) -> None:
        """A listener that fails is logged, and the others are told."""
        heard: list[ClusterDelta] = []
        self.view.subscribe(lambda delta: 1 / 0)  # type: ignore[arg-type]
        self.view.subscribe(heard.append)
        self.show_broker(1)
        self.assertEqual(len(heard), 1)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_until(self) -> None:
        """Waiting ends with True when the condition holds, after the listeners were told."""
        waiting = self.view.until(lambda: 1 in self.view.state.brokers, 5.0)
        self.view.subscribe(lambda delta: self.assertNoResult(waiting))
        self.show_broker(2)
        self.assertNoResult(waiting)
        self.show_broker(1)
        self.assertIs(self.successResultOf(waiting), True)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_until_time_out(self) -> None:
        """Waiting ends with False after its time, and when the store stops."""
        first = self.view.until(lambda: False, 5.0)
        self.clock.advance(5.0)
        self.assertIs(self.successResultOf(first), False)
        second = self.view.until(lambda: False, 5.0)
        self.view.stop()
        self.assertIs(self.successResultOf(second), False)
        self.assertIs(self.successResultOf(self.view.until(lambda: False, 5.0)), False)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_observers_hear_of_each_image(self) -> None:
        """Observers are called for each change of the image, listeners only for changes of the state."""
        seen: list[ClusterDelta | None] = []
        heard: list[ClusterDelta] = []
        self.view.observe(seen.append)
        self.view.subscribe(heard.append)
        self.view.show(attrs.evolve(self.view.image, deleting=frozenset(["t"])), None)
        self.assertEqual((seen, heard), ([None], []))
