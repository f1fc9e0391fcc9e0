"""Configs, partitions and elections by real clients' admin calls; and what of it outlives kill -9."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from kafka import KafkaProducer, TopicPartition
from kafka.admin import AlterConfigOp, KafkaAdminClient
from kafka.admin import ConfigResource as Resource
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import DEADLINE_S, Confluent, new_topic
from tests.integration.shared import shared_broker

WEEK_MS = str(7 * 24 * 3_600_000)


class ConfluentTests(SynchronousTestCase):
    """confluent-kafka, that is librdkafka."""

    def setUp(self) -> None:
        """Connect, and make a topic."""
        self.bootstrap = shared_broker().bootstrap
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
        self.topic = new_topic()
        (made,) = self.admin.create_topics(
            [NewTopic(self.topic, 1, 1, config={"retention.ms": "5", "segment.bytes": "10000"})]
        ).values()
        made.result(DEADLINE_S)

    def describe(self, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
        """All configs of a resource."""
        (described,) = self.admin.describe_configs([ConfigResource(kind, name)]).values()
        configs: dict[str, ConfigEntry] = described.result(DEADLINE_S)
        return configs

    def alter(self, kind: ResourceType, name: str, *changes: tuple[str, str | None, Any]) -> None:
        """Change single configs."""
        entries = [ConfigEntry(key, value, incremental_operation=op) for key, value, op in changes]
        resource = ConfigResource(kind, name, incremental_configs=entries)
        (done,) = self.admin.incremental_alter_configs([resource]).values()
        done.result(DEADLINE_S)

    def test_topic_configs(self) -> None:
        """Single configs are set, deleted and appended to; what they are then, and why, can be read."""
        self.alter(
            ResourceType.TOPIC,
            self.topic,
            ("retention.ms", "77", AlterConfigOpType.SET),
            ("segment.bytes", None, AlterConfigOpType.DELETE),
            ("cleanup.policy", "compact", AlterConfigOpType.APPEND),
        )
        configs = self.describe(ResourceType.TOPIC, self.topic)
        for name, value, source in (
            ("retention.ms", "77", ConfigSource.DYNAMIC_TOPIC_CONFIG),
            ("segment.bytes", str(1 << 30), ConfigSource.DEFAULT_CONFIG),
            ("cleanup.policy", "delete,compact", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ):
            self.assertEqual((configs[name].value, configs[name].source), (value, source.value))
        self.assertIn("log.retention.hours", configs["retention.ms"].synonyms)

    def test_refused(self) -> None:
        """A value that is not allowed is refused with words that say what is."""
        with self.assertRaises(KafkaException) as caught:
            self.alter(ResourceType.TOPIC, self.topic, ("retention.ms", "soon", AlterConfigOpType.SET))
        self.assertIn("retention.ms=soon: the value must be", str(caught.exception))
        with self.assertRaises(KafkaException) as caught:
            self.alter(ResourceType.BROKER, "0", ("log.dirs", "/x", AlterConfigOpType.SET))
        self.assertIn("Cannot update these configs dynamically: Set(log.dirs)", str(caught.exception))

    def test_alter_all(self) -> None:
        """The old call replaces all configs of a topic."""
        resource = ConfigResource(ResourceType.TOPIC, self.topic, set_config={"segment.ms": "99999"})
        (done,) = self.admin.alter_configs([resource]).values()
        done.result(DEADLINE_S)
        configs = self.describe(ResourceType.TOPIC, self.topic)
        self.assertEqual((configs["segment.ms"].value, configs["retention.ms"].value), ("99999", WEEK_MS))

    def test_create_partitions(self) -> None:
        """A topic that grew has the new partitions in its metadata, and they can be written to and read."""
        (done,) = self.admin.create_partitions([NewPartitions(self.topic, 3)]).values()
        done.result(DEADLINE_S)
        (described,) = self.admin.describe_topics(TopicCollection([self.topic])).values()
        self.assertEqual([p.id for p in described.result(DEADLINE_S).partitions], [0, 1, 2])
        client = Confluent(self.bootstrap)
        client.produce(self.topic, "none", [(b"k", b"v")])
        self.assertEqual(client.read(self.topic, 1), [(b"k", b"v")])
        (refused,) = self.admin.create_partitions([NewPartitions(self.topic, 2)]).values()
        error = self.assertRaises(KafkaException, refused.result, DEADLINE_S)
        self.assertIn("would not be an increase", str(error))

    def test_elect_leaders(self) -> None:
        """No election is needed."""
        from confluent_kafka import ElectionType

        done = self.admin.elect_leaders(ElectionType.PREFERRED, [ConfluentPartition(self.topic, 0)])
        ((_partition, error),) = done.result(DEADLINE_S).items()
        self.assertEqual(error.name(), "ELECTION_NOT_NEEDED")


class KafkaPythonTests(SynchronousTestCase):
    """kafka-python."""

    def setUp(self) -> None:
        """Connect, and make a topic."""
        self.bootstrap = shared_broker().bootstrap
        self.admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        self.addCleanup(self.admin.close)
        self.topic = new_topic()
        self.admin.create_topics({self.topic: {"num_partitions": 1, "replication_factor": 1}})

    def value(self, name: str) -> tuple[str, str]:
        """A config of the topic, and its source."""
        described = self.admin.describe_configs([Resource("TOPIC", self.topic)], config_filter="all")
        config = described["topic"][self.topic][name]
        return config["value"], config["config_source"]

    def test_configs(self) -> None:
        """Set, append and reset, by the incremental call and by the old one."""
        for incremental, value in ((True, "77"), (False, "78")):
            asked = [Resource("TOPIC", self.topic, {"retention.ms": value})]
            done = self.admin.alter_configs(asked, incremental=incremental)
            self.assertEqual(done, {"topic": {self.topic: "OK"}})
            self.assertEqual(self.value("retention.ms"), (value, "DYNAMIC_TOPIC_CONFIG"))
        append = {"cleanup.policy": (AlterConfigOp.APPEND, "compact")}
        self.admin.alter_configs([Resource("TOPIC", self.topic, append)])
        self.assertEqual(self.value("cleanup.policy")[0], "delete,compact")
        self.admin.reset_configs([Resource("TOPIC", self.topic, ["retention.ms"])])
        self.assertEqual(self.value("retention.ms"), (WEEK_MS, "DEFAULT_CONFIG"))

    def test_partitions(self) -> None:
        """A topic grows; its partitions stay where they are, and nothing is under way."""
        self.admin.create_partitions({self.topic: 3})
        (described,) = self.admin.describe_topics([self.topic])
        self.assertEqual(len(described["partitions"]), 3)
        last = TopicPartition(self.topic, 2)
        self.assertEqual(self.admin.alter_partition_reassignments({last: [0]}), {last: None})
        self.assertEqual(self.admin.list_partition_reassignments(), {})

    def test_producers(self) -> None:
        """An idempotent producer is known to the partition that it wrote to."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, enable_idempotence=True)
        for value in (b"a", b"b"):
            producer.send(self.topic, value).get(DEADLINE_S)
        producer.close()
        name = TopicPartition(self.topic, 0)
        (active,) = self.admin.describe_producers([name])[name].active_producers
        self.assertEqual((active.producer_epoch, active.last_sequence), (0, 1))
        self.assertEqual(active.current_transaction_start_offset, -1)


