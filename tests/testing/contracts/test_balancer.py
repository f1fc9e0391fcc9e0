"""The contract of balancers notices bad ones."""

from __future__ import annotations

from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.legacy.group_balancer import GroupBalancer
from tests.client.legacy import test_group_balancer
from tests.testing.contracts.failures import failed_in


class BalancerContractTests(SynchronousTestCase):
    def test_no_commit(self) -> None:
        """A balancer that does not keep offsets is noticed."""
        self.patch(GroupBalancer, "commit", lambda balancer, offsets: succeed(None))
        failed = failed_in(test_group_balancer.GroupBalancerTests)
        self.assertLessEqual({"test_offsets", "test_revoked"}, failed)
        self.assertNotIn("test_alone", failed)
