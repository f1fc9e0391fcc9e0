"""The nodes of a new cluster are Kafka's; those of an existing one are kept and checked."""

from __future__ import annotations

from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import Create
from kafkatx.metadata.cluster.cluster_nodes import prepare
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.brokers import Registration
from kafkatx.metadata.layout.controller import encode_import
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.nodes import Endpoint
from tests.metadata.cluster.cases import RunningCase
from tests.metadata.layout.test_brokers import KAFKA_3_9

ID = "q1Sh-9_ISia_zwGINzRvyQ"


class ClusterNodesTests(RunningCase):
    def prepare(self, cluster_id: str = ID) -> None:
        """Make the nodes by the tool."""
        self.done(prepare(self.tool, "zookeeper.connect=h", 1, lambda: cluster_id))

    def test_new(self) -> None:
        """All parents are made, and one change record."""
        self.prepare()
        for path in paths.PERSISTENT:
            self.assertIsNotNone(self.stat(path), path)
        self.assertEqual(self.children("/kafkatx/changes"), ["c-0000000000"])
        self.assertEqual(self.read("/cluster/id"), b'{"version":"1","id":"%s"}' % ID.encode())
        self.assertEqual(self.read("/feature"), b'{"version":2,"status":1,"features":{}}')

    def test_existing(self) -> None:
        """Nothing changes in a cluster that exists."""
        self.prepare()
        zxid = self.stores.server.zxid
        self.prepare("another id")
        self.assertEqual(self.stores.server.zxid, zxid)

    def test_migration(self) -> None:
        """A cluster that is being migrated to KRaft is refused."""
        node = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":5}'
        self.write(Create("/controller", node))
        with self.assertRaises(SettingError) as caught:
            self.prepare()
        self.assertIn("KRaft", str(caught.exception))

    def test_import(self) -> None:
        """A cluster whose import was interrupted is refused."""
        self.write(Create("/kafkatx"), Create("/kafkatx/import", encode_import(ID)))
        with self.assertRaises(SettingError) as caught:
            self.prepare()
        self.assertIn(f"the import of cluster {ID} has not ended", str(caught.exception))
        self.assertIsNone(self.stat("/cluster/id"))

    def test_apache(self) -> None:
        """A cluster in which a broker of Apache Kafka runs is refused, and not changed; ours are welcome."""
        self.prepare()
        self.write(Create("/brokers/ids/1", Registration(1, (Endpoint("PLAINTEXT", "h", 1),)).encode()))
        self.prepare()
        self.write(Create("/brokers/ids/2", KAFKA_3_9))
        with self.assertRaises(SettingError) as caught:
            self.prepare()
        self.assertIn("broker 2 of Apache Kafka is running at h:9092", str(caught.exception))

    def test_foreign(self) -> None:
        """A cluster id or an epoch that cannot be read is refused, and nothing is repaired."""
        self.prepare()
        self.write(Create("/controller_epoch", b"x"))
        with self.assertRaises(UnreadableNode) as caught:
            self.prepare()
        self.assertIn("/controller_epoch", str(caught.exception))