class RestartTests(SynchronousTestCase):
    """A broker of its own, which is killed."""

    def test_kill(self) -> None:
        """Answered changes survive kill -9: configs of topics and brokers, and partitions."""
        broker = EmbeddedBroker(data_dir=self.mktemp(), run_in="process")
        broker.start()
        self.addCleanup(broker.stop)
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        admin.create_topics({"t": {"num_partitions": 1, "replication_factor": 1}})
        admin.create_partitions({"t": 3})
        admin.alter_configs([Resource("TOPIC", "t", {"retention.ms": "77"})])
        admin.alter_configs([Resource("BROKER", "0", {"log.roll.ms": "88888", "max.connections": "50"})])
        admin.close()
        broker.kill()
        broker.start()
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        self.addCleanup(admin.close)
        asked = [Resource("TOPIC", "t"), Resource("BROKER", "0")]
        described = admin.describe_configs(asked, config_filter="all")
        topic, of_broker = described["topic"]["t"], described["broker"]["0"]
        self.assertEqual((topic["retention.ms"]["value"], topic["segment.ms"]["value"]), ("77", "88888"))
        self.assertEqual(
            (of_broker["max.connections"]["value"], of_broker["max.connections"]["config_source"]),
            ("50", "DYNAMIC_BROKER_CONFIG"),
        )
        (partitions,) = admin.describe_topics(["t"])
        self.assertEqual(len(partitions["partitions"]), 3)
        Confluent(broker.bootstrap).produce("t", "none", [(b"k", b"v")])

    def test_connections(self) -> None:
        """max.connections holds for who comes after it was changed, and no longer when it is deleted."""
        with EmbeddedBroker() as broker:
            admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
            self.addCleanup(admin.close)
            admin.alter_configs([Resource("BROKER", "0", {"max.connections": "0"})])
            other = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
            self.assertRaises(KafkaException, other.list_topics, timeout=1)
            admin.reset_configs([Resource("BROKER", "0", ["max.connections"])])
            other.list_topics(timeout=DEADLINE_S)
