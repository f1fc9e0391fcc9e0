"""The contract of metadata stores of a cluster notices bad ones."""

from __future__ import annotations

from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.cluster.commands import producer_ids
from kafkatx.metadata.cluster.fence import Fence
from kafkatx.metadata.cluster.registration import Registration
from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.metadata.cluster.store import ClusterMetadataStore
from kafkatx.testing.contracts.cluster_store import ClusterStoreContract
from tests.metadata.cluster.memory import MemoryClusterCase
from tests.testing.contracts.failures import failed_in


class ClusterStoreContractTests(SynchronousTestCase):
    def failed(self) -> set[str]:
        """Return the tests that fail for the stores on a tree in memory, patched as they are now."""

        class Case(MemoryClusterCase, ClusterStoreContract):
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

    def test_same_ids_again(self) -> None:
        """A store that allocates producer ids twice is noticed."""
        self.patch(producer_ids, "allocate", lambda tree, transactions, count: succeed(range(count)))
        self.patch(ClusterMetadataStore, "allocate_producer_ids", lambda store, count: succeed(range(count)))
        self.assertIn("test_producer_ids", self.failed())
