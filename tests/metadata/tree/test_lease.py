"""Tests of the lease of a session."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.tree.lease import Lease


class LeaseTests(SynchronousTestCase):
    def test_from_the_sending(self) -> None:
        """A lease of 0.8 of the time-out counts from the sending of a write, not from its success."""
        clock = Clock()
        lease = Lease(clock.seconds, 10.0)
        self.assertEqual(lease.remaining_s(), 0)
        clock.advance(5)
        lease.renew(2.0)
        self.assertEqual(lease.remaining_s(), 5.0)
        clock.advance(6)
        self.assertEqual(lease.remaining_s(), -1.0)

    def test_never_shorter(self) -> None:
        """The success of an older write does not shorten the lease."""
        lease = Lease(lambda: 3.0, 10.0)
        lease.renew(2.0)
        lease.renew(1.0)
        self.assertEqual(lease.remaining_s(), 7.0)
