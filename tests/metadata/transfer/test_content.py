"""Tests of the nodes that the state of a cluster of one broker makes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Create, parent_path
from kafkatx.metadata.layout import configs, entities, paths, producer_ids, topics
from kafkatx.metadata.layout.incarnations import decode_log_dirs, decode_placed_topic
from kafkatx.metadata.layout.partition_states import StateNode, decode
from kafkatx.metadata.layout.security import acls
from kafkatx.metadata.transfer.content import MOST_BYTES, MOST_OPERATIONS, Content, batches, nodes
from kafkatx.types import ClusterState, LogDirRecord
from tests.metadata.transfer.states import GONE, ORDERS, content


class ContentTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the nodes."""
        self.content = content()
        self.nodes = {node.path: node.data for node in nodes(self.content)}

    def test_order(self) -> None:
        """Each node is made once, after its parent."""
        made = {"/", *paths.PERSISTENT}
        for node in nodes(self.content):
            self.assertIn(parent_path(node.path), made)
            self.assertNotIn(node.path, made)
            made.add(node.path)

    def test_topics(self) -> None:
        """Topics keep id and configs; partitions keep leader, epoch and replicas."""
        path = paths.topic("orders")
        self.assertEqual(topics.decode(path, self.nodes[path]), topics.TopicNode(ORDERS, ((7,), (7,))))
        path = "/config/topics/orders"
        self.assertEqual(configs.decode_configs(path, self.nodes[path]), {"retention.ms": "5"})
        path = paths.state("orders", 1)
        self.assertEqual(decode(path, self.nodes[path]), StateNode(7, 3, 0, (7,)))

    def test_configs(self) -> None:
        """Configs of brokers and groups, quotas and credentials are found again at their entities."""
        found = {}
        for path, data in self.nodes.items():
            entity = entities.parse_path(path.removeprefix("/config/"))
            if path.startswith("/config/") and entity is not None:
                found[entity] = configs.decode_configs(path, data)
        state = self.content.state
        for broker, settings in state.broker_configs.items():
            self.assertEqual(found[entities.broker(broker)], settings)
        self.assertEqual(found[entities.group("a/b")], state.group_configs["a/b"])
        self.assertEqual(found[entities.client_metrics("a/b")], {"metrics": "*"})
        for quota_entity, quotas in state.client_quotas.items():
            self.assertEqual(configs.quotas("", found[entities.quota(quota_entity)]), quotas)
        self.assertEqual(found[entities.quota((("user", "bob"),))], {"SCRAM-SHA-256": "salt=b"})
        self.assertEqual(found[entities.quota((("user", "käthe/"),))], {"SCRAM-SHA-512": "salt=k"})

    def test_acls(self) -> None:
        """ACLs are found again at their resources, and each node has its parent."""
        found = {
            pattern: acls.decode_entries(path, data)
            for path, data in self.nodes.items()
            if (pattern := acls.parse_path(path)) is not None
        }
        self.assertEqual(found, self.content.state.acls)
        self.assertEqual(self.nodes["/kafka-acl/TransactionalId"], b"")

    def test_producer_ids(self) -> None:
        """The next block of producer ids begins after those that were in use."""
        block = producer_ids.decode(self.nodes[paths.PRODUCER_IDS])
        self.assertEqual(producer_ids.following(block, 8).ids.start, 3000)
        unused = Content(7, ClusterState("x", -1), LogDirRecord())
        self.assertNotIn(paths.PRODUCER_IDS, {node.path for node in nodes(unused)})

    def test_log_dirs(self) -> None:
        """The record of the log dirs has placed and deleted topics."""
        path = paths.log_dirs(7)
        self.assertEqual(decode_log_dirs(path, self.nodes[path]), {"dir-a": "/data/a"})
        path = paths.placed_topic(7, ORDERS)
        self.assertEqual(decode_placed_topic(path, self.nodes[path]).partitions, {0: "dir-a", 1: "dir-a"})
        path = paths.placed_topic(7, GONE)
        self.assertTrue(decode_placed_topic(path, self.nodes[path]).deleted)


class BatchTests(SynchronousTestCase):
    def test_bounds(self) -> None:
        """Batches keep all operations in order, within their number and bytes."""
        made = [Create(f"/a{number}", b"x" * (number % 7 * 10_000)) for number in range(2000)]
        found = list(batches(made))
        self.assertEqual([one for batch in found for one in batch], made)
        for batch in found:
            self.assertLessEqual(len(batch), MOST_OPERATIONS)
            self.assertLessEqual(sum(len(one.data) + len(one.path) for one in batch), MOST_BYTES)

    def test_large(self) -> None:
        """One node that is larger than a batch is a batch of its own."""
        large = Create("/large", b"x" * (MOST_BYTES + 1))
        self.assertEqual(list(batches([Create("/a"), large, Create("/b")]))[1], [large])
