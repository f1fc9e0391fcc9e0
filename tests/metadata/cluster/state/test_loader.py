"""The loader reads everything of a cluster, and treats a node that it cannot read as it is told."""

from __future__ import annotations

from kafkatx.interfaces.nodes import Create, SetData
from kafkatx.metadata.cluster.state.loader import Loader, last_sequence
from kafkatx.metadata.controller.pieces import TopicNodes
from kafkatx.metadata.layout.fields import UnreadableNode
from tests.metadata.cluster.cases import RunningCase


class LoaderTests(RunningCase):
    def setUp(self) -> None:
        """Make a cluster with a topic, configs and quotas."""
        super().setUp()
        self.store = self.started()
        self.result(self.store.create_topic("t", [[1], [9]], {"a": "b"}))
        self.result(self.store.alter_broker_configs("", lambda old: {"c": "d"}))
        self.result(self.store.alter_group_configs("g/h", lambda old: {"e": "f"}))
        self.result(self.store.alter_client_metrics_configs("s", lambda old: {"metrics": ""}))
        both = (("client-id", None), ("user", "a b"))
        self.result(self.store.alter_client_quotas({both: {"producer_byte_rate": 5.0}}))
        self.loader = Loader(self.tool)

    def test_load(self) -> None:
        """The nodes that are read are those that the store shows."""
        found = self.done(self.loader.load(lambda path: lambda change: None))
        image = self.store._view.image
        draft = found.draft(image)
        self.assertIsNone(draft.finish()[1])
        self.assertEqual(found.applied, image.applied)
        self.assertEqual(len(found.topics[0].states if found.topics[0] else ()), 2)
        self.assertEqual(
            sorted(entity.path for entity in found.entities),
            [
                "brokers/<default>",
                "client-metrics/s",
                "groups/g%2Fh",
                "users/a%20b",
                "users/a%20b/clients/<default>",
            ],
        )

    def test_unreadable(self) -> None:
        """A topic that cannot be read fails a strict loader; another one leaves it out."""
        self.write(SetData("/brokers/topics/t", b"{}"))
        with self.assertRaises(UnreadableNode):
            self.done(self.loader.topic("t"))
        self.loader.strict = False
        self.assertIsNone(self.done(self.loader.topic("t")))

    def test_unreadable_quotas(self) -> None:
        """Quotas that are no numbers are left out, as other nodes that cannot be read."""
        self.write(Create("/config/users/bob", b'{"version":1,"config":{"producer_byte_rate":"fast"}}'))
        self.loader.strict = False
        found = self.done(self.loader.load(lambda path: lambda change: None))
        draft = found.draft(self.store._view.image)
        self.assertIsNone(draft.finish()[1])

    def test_missing(self) -> None:
        """A topic that does not exist is no topic."""
        self.assertIsNone(self.done(self.loader.topic("u")))

    def test_topic_nodes(self) -> None:
        """The nodes of a topic are found as they are, also half-deleted ones."""
        self.write(Create("/brokers/topics/t/partitions/1"))
        self.assertEqual(self.done(self.loader.topic_nodes("t")), TopicNodes(True, True, {0: True, 1: False}))
        self.assertEqual(self.done(self.loader.topic_nodes("u")), TopicNodes(False, False, {}))

    def test_last_sequence(self) -> None:
        """The last record is found by its number; other names are ignored."""
        self.assertEqual(last_sequence(["c-0000000009", "c-0000000010", "x"]), 10)
        self.assertEqual(last_sequence([]), -1)
