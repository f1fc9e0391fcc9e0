"""A store takes over the nodes that Apache Kafka 3.9 has left, those of its older versions among them."""

from __future__ import annotations

import json

from kafkatx.interfaces.nodes import Create
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.producer_ids import first_producer_id
from kafkatx.metadata.layout.topics import decode
from tests.metadata.cluster.cases import RunningCase

ID = "q1Sh-9_ISia_zwGINzRvyQ"
NODES = {
    "/cluster": b"",
    "/cluster/id": b'{"version":"1","id":"%s"}' % ID.encode(),
    "/controller_epoch": b"7",
    "/brokers": b"",
    "/brokers/ids": b"",
    "/brokers/topics": b"",
    "/brokers/seqid": b"",
    "/consumers": b"",
    "/feature": b'{"features":{},"version":2,"status":1}',
    "/latest_producer_id_block": b'{"version":1,"broker":2,"block_start":"4000","block_end":"4999"}',
    "/isr_change_notification": b"",
    "/log_dir_event_notification": b"",
    "/admin": b"",
    "/admin/delete_topics": b"",
    "/admin/delete_topics/gone": b"",
    "/config": b"",
    "/config/changes": b"",
    "/config/changes/config_change_0000000003": b'{"version":2,"entity_path":"clients/c%201"}',
    "/config/topics": b"",
    "/config/topics/three": b'{"version":1,"config":{"retention.ms":"86400000"}}',
    "/config/topics/gone": b'{"version":1,"config":{}}',
    "/config/clients": b"",
    "/config/clients/c%201": b'{"version":1,"config":{"consumer_byte_rate":"2097152"}}',
    "/config/brokers": b"",
    "/config/brokers/<default>": b'{"version":1,"config":{"log.retention.ms":"777000"}}',
    "/config/users": b"",
    "/config/users/CN%3Dann": b'{"version":1,"config":{"SCRAM-SHA-256":"salt=x","producer_byte_rate":"5"}}',
    "/config/users/bob": b"",
    "/config/users/bob/clients": b"",
    "/config/users/bob/clients/<default>": b'{"version":1,"config":{"request_percentage":"12.5"}}',
    "/config/ips": b"",
}
TOPICS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "three": (
        {"version": 3, "topic_id": ID, "adding_replicas": {"0": [3]}, "removing_replicas": {}},
        {"controller_epoch": 1, "leader": 3, "version": 1, "leader_epoch": 2, "isr": [3]},
    ),
    "old": (  # of Kafka 0.8: no id, no config node
        {"version": 1},
        {"controller_epoch": 1, "leader": -1, "version": 1, "leader_epoch": 4, "isr": [3]},
    ),
    "unclean": (
        {"version": 3, "topic_id": "AAAAAAAAAAAAAAAAAAAABQ"},
        {
            "controller_epoch": 1,
            "leader": 3,
            "version": 1,
            "leader_epoch": 9,
            "isr": [3],
            "leader_recovery_state": 1,
        },
    ),
    "elsewhere": (
        {"version": 3, "topic_id": "AAAAAAAAAAAAAAAAAAAABw"},
        {"controller_epoch": 1, "leader": 2, "version": 1, "leader_epoch": 5, "isr": [2]},
    ),
    "gone": (
        {"version": 2},
        {"controller_epoch": 1, "leader": 3, "version": 1, "leader_epoch": 0, "isr": [3]},
    ),
}


class TakeoverTests(RunningCase):
    def setUp(self) -> None:
        """Write the nodes, and start the broker 3."""
        super().setUp()
        for path, data in NODES.items():
            self.write(Create(path, data))
        for name, (topic, state) in TOPICS.items():
            node = {**topic, "partitions": {"0": [1, 2, 3]}}
            self.write(Create(paths.topic(name), json.dumps(node).encode()))
            self.write(Create(paths.partitions(name)), Create(paths.partition(name, 0)))
            self.write(Create(paths.state(name, 0), json.dumps(state).encode()))
        self.store = self.started(3)
        for _ in range(100):
            self.clock.advance(0.1)

    def test_state(self) -> None:
        """Cluster, configs and quotas are those of Apache Kafka."""
        state = self.store.state
        self.assertEqual((state.cluster_id, state.controller_id), (ID, 3))
        self.assertEqual(state.topics["three"].configs, {"retention.ms": "86400000"})
        self.assertEqual(state.broker_configs, {"": {"log.retention.ms": "777000"}})
        self.assertEqual(
            {entity: dict(quotas) for entity, quotas in state.client_quotas.items()},
            {
                (("client-id", "c 1"),): {"consumer_byte_rate": 2097152.0},
                (("user", "CN=ann"),): {"producer_byte_rate": 5.0},
                (("client-id", None), ("user", "bob")): {"request_percentage": 12.5},
            },
        )

    def test_leaders(self) -> None:
        """The broker leads what has it in the in-sync set, in a new epoch; the rest waits for its broker."""
        found = {
            name: (topic.partitions[0].leader, topic.partitions[0].leader_epoch, topic.partitions[0].isr)
            for name, topic in self.store.state.topics.items()
        }
        self.assertEqual(
            found,
            {
                "three": (3, 3, (3,)),
                "old": (3, 5, (3,)),
                "unclean": (3, 10, (3,)),
                "elsewhere": (-1, 6, (2,)),
            },
        )

    def test_controller_epoch(self) -> None:
        """The epoch of the controller goes on."""
        self.assertEqual(self.read("/controller_epoch"), b"8")

    def test_deleted(self) -> None:
        """A topic whose deletion Apache Kafka has not finished is deleted."""
        for path in ("/brokers/topics/gone", "/config/topics/gone", "/admin/delete_topics/gone"):
            self.assertIsNone(self.stat(path), path)

    def test_old_topic(self) -> None:
        """A topic without an id is given one, and can be deleted although it has no config node."""
        node = decode("/brokers/topics/old", self.read("/brokers/topics/old"))
        self.assertEqual(node.topic_id, self.store.state.topics["old"].topic_id)
        self.result(self.store.delete_topic("old"))
        self.assertIsNone(self.stat("/brokers/topics/old"))

    def test_reassignment(self) -> None:
        """A reassignment under way stays in the topic's node when partitions are added."""
        self.result(self.store.add_partitions("three", 1, [[3]]))
        node = decode("/brokers/topics/three", self.read("/brokers/topics/three"))
        self.assertEqual((node.partitions, node.adding_replicas), (((1, 2, 3), (3,)), {0: (3,)}))

    def test_producer_ids(self) -> None:
        """Producer ids begin after those of Apache Kafka, and above all of before this time."""
        first = first_producer_id(self.stores.now_ms() / 1000)
        self.assertGreater(first, 5000)
        self.assertEqual(self.result(self.store.allocate_producer_ids(10)).start, first)

    def test_credentials(self) -> None:
        """Credentials stay when a quota of their user changes."""
        self.result(self.store.alter_client_quotas({(("user", "CN=ann"),): {"producer_byte_rate": 6.0}}))
        self.assertEqual(
            json.loads(self.read("/config/users/CN%3Dann"))["config"],
            {"SCRAM-SHA-256": "salt=x", "producer_byte_rate": "6"},
        )
