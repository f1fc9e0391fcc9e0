"""The contract of metadata stores of a cluster notices in-sync replicas that cannot be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.metadata.cluster.commands import isr
from kafkatx.metadata.cluster.commands.announcements import Announcements
from kafkatx.metadata.cluster.store import ClusterMetadataStore
from kafkatx.testing.contracts.cluster.replicas import ReplicasContract
from kafkatx.types import IsrChange, PartitionState
from tests.metadata.cluster.memory import MemoryClusterCase
from tests.testing.contracts.failures import failed_in


class ReplicasContractTests(SynchronousTestCase):
    def failed(self) -> set[str]:
        """Return the tests that fail for the stores on a tree in memory, patched as they are now."""

        class Case(MemoryClusterCase, ReplicasContract):
            pass

        return failed_in(Case)

    def test_good(self) -> None:
        """The stores on a tree in memory keep it."""
        self.assertEqual(self.failed(), set())

    def test_every_change_is_made(self) -> None:
        """Members of past lives, dead and stopping ones are noticed."""
        self.patch(isr, "refusal", lambda *_: None)
        failed = self.failed()
        self.assertLessEqual(
            {"test_past_life_of_a_member", "test_dead_member", "test_stopping_member"}, failed
        )

    def test_no_change_is_made(self) -> None:
        """A store that refuses all changes is noticed."""

        def refuse(
            store: ClusterMetadataStore, changes: Sequence[IsrChange]
        ) -> Deferred[list[PartitionState | ErrorCode]]:
            return succeed([ErrorCode.INVALID_UPDATE_VERSION for _ in changes])

        self.patch(ClusterMetadataStore, "alter_isr", refuse)
        self.assertIn("test_isr", self.failed())

    def test_not_told(self) -> None:
        """A broker that does not tell that it stops, or of its offline replicas, is noticed."""

        async def nothing(*_: object) -> None:
            pass

        self.patch(Announcements, "begin_stopping", nothing)
        self.patch(Announcements, "report_offline", nothing)
        self.patch(ReplicasContract, "until", lambda *_: self.fail("it is not seen"))
        self.assertLessEqual({"test_stopping_member", "test_offline"}, self.failed())
