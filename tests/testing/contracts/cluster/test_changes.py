"""The contract of metadata stores of a cluster notices those that lose changes, or do not see them."""

from __future__ import annotations

from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.metadata.cluster.store import ClusterMetadataStore
from kafkatx.testing.contracts.cluster.changes import ChangesContract
from tests.metadata.cluster.memory import MemoryClusterCase
from tests.testing.contracts.failures import failed_in


class ChangesContractTests(SynchronousTestCase):
    def failed(self) -> set[str]:
        """Return the tests that fail for the stores on a tree in memory, patched as they are now."""

        class Case(MemoryClusterCase, ChangesContract):
            pass

        return failed_in(Case)

    def test_good(self) -> None:
        """The stores on a tree in memory keep it."""
        self.assertEqual(self.failed(), set())

    def test_same_ids_again(self) -> None:
        """A store that allocates producer ids twice is noticed."""
        self.patch(ClusterMetadataStore, "allocate_producer_ids", lambda store, count: succeed(range(count)))
        self.assertIn("test_producer_ids", self.failed())

    def test_no_foreign_topics(self) -> None:
        """A store that sees topics of its own brokers only is noticed."""
        read = Follower._read

        async def reading(follower: Follower, path: str) -> None:
            if path != "/brokers/topics":
                await read(follower, path)

        self.patch(Follower, "_read", reading)
        self.assertEqual(self.failed(), {"test_tool_creates_a_topic"})
