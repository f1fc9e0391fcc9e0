"""The election: one broker wins, also if replies are lost, and only eligible ones stand."""

from __future__ import annotations

import json

from kafkatx.interfaces.nodes import Create, Delete, SetData
from kafkatx.types import BrokerNode
from tests.metadata.cluster.cases import RunningCase


class ElectionTests(RunningCase):
    def test_nodes(self) -> None:
        """The first controller has epoch 1, and the nodes are Kafka's."""
        self.started()
        node = json.loads(self.read("/controller"))
        del node["timestamp"]
        self.assertEqual(node, {"version": 2, "brokerid": 1, "kraftControllerEpoch": -1})
        self.assertEqual(self.read("/controller_epoch"), b"1")

    def test_not_eligible(self) -> None:
        """A broker that is not eligible never stands, also if it is alone."""
        store = self.started(1, eligible=False)
        self.assertEqual((store.state.controller_id, self.stat("/controller")), (-1, None))
        self.started(2)
        self.stores.advance(1.0)
        self.assertEqual(store.state.controller_id, 2)

    def test_forced(self) -> None:
        """Deleting the node, as people do with Apache Kafka, causes an election with a new epoch."""
        store = self.started()
        self.write(Delete("/controller"))
        self.stores.advance(1.0)
        self.assertEqual((self.read("/controller_epoch"), store.state.controller_id), (b"2", 1))
        topic = self.result(store.create_topic("t", [[1]], {}))
        self.assertEqual(topic.partitions[0].leader, 1)

    def test_one_wins(self) -> None:
        """One of several brokers that stand at once wins, and the others see it."""
        stores = [self.started(number) for number in (1, 2, 3)]
        self.write(Delete("/controller"))
        self.stores.advance(1.0)
        controller = json.loads(self.read("/controller"))["brokerid"]
        self.assertEqual({store.state.controller_id for store in stores}, {controller})
        self.assertEqual(self.read("/controller_epoch"), b"2")

    def test_epoch_of_another(self) -> None:
        """A node of ours with an epoch of another election makes no controller."""
        store = self.started()
        self.write(SetData("/controller_epoch", b"7"))
        self.tree(store).link.cut()
        self.tree(store).link.heal()
        self.stores.advance(1.0)
        self.assertIsNone(store._controller._role())

    def test_not_registered(self) -> None:
        """A broker that is not registered does not stand."""
        store = self.stores.make_store()
        self.result(store.start(BrokerNode(1, "h", 1)))
        self.addCleanup(lambda: self.result(store.stop()))
        self.stores.advance(5.0)
        self.assertIsNone(self.stat("/controller"))

    def test_unreadable_epoch(self) -> None:
        """An epoch that cannot be read is logged, and does not make the broker spin."""
        store = self.started()
        self.write(SetData("/controller_epoch", b"x"), Delete("/controller"))
        zxid = self.stores.server.zxid
        self.stores.advance(4.0)
        self.assertLess(self.stores.server.zxid - zxid, 10)
        self.assertGreaterEqual(len(self.flushLoggedErrors()), 1)
        self.write(SetData("/controller_epoch", b"9"))
        self.stores.advance(10.0)
        self.assertEqual((store.state.controller_id, self.read("/controller_epoch")), (1, b"10"))
        self.flushLoggedErrors()

    def test_persistent(self) -> None:
        """A persistent node, of a migration to KRaft that begins now, is left alone."""
        store = self.started()
        node = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":5}'
        self.write(Delete("/controller"), Create("/controller", node))
        self.stores.advance(10.0)
        self.assertEqual((self.read("/controller"), store.state.controller_id), (node, 3000))
