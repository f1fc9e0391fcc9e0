"""Mirrors of topics of Apache Kafka, batch by batch: ``kafkatx mirror verify`` finds no difference.

The brokers are fetched where they are not there yet, as for ``make clients``. The source has compressed
batches, transactions of which every other one is aborted, leader epochs of several lives of its broker, and
deleted records.
"""

from __future__ import annotations

from uuid import UUID

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from tests.clients.brokers import ApacheBroker
from tests.clients.toolchains import prepare
from tests.integration.clients import DEADLINE_S
from tests.integration.test_mirrored_batches import TOPIC, compare, end_of, inside, make_mirror
from tests.until import until

EACH = 200
TRANSACTIONS = 6
CODECS = ("zstd", "lz4", "snappy", "gzip", "none")


class Kafka4Tests(SynchronousTestCase):
    """Apache Kafka 4 is the source."""

    version = "4"

    def setUp(self) -> None:
        """Start the source, with a topic."""
        prepare(f"java-{self.version}")
        self.source = ApacheBroker(self.version)
        self.addCleanup(self.source.close)
        self.source.start()
        self.client = {"bootstrap.servers": self.source.bootstrap, "log_level": 0}
        self.admin = AdminClient(self.client)
        topic = NewTopic(TOPIC, 1, 1, config={"segment.bytes": "1048576"})
        self.admin.create_topics([topic])[TOPIC].result(DEADLINE_S)

    def topic_id(self) -> UUID:
        """Return the id of the topic."""
        with Cluster(self.source.bootstrap) as cluster:
            return cluster.metadata([TOPIC]).topics[TOPIC].topic_id

    def fill(self) -> None:
        """Produce batches of all codecs, and transactions."""
        for codec in CODECS:
            producer = Producer({**self.client, "compression.type": codec})
            for number in range(EACH):
                producer.produce(TOPIC, b"%s %d" % (codec.encode(), number) * 10)
            producer.flush(DEADLINE_S)
        producer = Producer({**self.client, "transactional.id": "x"})
        producer.init_transactions(DEADLINE_S)
        for number in range(TRANSACTIONS):
            producer.begin_transaction()
            for value in range(20):
                producer.produce(TOPIC, b"%d %d" % (number, value))
            producer.flush(DEADLINE_S)
            (producer.abort_transaction if number % 2 else producer.commit_transaction)(DEADLINE_S)

    def until_equal(self, bootstrap: str) -> None:
        """Wait until the mirror has all, and compare it."""
        end = end_of(self.source.bootstrap)
        until(lambda: end_of(bootstrap) == end, f"the mirror ends at {end}", DEADLINE_S)
        compare(self, bootstrap, self.source.bootstrap)

    def test_one_broker(self) -> None:
        """All batches come as they are, also after the source was killed; its log start is followed."""
        target = EmbeddedBroker()
        self.addCleanup(target.close)
        target.start()
        self.fill()
        make_mirror(target, self.source.bootstrap, self.topic_id())
        self.until_equal(target.bootstrap)
        self.source.kill()
        self.source.start()
        self.fill()
        self.until_equal(target.bootstrap)
        start = end_of(self.source.bootstrap) // 2
        deleted = self.admin.delete_records([TopicPartition(TOPIC, 0, start)])
        for result in deleted.values():
            result.result(DEADLINE_S)
        self.fill()
        self.until_equal(target.bootstrap)

        async def log_start(broker: object) -> int:
            partition = broker.topics.find(TOPIC, 0)  # type: ignore[attr-defined]
            return int(partition.log.log_start_offset)

        until(lambda: inside(target, log_start) == start, "the log start is followed", DEADLINE_S)

    def test_three_brokers(self) -> None:
        """The same with three replicas, whose leaders change while records come."""
        cluster = EmbeddedCluster(3)
        self.addCleanup(cluster.close)
        cluster.start()
        make_mirror(cluster.brokers[1], self.source.bootstrap, self.topic_id(), (1, 2, 3))
        for leader in cluster.brokers:
            self.fill()
            cluster.move_leader(TOPIC, 0, leader)
            self.source.kill()
            self.source.start()
        self.until_equal(cluster.bootstrap)
        for leader in cluster.brokers:
            cluster.move_leader(TOPIC, 0, leader)
            self.until_equal(cluster.bootstrap)


class Kafka39Tests(Kafka4Tests):
    """Apache Kafka 3.9 is the source."""

    version = "3.9"
