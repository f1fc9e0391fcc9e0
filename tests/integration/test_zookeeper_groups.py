"""Groups of ConsumerConnectors over a real ZooKeeper (``kafkatx.balancer=zookeeper``)."""

from __future__ import annotations

import uuid

from kazoo.client import KazooClient
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client import Whitelist
from kafkatx.client.threads import ConsumerConnector
from kafkatx.testing import EmbeddedCluster
from tests.integration.zookeeper import shared_server
from tests.integration.zookeeper_group import ChurnedGroup, our_member
from tests.until import until

PARTITIONS = 8
WAIT_S = 30.0
SETTINGS = {"zookeeper.session.timeout.ms": "2000", "rebalance.backoff.ms": "300"}


class ZooKeeperGroupTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start two brokers on ZooKeeper."""
        self.connect = f"127.0.0.1:{shared_server().port}/groups-{uuid.uuid4().hex[:8]}"
        self.cluster = EmbeddedCluster(2, zookeeper=self.connect)
        self.addCleanup(self.cluster.close)
        self.cluster.start()

    def test_members_come_and_go(self) -> None:
        """Members join, leave and are killed: every record is read, and a partition has one reader."""
        topic = self.cluster.topic("churned", partitions=PARTITIONS, replication=1)
        bootstrap = self.cluster.bootstrap
        with ChurnedGroup(
            self.connect, bootstrap, topic, PARTITIONS, {"ours": our_member}, SETTINGS
        ) as group:
            first, second = group.join("ours", streams=2), group.join("ours", filtered=True)
            group.wait_balanced()
            group.wait_for_records(second)
            group.kill(first)
            third = group.join("ours")
            group.wait_balanced()
            group.wait_for_records(third)
            group.leave(second)
            group.wait_balanced()
            group.finish()

    def test_new_topic(self) -> None:
        """A filter gets a topic that is made later, and goes on from its offsets, wherever they are kept."""
        with KazooClientStarted(self.connect) as kazoo:
            for storage in ("zookeeper", "kafka"):
                topics = f"{storage}-later.*"
                settings = {
                    "zookeeper.connect": self.connect,
                    "kafkatx.balancer": "zookeeper",
                    "group.id": storage,
                    "offsets.storage": storage,
                    "dual.commit.enabled": "false",
                    "auto.offset.reset": "smallest",
                }
                values: list[bytes] = []
                for value in (b"one", b"two"):
                    with ConsumerConnector(settings, timeout_s=WAIT_S) as connector:
                        (stream,) = connector.create_message_streams_by_filter(Whitelist(topics))
                        if value == b"one":
                            until(lambda: kazoo.exists(f"/consumers/{storage}/ids"), "it is a member")  # noqa: B023
                            topic = self.cluster.topic(f"{storage}-later", replication=1)
                        self.cluster.produce(topic, value)
                        values.append(next(iter(stream)).value)
                self.assertEqual(values, [b"one", b"two"])
                path = f"/consumers/{storage}/offsets/{topic}/0"
                self.assertEqual(
                    kazoo.exists(path) and kazoo.get(path)[0], b"2" if storage == "zookeeper" else None
                )
                self.assertEqual(kazoo.get_children(f"/consumers/{storage}/ids"), [])


class KazooClientStarted:
    """A client of ZooKeeper in a ``with`` statement."""

    def __init__(self, connect: str) -> None:
        self._client = KazooClient(connect)

    def __enter__(self) -> KazooClient:
        self._client.start()
        return self._client

    def __exit__(self, *_: object) -> None:
        self._client.stop()
        self._client.close()
