"""Every node that Apache Kafka 3.9 makes in ZooKeeper is read, and kafkatx would write the same."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kazoo.client import KazooClient
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout import (
    brokers,
    changes,
    configs,
    controller,
    entities,
    incarnations,
    partition_states,
    paths,
    producer_ids,
    topics,
)
from tests.integration.zookeeper import ZooKeeperServer
from tests.interop.zookeeper_mode import ApacheCluster, fill, zookeeper_shell

OTHERS = frozenset({"/", "/kafkatx", "/config/users/bob", "/config/users/bob/clients"})
"""Nodes without content that are no parents of all clusters."""


class Node(NamedTuple):
    """A node as it is in ZooKeeper."""

    data: bytes
    version: int
    ephemeral_owner: int


def read_all(connect: str) -> dict[str, Node]:
    """Read all nodes below a chroot."""
    client = KazooClient(connect)
    client.start()
    found: dict[str, Node] = {}

    def walk(path: str) -> None:
        data, stat = client.get(path)
        found[path] = Node(data or b"", stat.version, stat.ephemeralOwner)
        for name in client.get_children(path):
            walk(f"{path.rstrip('/')}/{name}")

    walk("/")
    client.stop()
    client.close()
    return found


def written(path: str, data: bytes) -> bytes | None:
    """Return the content that kafkatx would write to a node of Apache Kafka; None for a node without content.

    :raises UnreadableNode: it cannot read it.
    :raises AssertionError: the node is unknown.
    """
    broker_id = paths.parse_broker(path)
    if broker_id is not None:
        return brokers.decode(broker_id, path, data).encode()
    if paths.parse_state(path) is not None:
        return partition_states.decode(path, data).encode()
    parent = path.rpartition("/")[0]
    if parent == paths.TOPICS:
        return topics.decode(path, data).encode()
    if parent == paths.CONFIG_CHANGES:
        return configs.encode_notification(configs.decode_notification(path, data))
    entity = entities.parse_path(path.removeprefix("/config/"))
    if entity is not None and path.startswith("/config/") and data:
        found = configs.decode_configs(path, data)
        return configs.encode_configs(configs.with_quotas(found, configs.quotas(path, found)))
    if path in _SINGLE:
        return _SINGLE[path](data)
    if path.startswith("/kafkatx/"):
        return _ours(path, parent, data)
    if data or (path not in OTHERS | set(paths.PERSISTENT) and "/partitions" not in path):
        raise AssertionError(f"kafkatx does not know {path}: {data!r}")
    return None


def _ours(path: str, parent: str, data: bytes) -> bytes | None:
    """Return the content of a node of kafkatx, written again."""
    if parent == paths.CHANGES:
        return changes.decode(path, data).encode()
    if parent == paths.INCARNATIONS:
        return incarnations.decode_incarnation(path, data).encode()
    if parent == paths.LOG_DIRS:
        return incarnations.encode_log_dirs(incarnations.decode_log_dirs(path, data))
    if parent.startswith(paths.LOG_DIRS) and path != paths.LOG_DIRS:
        return incarnations.decode_placed_topic(path, data).encode()
    return None


def _block(data: bytes) -> bytes:
    block = producer_ids.decode(data)
    return block.encode() if block else b""


_SINGLE: Mapping[str, Callable[[bytes], bytes]] = {
    paths.CONTROLLER: lambda data: controller.decode_controller(data).encode(),
    paths.CONTROLLER_EPOCH: lambda data: controller.encode_epoch(controller.decode_epoch(data)),
    paths.CLUSTER_ID: lambda data: controller.encode_cluster_id(controller.decode_cluster_id(data)),
    paths.FEATURE: lambda data: b"" if controller.decode_feature(data) else controller.encode_feature(),
    paths.PRODUCER_IDS: _block,
}


def meaning(data: bytes) -> object:
    """Return a node's content without the order of keys."""
    return json.loads(data) if data else None


def check_nodes(case: SynchronousTestCase, nodes: Mapping[str, Node]) -> None:
    """Check that kafkatx would write all nodes as they are."""
    for path, node in nodes.items():
        ours = written(path, node.data)
        if ours is not None:
            case.assertEqual(meaning(ours), meaning(node.data), path)


class NodeTests(SynchronousTestCase):
    """A cluster with topics, configs of every kind of entity, quotas, a group and an idempotent producer."""

    def setUp(self) -> None:
        """Start and fill it."""
        server = ZooKeeperServer()
        self.addCleanup(server.stop)
        self.connect = f"127.0.0.1:{server.port}/a/chroot"
        self.cluster = ApacheCluster(os.path.abspath(self.mktemp()), self.connect, brokers=2)
        self.addCleanup(self.cluster.stop, signal.SIGKILL)
        self.cluster.start()
        self.data = fill(self.cluster)

    def test_nodes(self) -> None:
        """Nodes of a running and of a stopped cluster are read; kafkatx writes the same content."""
        nodes = read_all(self.connect)
        check_nodes(self, nodes)
        found = controller.decode_controller(nodes[paths.CONTROLLER].data)
        self.assertFalse(controller.is_migration(found, nodes[paths.CONTROLLER].ephemeral_owner))
        self.assertEqual(len([path for path in nodes if paths.parse_broker(path)]), 2)
        self.assertLessEqual(set(paths.PERSISTENT) - set(nodes), _OURS)
        shell = zookeeper_shell(self.connect, "get /brokers/topics/three")
        self.assertIn(nodes["/brokers/topics/three"].data.decode(), shell)
        self.cluster.stop()
        stopped = read_all(self.connect)
        check_nodes(self, stopped)
        leaderless = [
            path
            for path, node in stopped.items()
            if paths.parse_state(path) and partition_states.decode(path, node.data).leader == -1
        ]
        self.assertTrue(leaderless)


_OURS = {path for path in paths.PERSISTENT if path.startswith("/kafkatx")} | {"/config/groups"}
