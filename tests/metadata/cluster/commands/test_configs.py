"""Commands about configs: Kafka's nodes and notifications, and what others keep in the same nodes."""

from __future__ import annotations

import json

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces.nodes import Create
from tests.metadata.cluster.cases import RunningCase

ANN = (("user", "ann"),)


class ConfigCommandTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.store = self.started()

    def test_nodes(self) -> None:
        """Each change sets the node and announces it as Kafka does."""
        self.result(self.store.alter_broker_configs("", lambda old: {"a": "b"}))
        self.result(self.store.alter_broker_configs("", lambda old: {**old, "c": "d"}))
        self.assertEqual(self.read("/config/brokers/<default>"), b'{"version":1,"config":{"a":"b","c":"d"}}')
        names = self.children("/config/changes")
        self.assertEqual(len(names), 2)
        self.assertEqual(
            self.read(f"/config/changes/{names[0]}"), b'{"version":2,"entity_path":"brokers/<default>"}'
        )

    def test_groups_are_ours(self) -> None:
        """Configs of groups and subscriptions are not announced: Apache Kafka has none in ZooKeeper."""
        self.result(self.store.alter_group_configs("g", lambda old: {"a": "b"}))
        self.result(self.store.alter_client_metrics_configs("s/t", lambda old: {"metrics": "*"}))
        self.assertEqual(self.children("/config/changes"), [])
        self.assertEqual(self.store.state.group_configs, {"g": {"a": "b"}})
        self.assertEqual(self.store.state.client_metrics_configs, {"s/t": {"metrics": "*"}})
        self.assertEqual(self.children("/config/client-metrics"), ["s%2Ft"])

    def test_other_configs_stay(self) -> None:
        """Credentials that are kept in the node of a user stay when quotas change."""
        self.write(Create("/config/users/ann", b'{"version":1,"config":{"SCRAM-SHA-256":"x"}}'))
        self.result(self.store.alter_client_quotas({ANN: {"producer_byte_rate": 5.0}}))
        config = json.loads(self.read("/config/users/ann"))["config"]
        self.assertEqual(config, {"SCRAM-SHA-256": "x", "producer_byte_rate": "5"})

    def test_parents(self) -> None:
        """Missing parents are made, once, in the same transaction."""
        both = [(("client-id", name), ("user", "ann")) for name in ("a", "b")]
        self.result(
            self.store.alter_client_quotas({one: {"producer_byte_rate": 5.0} for one in (*both, ANN)})
        )
        self.assertEqual(self.children("/config/users/ann/clients"), ["a", "b"])
        self.assertEqual(set(self.store.state.client_quotas), {*both, ANN})

    def test_impossible_quotas(self) -> None:
        """Quotas for types that Kafka does not combine change nothing."""
        zxid = self.stores.server.zxid
        with self.assertRaises(RequestError) as caught:
            self.result(
                self.store.alter_client_quotas(
                    {(("ip", "1.2.3.4"), ("user", "a")): {"producer_byte_rate": 5.0}}
                )
            )
        self.assertIs(caught.exception.code, ErrorCode.INVALID_REQUEST)
        self.assertEqual(self.stores.server.zxid, zxid)

    def test_unreadable(self) -> None:
        """A node that cannot be read is not overwritten."""
        self.write(Create("/config/brokers/1", b"?"))
        with self.assertRaises(RequestError) as caught:
            self.result(self.store.alter_broker_configs("1", lambda old: {"a": "b"}))
        self.assertIn("/config/brokers/1", str(caught.exception))
        self.assertEqual(self.read("/config/brokers/1"), b"?")
