"""The topic of the registry as a broker of a cluster sees it."""

from __future__ import annotations

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.registry.factory import make_registry
from kafkatx.nodes import Endpoint
from kafkatx.types import BrokerNode
from tests.broker.cluster import ClusterTestCase


class SchemasTopicTests(ClusterTestCase):
    def setUp(self) -> None:
        """Make the registry of broker 1."""
        super().setUp()
        self.parts = make_registry(self.broker)
        self.topic = self.parts.registry.topic

    def test_leader(self) -> None:
        """Another leader is told with its HTTP address; a dead one is none."""
        self.metadata.put(self.metadata.make_topic("_schemas", [[2, 1, 3]], {"cleanup.policy": "compact"}))
        self.assertIsNone(self.topic.led())
        brokers = dict(self.metadata.state.brokers)
        brokers[2] = attrs.evolve(brokers[2], http=Endpoint("HTTP", "b2", 8081))
        self.metadata.change(brokers=brokers)
        leader = self.topic.other_leader()
        assert isinstance(leader, BrokerNode)
        self.assertEqual((leader.id, leader.http), (2, Endpoint("HTTP", "b2", 8081)))
        del brokers[2]
        self.metadata.change(brokers=brokers)
        self.assertIsNone(self.topic.other_leader())

    def test_lease(self) -> None:
        """A broker whose lease has ended answers nothing of what it has read: another may have written."""
        self.metadata.put(self.metadata.make_topic("_schemas", [[1, 2]], {"cleanup.policy": "compact"}))
        registry = self.parts.registry
        self.assertIsNotNone(self.successResultOf(Deferred.fromCoroutine(registry.state())))
        self.metadata.remaining_s = 0.0
        self.assertIsNone(self.successResultOf(Deferred.fromCoroutine(registry.state())))
        self.metadata.remaining_s = 5.0
        self.assertIsNotNone(self.successResultOf(Deferred.fromCoroutine(registry.state())))

    def test_own(self) -> None:
        """A partition that this broker leads is no other's."""
        self.metadata.put(self.metadata.make_topic("_schemas", [[1, 2]], {"cleanup.policy": "compact"}))
        self.assertIsNotNone(self.topic.led())
        self.assertIsNone(self.topic.other_leader())
