"""Tests of kafkatx.blocking.admin.topics."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.topics import Admin
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.create_partitions import CreatePartitionsRequest
from kafkatx.wire.messages.create_topics import CreateTopicsRequest
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fake_settings import FakeSettings
from tests.blocking.fakes import FakeCluster, Log


class AdminTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A cluster with a topic and an internal one."""
        self.fake = FakeCluster({"t": [Log(end=5)], "__hidden": [Log()]})
        self.admin = Admin(self.fake.client())

    def test_create(self) -> None:
        """Numbers and settings are sent as they are given."""
        self.admin.create_topic("new", 3, 1, {"retention.ms": "5"})
        topic = self.fake.sent(CreateTopicsRequest)[0].topics[0]
        self.assertEqual((topic.num_partitions, topic.replication_factor), (3, 1))
        self.assertEqual([(c.name, c.value) for c in topic.configs], [("retention.ms", "5")])
        self.assertEqual(len(self.fake.topics["new"]), 3)

    def test_defaults_of_old_brokers(self) -> None:
        """Before CreateTopics 4 there is no -1: one partition and one replica are asked for."""
        self.fake.versions[CreateTopicsRequest] = 3
        self.admin.create_topic("new")
        topic = self.fake.sent(CreateTopicsRequest)[0].topics[0]
        self.assertEqual((topic.num_partitions, topic.replication_factor), (1, 1))

    def test_create_waits(self) -> None:
        """A topic that brokers have not heard of yet is waited for, by asking, and is known then."""
        client = self.fake.client()
        client.metadata([])  # who is there
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.fake.faults[MetadataRequest].extend([unknown, ErrorCode.LEADER_NOT_AVAILABLE])
        Admin(client).create_topic("new", 3)
        self.assertEqual(self.fake.slept, [0.1, 0.2])
        self.assertEqual(client.partitions("new"), [0, 1, 2])
        self.assertEqual(len(self.fake.sent(CreateTopicsRequest)), 1)

    def test_create_twice(self) -> None:
        """A topic that is there already is an error with its code, and not retried."""
        error = self.assertRaises(RequestError, self.admin.create_topic, "t")
        self.assertEqual(error.code, ErrorCode.TOPIC_ALREADY_EXISTS)
        self.assertEqual(len(self.fake.sent(CreateTopicsRequest)), 1)

    def test_retried(self) -> None:
        """NOT_CONTROLLER and errors like it are tried again."""
        self.fake.faults[DeleteTopicsRequest].append(ErrorCode.NOT_CONTROLLER)
        self.admin.delete_topic("t")
        self.assertNotIn("t", self.fake.topics)
        self.assertEqual(self.fake.slept, [0.1])

    def test_delete_unknown(self) -> None:
        """Deleting what is not there is an error at once."""
        self.assertRaises(UnknownTopic, self.admin.delete_topic, "nope")
        self.assertEqual(self.fake.slept, [])

    def test_create_partitions(self) -> None:
        """The count is that of all partitions, and the new ones are known at once."""
        fake = FakeSettings({"t": [Log()]})
        cluster = fake.client()
        self.assertEqual(cluster.partitions("t"), [0])
        Admin(cluster).create_partitions("t", 3)
        self.assertEqual(cluster.partitions("t"), [0, 1, 2])
        self.assertIsNone(fake.sent(CreatePartitionsRequest)[0].topics[0].assignments)

    def test_create_partitions_refused(self) -> None:
        """No more than there are is the broker's error; a topic that is not there is not waited for."""
        fake = FakeSettings({"t": [Log()]})
        admin = Admin(fake.client())
        error = self.assertRaises(RequestError, admin.create_partitions, "t", 1)
        self.assertEqual((error.code, str(error)), (ErrorCode.INVALID_PARTITIONS, "topic 't': t has 1"))
        self.assertRaises(UnknownTopic, admin.create_partitions, "nope", 3)
        self.assertEqual(fake.slept, [])

    def test_list(self) -> None:
        """Internal topics are listed only if asked for, and names are in order."""
        self.fake.topics["a"] = [Log()]
        self.assertEqual([topic.name for topic in self.admin.list_topics()], ["a", "t"])
        self.assertEqual([topic.name for topic in self.admin.list_topics(True)], ["__hidden", "a", "t"])

    def test_describe(self) -> None:
        """Offsets, leaders, and which settings are the topic's own."""
        topic = self.admin.describe_topic("t")
        self.assertEqual([(p.metadata.leader, p.earliest, p.latest) for p in topic.partitions], [(1, 0, 5)])
        self.assertEqual([c.name for c in topic.configs.values() if c.overridden], ["retention.ms"])

    def test_describe_leaderless(self) -> None:
        """A partition without a leader is shown, without offsets."""
        self.fake.topics["t"].append(Log(leader=-1))
        topic = self.admin.describe_topic("t")
        self.assertEqual([(p.metadata.leader, p.latest) for p in topic.partitions], [(1, 5), (-1, -1)])

    def test_describe_without_configs(self) -> None:
        """A broker that cannot tell settings is no reason to show nothing."""
        self.fake.faults[DescribeConfigsRequest].append(ErrorCode.UNSUPPORTED_VERSION)
        self.assertEqual(self.admin.describe_topic("t").configs, {})
