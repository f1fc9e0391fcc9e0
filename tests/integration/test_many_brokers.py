"""A cluster of three brokers in processes: clients through any of them, and kills under load."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from functools import lru_cache
from typing import Any, ClassVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.records.builder import build_values
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.wire.messages import (
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    incremental_alter_configs,
    init_producer_id,
    produce,
)
from tests.integration.brokers_load import BrokersLoad
from tests.integration.clients import CLIENTS, messages, new_topic
from tests.integration.history import unread
from tests.integration.raw import RawClient
from tests.integration.zookeeper import shared_server
from tests.until import until

BROKERS, PARTITIONS = 3, 6
WAIT_S = 60.0


def kafkatx(broker: EmbeddedBroker, *arguments: str) -> str:
    """Run a command that asks one broker; return what it prints."""
    command = [sys.executable, "-m", "kafkatx", "-b", broker.bootstrap, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=WAIT_S).stdout


def metadata_of(bootstrap: str, *topics: str) -> ClusterMetadata:
    """Return what a broker knows of topics."""
    with Cluster(bootstrap) as cluster:
        return cluster.metadata(topics)


@lru_cache(maxsize=1)
def shared_cluster() -> EmbeddedCluster:
    """Return the cluster, started by the first who asks and stopped when the tests end."""
    cluster = EmbeddedCluster(BROKERS, run_in="process")
    cluster.start()
    atexit.register(cluster.close)
    return cluster


class ClientTests(SynchronousTestCase):
    """Clients that know one broker, another one each time, use all of them."""

    def setUp(self) -> None:
        """Start the cluster."""
        self.cluster = shared_cluster()

    def test_spread(self) -> None:
        """A topic's partitions are on all brokers, each broker says so, and there is one controller."""
        topic = self.cluster.topic("spread", partitions=PARTITIONS)
        seen = [metadata_of(broker.bootstrap, topic) for broker in self.cluster.brokers.values()]
        leaders = [partition.leader for partition in seen[0].topics[topic].partitions.values()]
        self.assertEqual(sorted(leaders), [1, 1, 2, 2, 3, 3])
        for one in seen:
            self.assertEqual(one.topics, seen[0].topics)
            self.assertEqual(one.brokers, seen[0].brokers)
            self.assertEqual(one.controller_id, seen[0].controller_id)
        self.assertIn(seen[0].controller_id, self.cluster.brokers)

    def test_libraries(self) -> None:
        """Each client library creates a topic, produces and reads, each by another broker."""
        pairs = messages(1000)
        for (name, make), broker in zip(CLIENTS.items(), self.cluster.brokers.values(), strict=False):
            client, topic = make(broker.bootstrap), new_topic()
            client.create(topic, PARTITIONS)
            client.produce(topic, "none", pairs)
            self.assertEqual(client.read(topic, len(pairs)), pairs, name)

    def test_kafka_python_group(self) -> None:
        """Records with keys come back from all partitions, by a group of kafka-python."""
        from kafka import KafkaConsumer, KafkaProducer

        topic = self.cluster.topic("keys", partitions=PARTITIONS)
        producer = KafkaProducer(bootstrap_servers=self.cluster.brokers[2].bootstrap)
        for number in range(300):
            producer.send(topic, b"%d" % number, b"k%d" % number)
        producer.flush(WAIT_S)
        producer.close()
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=self.cluster.brokers[3].bootstrap,
            group_id=f"g-{topic}",
            auto_offset_reset="earliest",
            consumer_timeout_ms=20_000,
        )
        found = {}
        for record in consumer:
            found[record.value] = record.partition
            if len(found) == 300:
                break
        consumer.commit()
        consumer.close()
        self.assertEqual({int(value) for value in found}, set(range(300)))
        self.assertEqual(set(found.values()), set(range(PARTITIONS)))

    def test_our_group(self) -> None:
        """Our own consumers share the partitions, and their group's offsets are read through any broker."""
        from kafkatx.client.threads import Consumer, Producer

        topic = self.cluster.topic("ours", partitions=PARTITIONS)
        with Producer(bootstrap_servers=self.cluster.brokers[1].bootstrap) as producer:
            for number in range(120):
                producer.send(topic, b"%d" % number, key=b"k%d" % number)
            producer.flush()
        group = f"ours-{uuid.uuid4().hex[:8]}"
        found: set[int] = set()
        with Consumer(
            bootstrap_servers=self.cluster.brokers[2].bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
        ) as consumer:
            consumer.subscribe([topic])
            for record in consumer:
                found.add(int(record.value or b"-1"))
                if len(found) == 120:
                    break
            consumer.commit()
        for broker in self.cluster.brokers.values():
            printed = kafkatx(broker, "groups", "describe", group, "--json")
            self.assertIn(topic, printed)
        self.assertIn(group, kafkatx(self.cluster.brokers[3], "groups", "list"))

    def test_admin_at_each_broker(self) -> None:
        """Each broker, controller or not, creates, grows, changes and deletes a topic that all see."""
        for broker_id, broker in self.cluster.brokers.items():
            with RawClient(broker.bootstrap) as client:
                name = f"admin-{broker_id}"
                asked: Any = create_topics.CreateTopicsRequest([create_topics.CreatableTopic(name, 3, 1)])
                (made,) = client.ask(19, 5, asked).topics
                self.assertEqual((made.error_code, made.error_message), (0, None))
                grown = create_partitions.CreatePartitionsTopic(name, 5, None)
                asked = create_partitions.CreatePartitionsRequest([grown], 10_000)
                self.assertEqual(client.ask(37, 1, asked).results[0].error_code, 0)
                config = incremental_alter_configs.AlterableConfig("retention.ms", 0, "77777")
                resource = incremental_alter_configs.AlterConfigsResource(2, name, [config])
                asked = incremental_alter_configs.IncrementalAlterConfigsRequest([resource])
                self.assertEqual(client.ask(44, 0, asked).responses[0].error_code, 0)
            for other in self.cluster.brokers.values():
                self.check_seen(other.bootstrap, name)
            with RawClient(broker.bootstrap) as client:
                asked = delete_topics.DeleteTopicsRequest([], [name], 10_000)
                self.assertEqual(client.ask(20, 1, asked).responses[0].error_code, 0)
            for other in self.cluster.brokers.values():
                until(lambda at=other, of=name: _is_gone(at.bootstrap, of), f"{name} is deleted")  # type: ignore[misc]

    def check_seen(self, bootstrap: str, name: str) -> None:
        """Wait until a broker shows a topic's five partitions and its config."""

        def seen() -> bool:
            topic = metadata_of(bootstrap, name).topics[name]
            return len(topic.partitions) == 5 and all(p.leader > 0 for p in topic.partitions.values())

        until(seen, f"{bootstrap} knows all of {name}")

        def configured() -> bool:
            resource = describe_configs.DescribeConfigsResource(2, name, ["retention.ms"])
            with RawClient(bootstrap) as client:
                (found,) = client.ask(32, 1, describe_configs.DescribeConfigsRequest([resource])).results
            return [entry.value for entry in found.configs] == ["77777"]

        until(configured, f"{bootstrap} knows the config of {name}")

    def test_producer_ids(self) -> None:
        """No two brokers give the same producer id."""
        given = []
        for broker in self.cluster.brokers.values():
            with RawClient(broker.bootstrap) as client:
                for _ in range(3):
                    made = client.ask(22, 1, init_producer_id.InitProducerIdRequest(None, 0))
                    given.append(made.producer_id)
        self.assertEqual(len(set(given)), 9)

    def test_status(self) -> None:
        """`kafkatx cluster status` shows three live brokers, through each of them."""
        for broker in self.cluster.brokers.values():
            found = json.loads(kafkatx(broker, "cluster", "status", "--json"))
            self.assertEqual([one["state"] for one in found["brokers"]], ["live"] * 3)
            self.assertEqual(found["partitions"]["offline"], 0)

    def test_describe_cluster(self) -> None:
        """DescribeCluster names the same controller at each broker."""
        controllers = set()
        for broker in self.cluster.brokers.values():
            with RawClient(broker.bootstrap) as client:
                found = client.ask(60, 0, describe_cluster.DescribeClusterRequest())
            self.assertEqual(len(found.brokers), BROKERS)
            controllers.add(found.controller_id)
        self.assertEqual(len(controllers), 1)


