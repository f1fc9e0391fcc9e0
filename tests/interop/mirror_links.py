"""A link to Apache Kafka, commanded by ``kafkatx mirror``: topics, configs, groups, transactions, promotion.

The broker is fetched where it is not there yet, as for ``make clients``. :mod:`.mirrored_batches` compares
batches of all kinds.
"""

from __future__ import annotations

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.brokers import ApacheBroker
from tests.clients.toolchains import prepare
from tests.integration.clients import DEADLINE_S
from tests.integration.links import LinkCase
from tests.until import until


class Kafka4LinkTests(LinkCase):
    """Apache Kafka 4 is the source."""

    version = "4"

    def start_source(self) -> None:
        """Start it, with the topic of the tests."""
        prepare(f"java-{self.version}")
        self.kafka = ApacheBroker(self.version)
        self.addCleanup(self.kafka.close)
        self.kafka.start()
        self.source_servers = self.kafka.bootstrap
        self.client = {"bootstrap.servers": self.kafka.bootstrap, "log_level": 0}
        self.admin = AdminClient(self.client)
        topic = NewTopic("orders", 2, 1, config={"retention.ms": "7200000"})
        self.admin.create_topics([topic])["orders"].result(DEADLINE_S)
        producer = Producer({**self.client, "enable.idempotence": True})
        for number in range(100):
            for partition in range(2):
                producer.produce("orders", b"%d" % number, partition=partition)
        producer.flush(DEADLINE_S)

    def setUp(self) -> None:
        """Start the target."""
        super().setUp()
        self.target = self.broker().bootstrap

    def test_whole_way(self) -> None:
        """All follows; an open transaction hinders the promotion until it has ended; groups go on."""
        consumer = Consumer({**self.client, "group.id": "g", "enable.auto.commit": False})
        consumer.commit(
            offsets=[TopicPartition("orders", 0, 60), TopicPartition("orders", 1, 60)], asynchronous=False
        )
        consumer.close()
        self.add("orders|__.*|x")
        until(self.status, "there are mirrors")
        self.caught_up(2, 100)
        self.assertEqual(self.configs("orders")["retention.ms"], "7200000")
        until(lambda: self.group("g") == ["60", "60"], "the group is copied")
        self.assertEqual({one.topic for one in self.status()}, {"orders"})

        producer = Producer({**self.client, "transactional.id": "x"})
        producer.init_transactions(DEADLINE_S)
        producer.begin_transaction()
        producer.produce("orders", b"open", partition=0)
        producer.flush(DEADLINE_S)
        self.caught_up(2, 101)
        self.kafkatx("mirror", "promote", "dc1", "--yes", "--wait", "3", exit_code=1)
        self.assertIn(
            "partition 0 has had a transaction without an end since offset 100", self.record().reason
        )
        producer.commit_transaction(DEADLINE_S)
        self.until_state("promoted")
        self.assertEqual(self.record().ends, (102, 100))
        self.kafkatx("mirror", "verify", "dc1", "--source", self.kafka.bootstrap)
        self.write(0, b"own")
        rest = self.read("--group", "g", "orders", "--exit")
        self.assertEqual(len(rest), 40 + 40 + 2)
        self.assertEqual(max(line for line in rest if line.startswith("0:1")), "0:102:own")

    def test_source_gone(self) -> None:
        """Mirrors of a source that is gone for ever are promoted, with what there is."""
        self.add()
        until(self.status, "there are mirrors")
        self.caught_up(2, 100)
        self.kafka.kill()
        self.kafkatx("mirror", "promote", "dc1", "--yes", "--wait", "60")
        self.assertEqual(self.record().ends, (100, 100))
        self.write(1, b"own")
        self.assertEqual(self.read("orders", "-p", "1", "--exit")[-1], "1:100:own")


class Kafka39LinkTests(Kafka4LinkTests):
    """Apache Kafka 3.9 is the source."""

    version = "3.9"
