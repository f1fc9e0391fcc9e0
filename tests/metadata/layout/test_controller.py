"""Tests of the nodes of the controller and of the cluster."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout import controller as c
from kafkatx.metadata.layout.fields import UnreadableNode

KAFKA_3_9 = b'{"version":2,"brokerid":1,"timestamp":"1795422174828","kraftControllerEpoch":-1}'


class ControllerTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """/controller of Apache Kafka 3.9 is read, and written again byte for byte."""
        node = c.decode_controller(KAFKA_3_9)
        self.assertEqual(node, c.ControllerNode(1, 1795422174828))
        self.assertEqual(node.encode(), KAFKA_3_9)
        self.assertEqual(c.decode_controller(c.ControllerNode(2).encode()), c.ControllerNode(2))

    def test_version_1(self) -> None:
        """/controller of a broker before 3.4 has no KRaft epoch."""
        node = c.decode_controller(b'{"version":1,"brokerid":3,"timestamp":"5"}')
        self.assertEqual(node, c.ControllerNode(3, 5))

    def test_wrong(self) -> None:
        """A newer version and a missing broker are errors."""
        for data in (b'{"version":3,"brokerid":1}', b'{"version":2}', b"1", b'{"version":2,"brokerid":-1}'):
            self.assertRaises(UnreadableNode, c.decode_controller, data)

    def test_migration(self) -> None:
        """A persistent node, or one with an epoch of KRaft, means a migration."""
        self.assertFalse(c.is_migration(c.ControllerNode(1), ephemeral_owner=99))
        self.assertTrue(c.is_migration(c.ControllerNode(3000, 5, kraft_epoch=0), ephemeral_owner=99))
        self.assertTrue(c.is_migration(c.ControllerNode(1), ephemeral_owner=0))


class EpochTests(SynchronousTestCase):
    def test_digits(self) -> None:
        """The epoch is plain digits."""
        self.assertEqual(c.encode_epoch(12), b"12")
        self.assertEqual(c.decode_epoch(b"12"), 12)

    def test_wrong(self) -> None:
        """Anything else is an error."""
        for data in (b"", b"-1", b"x", b"1.0", b"\xff", b"99999999999"):
            self.assertRaises(UnreadableNode, c.decode_epoch, data)


class ClusterTests(SynchronousTestCase):
    def test_cluster_id(self) -> None:
        """The version of /cluster/id is a text."""
        data = b'{"version":"1","id":"hfbT8eTgQ8C_bWl6n3KZAA"}'
        self.assertEqual(c.decode_cluster_id(data), "hfbT8eTgQ8C_bWl6n3KZAA")
        self.assertEqual(c.encode_cluster_id("hfbT8eTgQ8C_bWl6n3KZAA"), data)
        for wrong in (b'{"version":"2","id":"x"}', b'{"version":"1"}', b'{"version":"1","id":""}', b""):
            self.assertRaises(UnreadableNode, c.decode_cluster_id, wrong)

    def test_import(self) -> None:
        """The mark of an import names the cluster."""
        data = b'{"version":1,"cluster_id":"hfbT8eTgQ8C_bWl6n3KZAA"}'
        self.assertEqual(c.encode_import("hfbT8eTgQ8C_bWl6n3KZAA"), data)
        self.assertEqual(c.decode_import(data), "hfbT8eTgQ8C_bWl6n3KZAA")
        self.assertRaises(UnreadableNode, c.decode_import, b'{"version":2,"cluster_id":"x"}')

    def test_feature(self) -> None:
        """/feature has levels of features, unless they are disabled."""
        self.assertEqual(c.encode_feature(), b'{"version":2,"status":1,"features":{}}')
        self.assertEqual(c.decode_feature(c.encode_feature()), {})
        data = b'{"version":%d,"status":%d,"features":{"f":{"min_version_level":1,"max_version_level":3}}}'
        self.assertEqual(c.decode_feature(data % (1, 1)), {"f": 3})
        self.assertEqual(c.decode_feature(data % (2, 0)), {})
        for wrong in (data % (3, 1), data % (2, 2), b'{"version":2,"status":1}', data.replace(b"3", b'"3"')):
            self.assertRaises(UnreadableNode, c.decode_feature, wrong)

    def test_migration(self) -> None:
        """/migration tells the KRaft controller that has the cluster."""
        data = {
            "version": 0,
            "kraft_controller_id": 3000,
            "kraft_controller_epoch": 1,
            "kraft_metadata_offset": 5,
            "kraft_metadata_epoch": 1,
        }
        self.assertEqual(c.decode_migration(json.dumps(data).encode()), c.MigrationNode(3000, 1))
        self.assertRaises(UnreadableNode, c.decode_migration, json.dumps(data | {"version": 1}).encode())