def _is_gone(bootstrap: str, topic: str) -> bool:
    return not metadata_of(bootstrap, topic).topics[topic].usable


class KillTests(SynchronousTestCase):
    """Brokers are killed and started again while records are produced and consumed."""

    kills: ClassVar[int] = 3

    def make_cluster(self) -> EmbeddedCluster:
        """Return a cluster that is closed when the test ends."""
        cluster = EmbeddedCluster(BROKERS, {"offsets.topic.num.partitions": 6}, run_in="process")
        self.addCleanup(cluster.close)
        return cluster.start()

    def test_kills(self) -> None:
        """Acknowledged records are there once; partitions come back; those of other brokers never notice."""
        cluster = self.make_cluster()
        topic = cluster.topic("load", partitions=PARTITIONS)
        steady = cluster.topic("steady", partitions=PARTITIONS)
        load = BrokersLoad(cluster.bootstrap, topic, PARTITIONS)
        load.start()
        try:
            for number in range(self.kills):
                self.kill_one(cluster, 1 + number % BROKERS, topic, steady, load)
            load.stop_sending()
            load.wait_for_reads(load.sent)
        finally:
            load.stop()
        history = load.history(cluster)
        self.assertEqual(history.faults(), [])
        self.assertEqual(list(unread(history)), [])
        self.assertGreater(len(history.sends), 100)

    def test_freeze(self) -> None:
        """A broker that is stopped for longer than its session loses its partitions, and gets them again."""
        cluster = self.make_cluster()
        topic = cluster.topic("load", partitions=PARTITIONS)
        load = BrokersLoad(cluster.bootstrap, topic, PARTITIONS)
        load.start()
        try:
            until(lambda: len(load.acknowledged) == PARTITIONS, "every partition has acknowledged something")
            pid = cluster.brokers[2].pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            try:
                asked = cluster.brokers[1].bootstrap
                until(lambda: _leaders(asked, topic, 2) == [-1, -1], "the frozen broker leads nothing")
            finally:
                os.kill(pid, signal.SIGCONT)
            until(lambda: _leaders(asked, topic, 2) == [2, 2], "it leads them again")
            load.stop_sending()
            load.wait_for_reads(load.sent)
        finally:
            load.stop()
        history = load.history(cluster)
        self.assertEqual(history.faults(), [])
        self.assertEqual(list(unread(history)), [])

    def kill_one(
        self, cluster: EmbeddedCluster, broker_id: int, topic: str, steady: str, load: BrokersLoad
    ) -> None:
        """Kill a broker, check the others, start it again, and wait until its partitions serve."""
        until(lambda: len(load.acknowledged) == PARTITIONS, "every partition has acknowledged something")
        before = metadata_of(cluster.bootstrap, topic, steady)
        other = next(broker for one, broker in cluster.brokers.items() if one != broker_id)
        cluster.brokers[broker_id].kill()
        self.check_others(before, broker_id, steady)
        until(lambda: _leaders(other.bootstrap, topic, broker_id) == [-1, -1], "it leads nothing")
        self.check_others(before, broker_id, steady)
        cluster.start_broker(broker_id)
        mine = [n for n, p in before.topics[topic].partitions.items() if p.leader == broker_id]
        until(lambda: _leaders(other.bootstrap, topic, broker_id) == [broker_id] * 2, "it leads them again")
        restarted_s = time.monotonic()
        until(
            lambda: all(load.acknowledged[number] > restarted_s for number in mine),
            "its partitions acknowledge records",
        )

    def check_others(self, known: ClusterMetadata, broker_id: int, topic: str) -> None:
        """Produce to the partitions of the other brokers, without a retry."""
        for number, partition in known.topics[topic].partitions.items():
            if partition.leader == broker_id:
                continue
            node = known.brokers[partition.leader]
            data = produce.PartitionProduceData(number, build_values([b"x"], 1_700_000_000_000))
            request = produce.ProduceRequest(None, -1, 5000, [produce.TopicProduceData(topic, [data])])
            with RawClient(f"{node.host}:{node.port}") as client:
                (done,) = client.ask(0, 8, request).responses
            self.assertEqual(done.partition_responses[0].error_code, 0)


def _leaders(bootstrap: str, topic: str, replica: int) -> list[int]:
    """Return the leaders of the partitions of which a broker has the replica."""
    partitions = metadata_of(bootstrap, topic).topics[topic].partitions.values()
    return [partition.leader for partition in partitions if replica in partition.replicas]


class ZooKeeperKillTests(KillTests):
    """The same over ZooKeeper, under a path of its own."""

    kills = 2

    def make_cluster(self) -> EmbeddedCluster:
        """Return a cluster that is closed when the test ends."""
        connect = f"127.0.0.1:{shared_server().port}/{uuid.uuid4().hex}"
        settings = {"offsets.topic.num.partitions": 6, "zookeeper.session.timeout.ms": 4000}
        cluster = EmbeddedCluster(BROKERS, settings, run_in="process", zookeeper=connect)
        self.addCleanup(cluster.close)
        return cluster.start()
