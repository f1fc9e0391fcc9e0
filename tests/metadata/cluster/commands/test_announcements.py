"""Announcements of a broker: each is made once, and kept over lost sessions."""

from __future__ import annotations

from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.incarnations import decode_incarnation, decode_offline
from kafkatx.types import BrokerNode, TopicPartition
from tests.metadata.cluster.cases import RunningCase

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


class AnnouncementTests(RunningCase):
    def version(self) -> int:
        """Return the version of the incarnation of broker 1."""
        stat = self.stat(paths.incarnation(1))
        assert stat is not None
        return stat.version

    def test_stopping(self) -> None:
        """A broker tells once that it is about to stop; its registration and its life stay."""
        store, other = self.started(1), self.started(2)
        before = store.state.brokers[1]
        for _ in range(2):
            self.result(store.begin_stopping())
        path = paths.incarnation(1)
        self.assertTrue(decode_incarnation(path, self.read(path)).stopping)
        self.stores.settle()
        for seen in (store.state.brokers[1], other.state.brokers[1]):
            self.assertTrue(seen.stopping)
            self.assertEqual((seen.epoch, seen.incarnation), (before.epoch, before.incarnation))
            self.assertEqual(seen.incarnation_version, self.version())
        self.result(store.stop())
        self.assertEqual(self.version(), 1)

    def test_stopping_before_registration(self) -> None:
        """A broker that begins to stop before it is registered tells that with its registration."""
        store = self.stores.make_store()
        self.result(store.start(BrokerNode(1, "h", 9092)))
        self.addCleanup(lambda: self.result(store.stop()))
        self.result(store.begin_stopping())
        self.assertIsNone(self.stat(paths.incarnation(1)))
        self.result(store.register(["d"]))
        node = store.state.brokers[1]
        self.assertEqual((node.stopping, node.incarnation, self.version()), (True, 0, 1))

    def test_stopping_in_doubt(self) -> None:
        """The announcement is made once, also if its reply is lost."""
        store = self.started(1)
        link = self.tree(store).link
        for made in (True, False):
            asked = store.begin_stopping()
            link.cut(apply_requests=made)
            self.stores.settle()
            link.heal()
            self.result(asked)
            self.assertTrue(store.state.brokers[1].stopping)
            self.assertEqual(self.version(), 1)

    def test_offline(self) -> None:
        """Replicas are added to those that are offline; the node is the broker's own."""
        store = self.started(1)
        self.result(store.report_offline([]))
        self.assertIsNone(self.stat(paths.offline(1)))
        for one in (ONE, TWO, ONE):
            self.result(store.report_offline([one]))
        path = paths.offline(1)
        self.assertEqual(decode_offline(path, self.read(path)), {ONE, TWO})
        stat = self.stat(path)
        assert stat is not None
        self.assertEqual((stat.ephemeral_owner, stat.version), (self.tree(store).session_id, 1))
        self.assertEqual(store.state.offline, {1: {ONE, TWO}})

    def test_offline_before_registration(self) -> None:
        """Replicas that are offline at the start are told with the registration."""
        store = self.stores.make_store()
        self.result(store.start(BrokerNode(1, "h", 9092)))
        self.addCleanup(lambda: self.result(store.stop()))
        self.result(store.report_offline([ONE]))
        self.assertEqual(store.state.offline, {})
        self.result(store.register(["d"]))
        self.assertEqual(store.state.offline, {1: {ONE}})

    def test_past_life(self) -> None:
        """A broker that was killed and starts again has no offline replicas any more."""
        store = self.started(1)
        self.result(store.report_offline([ONE]))
        self.tree(store).link.cut()
        self.stores.settle()
        again = self.started(1)
        self.assertIsNone(self.stat(paths.offline(1)))
        self.assertEqual(again.state.offline, {})
