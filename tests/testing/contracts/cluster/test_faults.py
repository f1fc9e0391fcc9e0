"""The contract of metadata stores of a cluster notices those that fail at faults."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.cluster.fence import Fence
from kafkatx.metadata.cluster.registration import Registration
from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.testing.contracts.cluster.faults import FaultsContract
from tests.metadata.cluster.memory import MemoryClusterCase
from tests.testing.contracts.failures import failed_in


class FaultsContractTests(SynchronousTestCase):
    def failed(self) -> set[str]:
        """Return the tests that fail for the stores on a tree in memory, patched as they are now."""

        class Case(MemoryClusterCase, FaultsContract):
            pass

        return failed_in(Case)

    def test_good(self) -> None:
        """The stores on a tree in memory keep it."""
        self.assertEqual(self.failed(), set())

    def test_no_fence(self) -> None:
        """A store that acts after its lease has ended is noticed."""
        evaluate = Fence.evaluate

        def only_unfence(fence: Fence) -> None:
            if fence._view.state.fenced:
                evaluate(fence)

        self.patch(Fence, "evaluate", only_unfence)
        self.assertIn("test_lease_ends", self.failed())

    def test_any_id(self) -> None:
        """A store that takes the id of another broker is noticed."""
        self.patch(Registration, "_check_past_life", lambda *arguments: None)
        self.assertIn("test_same_id", self.failed())

    def test_no_reading_again(self) -> None:
        """A store that does not read everything again after a lost connection is noticed."""
        begin = Follower.begin
        begun: set[Follower] = set()

        def once(follower: Follower) -> None:
            if follower in begun:
                begin(follower)
            begun.add(follower)

        self.patch(Follower, "begin", once)
        self.assertIn("test_short_cut", self.failed())
