"""What every :class:`~kafkatx.interfaces.ICoordinator` must do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from zope.interface.verify import verifyObject

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ICoordinator
from kafkatx.types import BrokerNode, ClusterState, PartitionState

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

NODE = BrokerNode(id=3, host="127.0.0.1", port=9092)


class CoordinatorContract(_Case):
    """Mixin for a ``SynchronousTestCase``; the subclass says how a coordinator is made.

    Its Deferreds must fire at once, or :meth:`result` be overridden to make them.
    """

    def make_coordinator(self) -> Any:
        """A coordinator that is not started. A second call gives one that sees what the first one left."""
        raise NotImplementedError

    def result(self, deferred: Deferred[Any]) -> Any:
        """What a Deferred fired with; raises what it failed with."""
        return self.successResultOf(deferred)

    def failure_code(self, deferred: Deferred[Any]) -> ErrorCode:
        """The code of the RequestError that a Deferred failed with."""
        error = self.failureResultOf(deferred, RequestError).value
        assert isinstance(error, RequestError)
        return error.code

    def started(self) -> Any:
        """A coordinator that broker 3 has started; it is stopped at the test's end."""
        coordinator = self.make_coordinator()
        self.result(coordinator.start(NODE))
        self.addCleanup(lambda: self.result(coordinator.stop()))
        return coordinator

    def test_interface(self) -> None:
        """The coordinator provides ICoordinator."""
        self.assertTrue(verifyObject(ICoordinator, self.make_coordinator()))

    def test_start_registers_the_broker(self) -> None:
        """After the start the state has this broker, a live controller, and a cluster id of Kafka's form."""
        state = self.started().state
        self.assertEqual(state.brokers[3], NODE)
        self.assertIn(state.controller_id, state.brokers)
        self.assertTrue(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", state.cluster_id), state.cluster_id)

    def test_create_topic(self) -> None:
        """A created topic is in the state with leaders, replicas, ISR, epoch and configs when it is told."""
        coordinator = self.started()
        topic = self.result(coordinator.create_topic("clicks", [[3], [3]], {"retention.ms": "5"}))
        self.assertEqual(coordinator.state.topics, {"clicks": topic})
        self.assertEqual(coordinator.state.topic_names, {topic.topic_id: "clicks"})
        led = PartitionState(leader=3, leader_epoch=0, replicas=(3,), isr=(3,))
        self.assertEqual(topic.partitions, (led, led))
        self.assertEqual(topic.configs, {"retention.ms": "5"})
        self.assertFalse(topic.internal)
        self.assertGreater(topic.topic_id.int, 1)

    def test_internal_topics(self) -> None:
        """Topics that brokers keep for themselves are marked as internal."""
        topic = self.result(self.started().create_topic("__consumer_offsets", [[3]], {}))
        self.assertTrue(topic.internal)

    def test_create_twice(self) -> None:
        """A topic that is there is not created again, and stays as it is."""
        coordinator = self.started()
        topic = self.result(coordinator.create_topic("clicks", [[3]], {}))
        code = self.failure_code(coordinator.create_topic("clicks", [[3], [3]], {"a": "b"}))
        self.assertEqual(code, ErrorCode.TOPIC_ALREADY_EXISTS)
        self.assertEqual(coordinator.state.topics, {"clicks": topic})

    def test_delete_topic(self) -> None:
        """A deleted topic is gone from the state, under its name and under its id; others stay."""
        coordinator = self.started()
        self.result(coordinator.create_topic("clicks", [[3]], {}))
        views = self.result(coordinator.create_topic("views", [[3]], {}))
        self.result(coordinator.delete_topic("clicks"))
        self.assertEqual(coordinator.state.topics, {"views": views})
        self.assertEqual(coordinator.state.topic_names, {views.topic_id: "views"})

    def test_delete_unknown(self) -> None:
        """To delete a topic that is not there fails with UNKNOWN_TOPIC_OR_PARTITION."""
        code = self.failure_code(self.started().delete_topic("clicks"))
        self.assertEqual(code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_recreated_topic_has_a_new_id(self) -> None:
        """A topic that is created again has another id, and nothing of its predecessor's configs."""
        coordinator = self.started()
        first = self.result(coordinator.create_topic("clicks", [[3], [3]], {"retention.ms": "5"}))
        self.result(coordinator.delete_topic("clicks"))
        second = self.result(coordinator.create_topic("clicks", [[3]], {}))
        self.assertNotEqual(first.topic_id, second.topic_id)
        self.assertEqual((len(second.partitions), dict(second.configs)), (1, {}))

    def test_listeners(self) -> None:
        """Listeners get the old and the new state, after each change, before its Deferred fires."""
        coordinator = self.started()
        before = coordinator.state
        heard: list[tuple[ClusterState, ClusterState]] = []
        coordinator.subscribe(lambda old, new: heard.append((old, new)))
        created = coordinator.create_topic("clicks", [[3]], {})
        created.addCallback(lambda _: len(heard))
        self.assertEqual(self.result(created), 1)
        after = coordinator.state
        self.result(coordinator.delete_topic("clicks"))
        self.assertEqual(heard, [(before, after), (after, coordinator.state)])

    def test_listeners_hear_of_the_start(self) -> None:
        """The start is a change too: from no brokers to this one."""
        coordinator = self.make_coordinator()
        before = coordinator.state
        heard: list[tuple[ClusterState, ClusterState]] = []
        coordinator.subscribe(lambda old, new: heard.append((old, new)))
        self.result(coordinator.start(NODE))
        self.addCleanup(lambda: self.result(coordinator.stop()))
        self.assertEqual(dict(before.brokers), {})
        self.assertEqual((heard[0][0], heard[-1][1]), (before, coordinator.state))

    def test_states_are_values(self) -> None:
        """A state that was read before a change does not show the change."""
        coordinator = self.started()
        before = coordinator.state
        self.result(coordinator.create_topic("clicks", [[3]], {}))
        self.assertEqual(dict(before.topics), {})

    def test_failed_change_tells_nobody(self) -> None:
        """A change that fails calls no listener."""
        coordinator = self.started()
        heard: list[object] = []
        coordinator.subscribe(lambda old, new: heard.append(new))
        self.failure_code(coordinator.delete_topic("clicks"))
        self.assertEqual(heard, [])

    def test_producer_ids(self) -> None:
        """Each allocation gives as many ids as were asked for, none given before."""
        coordinator = self.started()
        given = [
            *self.result(coordinator.allocate_producer_ids(10)),
            *self.result(coordinator.allocate_producer_ids(5)),
        ]
        self.assertEqual(len(set(given)), 15)
        self.assertGreaterEqual(min(given), 0)

    def test_stop_twice(self) -> None:
        """A coordinator may be stopped again, and before it was started."""
        coordinator = self.make_coordinator()
        self.result(coordinator.stop())
        self.result(coordinator.start(NODE))
        self.result(coordinator.stop())
        self.result(coordinator.stop())


class DurableCoordinatorContract(CoordinatorContract):
    """What a coordinator must do besides whose state outlives it."""

    def test_restart(self) -> None:
        """Another coordinator sees the same state to the last id, and gives out other producer ids."""
        first = self.make_coordinator()
        self.result(first.start(NODE))
        self.result(
            first.create_topic("clicks", [[3]] * 12, {"retention.ms": "5", "cleanup.policy": "compact"})
        )
        self.result(first.create_topic("gone", [[3]], {"retention.ms": "6"}))
        self.result(first.delete_topic("gone"))
        given = self.result(first.allocate_producer_ids(1000))
        self.result(first.stop())
        second = self.started()
        self.assertEqual(second.state, first.state)
        self.assertFalse(set(given) & set(self.result(second.allocate_producer_ids(1000))))
