"""Tests of the paths of nodes."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import check_path, parent_path
from kafkatx.metadata.layout import paths
from kafkatx.types import TopicPartition

ID = uuid.UUID("ffeeddcc-bbaa-9988-7766-554433221100")


class PathTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """Paths are those of Apache Kafka 3.9."""
        self.assertEqual(paths.broker(1), "/brokers/ids/1")
        self.assertEqual(paths.topic("T"), "/brokers/topics/T")
        self.assertEqual(paths.partitions("T"), "/brokers/topics/T/partitions")
        self.assertEqual(paths.partition("T", 0), "/brokers/topics/T/partitions/0")
        self.assertEqual(paths.state("T", 0), "/brokers/topics/T/partitions/0/state")
        self.assertEqual(paths.deleted_topic("T"), "/admin/delete_topics/T")
        self.assertEqual(paths.config("topics/T"), "/config/topics/T")
        self.assertEqual(paths.CONFIG_CHANGE_PREFIX, "/config/changes/config_change_")

    def test_ours(self) -> None:
        """Our own paths are all below /kafkatx."""
        self.assertEqual(paths.incarnation(1), "/kafkatx/incarnations/1")
        self.assertEqual(paths.lease(1), "/kafkatx/leases/1")
        self.assertEqual(paths.log_dirs(1), "/kafkatx/log_dirs/1")
        self.assertEqual(paths.placed_topic(1, ID), "/kafkatx/log_dirs/1/_-7dzLuqmYh3ZlVEMyIRAA")
        self.assertEqual(paths.change(7), "/kafkatx/changes/c-0000000007")

    def test_persistent(self) -> None:
        """The nodes of a start are listed with each parent before its children."""
        made = {"/"}
        for path in paths.PERSISTENT:
            self.assertIn(parent_path(check_path(path)), made)
            made.add(path)
        self.assertEqual(len(made), len(paths.PERSISTENT) + 1)
        self.assertNotIn(paths.PRODUCER_IDS, made)


class ParseTests(SynchronousTestCase):
    def test_state(self) -> None:
        """The path of a state gives its partition."""
        for partition in (TopicPartition("a.b_c-d", 0), TopicPartition("partitions", 2147483647)):
            self.assertEqual(paths.parse_state(paths.state(*partition)), partition)
        for path in (
            "/brokers/topics/T/partitions/0",
            "/brokers/topics/T/partitions/00/state",
            "/brokers/topics/T/partitions/x/state",
            "/brokers/topics/T/U/partitions/0/state",
            "/brokers/topics/T/partitions/0/state/x",
            "/brokers/topics//partitions/0/state",
        ):
            self.assertIsNone(paths.parse_state(path), path)

    def test_change(self) -> None:
        """A change record's name or path gives its sequence number, also a negative one."""
        self.assertEqual(paths.parse_change("c-0000000012"), 12)
        self.assertEqual(paths.parse_change(paths.change(12)), 12)
        self.assertEqual(paths.parse_change("c-2147483647"), 2147483647)
        self.assertEqual(paths.parse_change("c--2147483648"), -2147483648)
        for name in ("c-12", "d-0000000012", "c-", "", "c-00000000x2"):
            self.assertIsNone(paths.parse_change(name), name)

    def test_broker(self) -> None:
        """The name or path of a registration gives the broker's id."""
        self.assertEqual(paths.parse_broker("12"), 12)
        self.assertEqual(paths.parse_broker("/brokers/ids/12"), 12)
        for name in ("", "x", "-1", "01", "/brokers/ids/1/x"):
            self.assertIsNone(paths.parse_broker(name), name)

    def test_placed_topic(self) -> None:
        """The name of a record of a topic's log dirs gives the topic's id."""
        self.assertEqual(paths.parse_placed_topic("_-7dzLuqmYh3ZlVEMyIRAA"), ID)
        self.assertIsNone(paths.parse_placed_topic("T"))
