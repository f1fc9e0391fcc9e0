"""Commands about topics: the nodes that they write, and what they do beside other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces.nodes import Create, Delete, Operation, Outcome
from kafkatx.metadata.cluster.commands.topics import LED_S
from tests.metadata.cluster.cases import RunningCase


class TopicCommandTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.store = self.started()

    def test_nodes(self) -> None:
        """The nodes are Kafka's."""
        topic = self.result(self.store.create_topic("t", [[1, 2], [2, 1]], {"a": "b"}))
        node = json.loads(self.read("/brokers/topics/t"))
        self.assertEqual((node["version"], node["partitions"]), (3, {"0": [1, 2], "1": [2, 1]}))
        self.assertEqual(self.read("/config/topics/t"), b'{"version":1,"config":{"a":"b"}}')
        self.assertEqual(topic.partitions[0].replicas, (1, 2))

    def test_no_leader(self) -> None:
        """A topic whose broker is away is created without a leader, after a bounded wait."""
        before = self.clock.seconds()
        topic = self.result(self.store.create_topic("t", [[9]], {}))
        self.assertEqual(topic.partitions[0].leader, -1)
        self.assertTrue(LED_S <= self.clock.seconds() - before < LED_S + 0.5)

    def test_config_left_behind(self) -> None:
        """Configs that another program left behind are replaced."""
        self.write(Create("/config/topics/t", b'{"version":1,"config":{"old":"1"}}'))
        topic = self.result(self.store.create_topic("t", [[1]], {"a": "b"}))
        self.assertEqual(topic.configs, {"a": "b"})
        self.assertEqual(self.read("/config/topics/t"), b'{"version":1,"config":{"a":"b"}}')

    def test_created_again_meanwhile(self) -> None:
        """Partitions and configs of a topic do not get into a later topic of its name."""
        other = self.started(2)
        tree = self.tree(other)
        multi = tree.multi
        commands: list[Callable[[], Deferred[Any]]] = [
            lambda: other.add_partitions("t", 1, [[1]]),
            lambda: other.alter_topic_configs("t", lambda old: {**old, "c": "d"}),
        ]
        for command in commands:
            self.result(self.store.create_topic("t", [[1]], {"a": "old"}))
            held: list[Callable[[], object]] = []

            def hold(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
                result: Deferred[tuple[Outcome, ...]] = Deferred()
                held.append(lambda: multi(operations).chainDeferred(result))  # noqa: B023
                return result

            self.stores.settle()
            self.patch(tree, "multi", hold)
            asked = command()
            self.stores.settle()
            self.patch(tree, "multi", multi)
            self.result(self.store.delete_topic("t"))
            topic = self.result(self.store.create_topic("t", [[1]], {"a": "new"}))
            held[0]()
            self.result(asked)
            self.assertEqual(self.store.state.topics["t"].topic_id, topic.topic_id)
            self.assertEqual(self.store.state.topics["t"].configs["a"], "new")
            self.result(self.store.delete_topic("t"))

    def test_record_removed(self) -> None:
        """A topic that was created counts as created, also if reply and change record are lost."""
        other = self.started(2)
        link = self.tree(other).link
        link.replies.delay_s = 0.1
        created = other.create_topic("t", [[1]], {})
        while self.stat("/brokers/topics/t") is None:
            self.stores.advance(0.05)
        link.cut()
        link.replies.delay_s = 0.0
        self.stores.advance(1.0)
        names = self.children("/kafkatx/changes")
        self.write(*[Delete(f"/kafkatx/changes/{name}") for name in names[:-1]])
        link.heal()
        self.assertEqual(self.result(created).name, "t")

    def test_deleted_before_the_reply(self) -> None:
        """A topic that was created and deleted before its creator knows is created again, with another id."""
        other = self.started(2)
        link = self.tree(other).link
        link.replies.delay_s = 0.1
        created = other.create_topic("t", [[1]], {})
        while "t" not in self.store.state.topics:
            self.stores.advance(0.05)
        first = self.store.state.topics["t"].topic_id
        link.cut()
        link.replies.delay_s = 0.0
        self.result(self.store.delete_topic("t"))
        names = self.children("/kafkatx/changes")
        self.write(*[Delete(f"/kafkatx/changes/{name}") for name in names[:-1]])
        link.heal()
        self.assertNotEqual(self.result(created).topic_id, first)

    def test_marked_already(self) -> None:
        """Deleting a topic that is marked waits for its end."""
        self.result(self.store.create_topic("t", [[1]], {}))
        self.write(Create("/admin/delete_topics/t"))
        self.result(self.store.delete_topic("t"))
        self.assertEqual(self.store.state.topics, {})

    def test_deletion_without_a_controller(self) -> None:
        """A deletion that nothing carries out fails in time; the mark stays."""
        other = self.started(2, eligible=False)
        self.result(other.create_topic("t", [[2]], {}))
        self.result(self.store.stop())
        with self.assertRaises(RequestError) as caught:
            self.result(other.delete_topic("t"))
        self.assertIs(caught.exception.code, ErrorCode.REQUEST_TIMED_OUT)
        self.assertEqual(self.children("/admin/delete_topics"), ["t"])

    def test_partitions_of_an_old_topic(self) -> None:
        """Partitions can be added to a topic without an id at the same time as it gets one."""
        self.write(Create("/brokers/topics/t", b'{"version":1,"partitions":{"0":[1]}}'))
        topic = self.result(self.store.add_partitions("t", 1, [[1]]))
        self.stores.advance(2.0)
        self.assertGreater(topic.topic_id.int, 1)
        self.assertEqual([each.leader for each in self.store.state.topics["t"].partitions], [1, 1])

    def test_deleted_at_the_same_time(self) -> None:
        """A topic that is deleted before it has leaders is not returned."""
        created = self.store.create_topic("t", [[9]], {})
        self.stores.advance(1.0)
        self.result(self.store.delete_topic("t"))
        with self.assertRaises(RequestError) as caught:
            self.result(created)
        self.assertIs(caught.exception.code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_other_keys_stay(self) -> None:
        """A reassignment that another program has begun is not forgotten with new partitions."""
        node = (
            b'{"version":3,"topic_id":"dGVzdHRlc3R0ZXN0dGVzdA","partitions":{"0":[1,2]},'
            b'"adding_replicas":{"0":[2]},"removing_replicas":{"0":[1]}}'
        )
        self.write(Create("/brokers/topics/t", node))
        self.result(self.store.add_partitions("t", 1, [[1]]))
        found = json.loads(self.read("/brokers/topics/t"))
        self.assertEqual((found["adding_replicas"], found["removing_replicas"]), ({"0": [2]}, {"0": [1]}))

    def test_gone_by_a_tool(self) -> None:
        """A topic that a tool has removed cannot be deleted, though the state may still show it."""
        self.result(self.store.create_topic("t", [[9]], {}))
        self.write(Delete("/config/topics/t"), Delete("/brokers/topics/t"))
        with self.assertRaises(RequestError) as caught:
            self.result(self.store.delete_topic("t"))
        self.assertIs(caught.exception.code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
