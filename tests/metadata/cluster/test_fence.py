"""A broker acts while its lease lasts; it renews it, and is fenced when it ends."""

from __future__ import annotations

from kafkatx.interfaces.nodes import Delete
from kafkatx.types import BrokerNode
from tests.metadata.cluster.cases import RunningCase
from tests.metadata.cluster.memory import TIMEOUT_S

LEASE_S = 0.8 * TIMEOUT_S


class FenceTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.store = self.started()
        self.link = self.tree(self.store).link

    def test_renewed(self) -> None:
        """The lease is renewed by a write every third of the session's time-out."""
        before = self.stat("/kafkatx/leases/1")
        self.stores.advance(TIMEOUT_S + 0.1)
        after = self.stat("/kafkatx/leases/1")
        assert before is not None
        assert after is not None
        self.assertEqual(after.version - before.version, 3)
        self.assertGreater(self.store.lease_remaining_s(), LEASE_S - TIMEOUT_S / 3 - 0.1)
        self.assertFalse(self.store.state.fenced)

    def test_lease_ends(self) -> None:
        """Without a connection the broker goes on until its lease ends, and not a moment longer."""
        self.stores.advance(TIMEOUT_S / 3)  # a renewal has just succeeded
        self.link.cut()
        self.stores.advance(LEASE_S - 0.2)
        self.assertFalse(self.store.state.fenced)
        self.stores.advance(0.3)
        self.assertTrue(self.store.state.fenced)
        self.assertLessEqual(self.store.lease_remaining_s(), 0)

    def test_lease_ends_without_replies(self) -> None:
        """A connection that carries nothing is as good as none."""
        self.link.hold_replies()
        self.stores.advance(LEASE_S + 0.1)
        self.assertTrue(self.store.state.fenced)
        self.link.release()
        self.stores.advance(TIMEOUT_S)
        self.assertFalse(self.store.state.fenced)

    def test_back_in_the_same_session(self) -> None:
        """A broker whose lease has ended acts again when everything was read and the lease is renewed."""
        self.link.cut()
        self.stores.advance(LEASE_S + 0.1)
        self.link.heal()
        self.stores.advance(0.1)
        self.assertFalse(self.store.state.fenced)
        self.assertGreater(self.store.lease_remaining_s(), 0)

    def test_not_before_all_is_read(self) -> None:
        """A renewed lease does not unfence a broker whose image is old."""
        self.link.cut()
        self.stores.advance(LEASE_S + 0.1)
        self.link.replies.delay_s = 0.2
        self.link.heal()
        self.stores.advance(0.5)  # the lease is renewed after 0.4 s, but reading everything takes longer
        self.assertGreater(self.store.lease_remaining_s(), 0)
        self.assertTrue(self.store.state.fenced)
        self.stores.advance(6.0)
        self.assertFalse(self.store.state.fenced)

    def test_expired(self) -> None:
        """A broker whose session is lost is fenced at once, and acts again when it is registered."""
        fenced: list[bool] = []
        self.store.subscribe(lambda delta: fenced.append(delta.after.fenced))
        self.link.expire()
        self.stores.advance(TIMEOUT_S)
        self.assertEqual([fenced[0], fenced[-1]], [True, False])

    def test_lease_node_gone(self) -> None:
        """A broker whose lease node was deleted registers again."""
        epoch = self.store.state.brokers[1].epoch
        self.write(Delete("/kafkatx/leases/1"))
        self.stores.advance(TIMEOUT_S)
        self.assertGreater(self.store.state.brokers[1].epoch, epoch)
        self.assertFalse(self.store.state.fenced)

    def test_broker_node_gone(self) -> None:
        """A broker whose own node was deleted is fenced, and registers again."""
        fenced: list[bool] = []
        self.store.subscribe(lambda delta: fenced.append(delta.after.fenced))
        epoch = self.store.state.brokers[1].epoch
        self.write(Delete("/brokers/ids/1"))
        self.stores.advance(1.0)
        self.assertIn(True, fenced)
        self.assertGreater(self.store.state.brokers[1].epoch, epoch)
        self.assertFalse(self.store.state.fenced)

    def test_stopped(self) -> None:
        """A stopped broker has no lease, and no timer is left."""
        self.result(self.store.stop())
        self.assertEqual(self.store.lease_remaining_s(), 0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_not_registered(self) -> None:
        """A broker that has started and written something has no lease before it is registered."""
        other = self.stores.make_store()
        self.result(other.start(BrokerNode(2, "h", 1)))
        self.addCleanup(lambda: self.result(other.stop()))
        self.result(other.allocate_producer_ids(1))
        self.assertEqual((other.lease_remaining_s(), other.state.fenced), (0, True))
