"""kafkatx takes over a stopped ZooKeeper cluster of Apache Kafka 3.9, and Apache Kafka takes it back.

Both use the same server.properties, log.dirs and ZooKeeper. ``make takeover`` runs it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout import controller, paths
from tests.integration.zookeeper import ZooKeeperServer
from tests.interop.apache import TIMEOUT_S
from tests.interop.nodes import check_nodes, read_all
from tests.interop.zookeeper_mode import (
    COUNT,
    ApacheCluster,
    ApacheNode,
    consume,
    fill,
    produce,
    zookeeper_shell,
)

READY_S = 60.0
Records = Mapping[int, Sequence[tuple[bytes, bytes]]]


class OurNode:
    """A kafkatx broker with the settings, log dirs and port of a broker of Apache Kafka."""

    def __init__(self, apache: ApacheNode) -> None:
        self.broker_id = apache.broker_id
        self._settings = apache.settings
        self._log = os.path.join(apache.folder, "kafkatx.log")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start its process."""
        command = [sys.executable, "-m", "kafkatx.cli.main", "up", "--config", self._settings]
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def wait_until_ready(self) -> None:
        """Return when it serves.

        :raises AssertionError: it does not start; the message has its log.
        """
        end_s = time.monotonic() + READY_S
        while "is ready: broker" not in self.output():
            if time.monotonic() > end_s or self._process is None or self._process.poll() is not None:
                raise AssertionError(f"broker {self.broker_id} did not start:\n{self.output()}")
            time.sleep(0.1)

    def output(self) -> str:
        """Return its log."""
        with open(self._log, errors="replace") as log:
            return log.read()

    def end(self, number: int = signal.SIGTERM) -> None:
        """Stop or kill it, and wait until it has ended."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait(TIMEOUT_S)


class TakeoverTests(SynchronousTestCase):
    """Three brokers, topics with one and with three replicas, configs, quotas, a group."""

    def setUp(self) -> None:
        """Start ZooKeeper, and fill a cluster of Apache Kafka."""
        server = ZooKeeperServer()
        self.addCleanup(server.stop)
        self.connect = f"127.0.0.1:{server.port}/kafka"
        self.apache = ApacheCluster(os.path.abspath(self.mktemp()), self.connect)
        self.addCleanup(self.apache.stop, signal.SIGKILL)
        self.bootstrap = self.apache.bootstrap
        self.apache.start()
        self.data = fill(self.apache)
        self.before = self.description()
        self.cluster_id = read_all(self.connect)[paths.CLUSTER_ID].data
        self.ours = [OurNode(node) for node in self.apache.nodes]
        self.addCleanup(self.end_ours, signal.SIGKILL)

    def start_ours(self) -> None:
        """Start kafkatx in place of Apache Kafka."""
        for node in self.ours:
            node.start()
        for node in self.ours:
            node.wait_until_ready()
        self.until(lambda: self.leaderless() == [], "all partitions have a leader")

    def end_ours(self, number: int = signal.SIGTERM) -> None:
        """Stop kafkatx."""
        for node in self.ours:
            node.end(number)

    def until(self, condition: Any, what: str) -> None:
        """Wait for a condition."""
        end_s = time.monotonic() + READY_S
        while not condition():
            if time.monotonic() > end_s:
                output = "\n".join(node.output()[-3000:] for node in self.ours)
                raise AssertionError(f"not in time: {what}\n{output}")
            time.sleep(0.2)

    def admin(self) -> Any:
        """Return a client of librdkafka."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def leaderless(self) -> list[str]:
        """Return the partitions without a leader."""
        topics = self.admin().list_topics(timeout=TIMEOUT_S).topics.values()
        return [f"{t.topic}-{p.id}" for t in topics for p in t.partitions.values() if p.leader < 0]

    def description(self) -> dict[str, Any]:
        """Return all that administrators see, but for leaders: topics, configs, quotas."""
        from confluent_kafka.admin import ConfigResource, ResourceType

        admin = self.admin()
        topics = admin.list_topics(timeout=TIMEOUT_S).topics.values()
        found: dict[str, Any] = {
            topic.topic: sorted((p.id, sorted(p.replicas)) for p in topic.partitions.values())
            for topic in topics
            if topic.topic != "__transaction_state"
        }
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in ("three", "one")]
        resources += [ConfigResource(ResourceType.BROKER, "2")]
        for resource, result in admin.describe_configs(resources).items():
            dynamic = {
                name: entry.value
                for name, entry in result.result(TIMEOUT_S).items()
                if entry.source in (1, 2, 3) and not entry.is_synonym
            }
            found[f"configs of {resource.restype} {resource.name}"] = dynamic
        command = [sys.executable, "-m", "kafkatx.cli.main", "configs", "describe", "--quotas"]
        done = subprocess.run([*command, "-b", self.bootstrap], capture_output=True, text=True, check=True)
        found["quotas"] = sorted(done.stdout.splitlines())
        return found

    def records(self, topic: str, count: int) -> Records:
        """Return the records of each partition of a topic."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        partitions = self.admin().list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: dict[int, list[tuple[bytes, bytes]]] = {}
        end_s = time.monotonic() + TIMEOUT_S
        while sum(map(len, found.values())) < count and time.monotonic() < end_s:
            for message in consumer.consume(1000, 1):
                self.assertIsNone(message.error())
                found.setdefault(message.partition(), []).append((message.key(), message.value()))
        self.assertEqual(consumer.consume(1, 1), [])
        consumer.close()
        return found

    def committed(self, group: str) -> dict[int, int]:
        """Return the committed offsets of a group in the topic ``three``."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        admin = self.admin()  # a client that is not referred to is closed
        ((_, result),) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).items()
        return {one.partition: one.offset for one in result.result(TIMEOUT_S).topic_partitions}

    def producer_id_block(self) -> int:
        """Return the first producer id that is not in use."""
        from kafkatx.metadata.layout import producer_ids

        block = producer_ids.decode(read_all(self.connect)[paths.PRODUCER_IDS].data)
        return block.ids.stop if block else 0

    def joined(self, first: Records, second: Records) -> Records:
        """Return the records of two turns."""
        return {
            number: [*first.get(number, ()), *second.get(number, ())] for number in sorted({*first, *second})
        }

    def test_there_and_back(self) -> None:
        """Everything is there under kafkatx; what clients do then is there under Apache Kafka again."""
        producer_ids = self.producer_id_block()
        self.apache.stop()
        self.start_ours()
        self.assertEqual(self.description(), self.before)
        self.assertEqual(self.records("three", COUNT), self.data.records)
        self.assertEqual(self.committed("g"), self.data.committed)

        produced = self.joined(self.data.records, produce(self.bootstrap, "three", COUNT))
        single = produce(self.bootstrap, "one", COUNT)
        self.assertGreater(self.producer_id_block(), producer_ids)
        committed = {**self.data.committed, **consume(self.bootstrap, "three", "g", COUNT)}
        self.change()
        changed = self.description()
        self.assertEqual(self.records("three", 2 * COUNT), produced)
        nodes = read_all(self.connect)
        check_nodes(self, nodes)
        self.assertEqual(nodes[paths.CLUSTER_ID].data, self.cluster_id)
        shell = zookeeper_shell(self.connect, "get /controller")
        self.assertIn(nodes[paths.CONTROLLER].data.decode(), shell)
        epoch = controller.decode_epoch(nodes[paths.CONTROLLER_EPOCH].data)
        self.end_ours()

        self.apache.start()
        self.until(lambda: self.leaderless() == [], "all partitions have a leader")
        self.assertEqual(self.description(), changed)
        self.assertEqual(self.records("three", 2 * COUNT), produced)
        self.assertEqual(self.records("one", COUNT), single)
        self.assertEqual(self.committed("g"), committed)
        self.assertGreater(
            controller.decode_epoch(read_all(self.connect)[paths.CONTROLLER_EPOCH].data), epoch
        )
        self.until(self.all_in_sync, "all replicas are in sync again")
        produce(self.bootstrap, "three", COUNT)
        self.apache.stop()
        self.start_ours()
        self.assertEqual(sum(map(len, self.records("three", 3 * COUNT).values())), 3 * COUNT)

    def test_killed(self) -> None:
        """Nothing is lost when all brokers of one side are killed at once, and the other side takes over."""
        self.apache.stop(signal.SIGKILL)
        self.until(lambda: not self.registered(), "the sessions of Apache Kafka have expired")
        self.start_ours()
        self.assertEqual(self.records("three", COUNT), self.data.records)
        self.assertEqual(self.committed("g"), self.data.committed)
        produced = self.joined(self.data.records, produce(self.bootstrap, "three", COUNT))
        committed = {**self.data.committed, **consume(self.bootstrap, "three", "g", COUNT)}
        self.end_ours(signal.SIGKILL)
        self.until(lambda: not self.registered(), "our sessions have expired")
        self.apache.start()
        self.until(lambda: self.leaderless() == [], "all partitions have a leader")
        self.assertEqual(self.records("three", 2 * COUNT), produced)
        self.assertEqual(self.committed("g"), committed)
        self.until(self.all_in_sync, "all replicas are in sync again")

    def test_still_running(self) -> None:
        """kafkatx does not start beside a broker of Apache Kafka, and changes nothing."""
        first, *others = self.apache.nodes
        first.end()
        self.until(lambda: first.broker_id not in self.registered(), "the broker has stopped")
        before = read_all(self.connect)
        self.ours[0].start()
        self.assertRaises(AssertionError, self.ours[0].wait_until_ready)
        self.assertIn("of Apache Kafka is running at 127.0.0.1:", self.ours[0].output())
        self.assertEqual(read_all(self.connect), before)
        self.assertEqual(len(others), len(self.registered()))

    def registered(self) -> list[int]:
        """Return the ids of the registered brokers."""
        return [number for path in read_all(self.connect) if (number := paths.parse_broker(path)) is not None]

    def change(self) -> None:
        """Create and delete topics, change configs."""
        from confluent_kafka.admin import NewTopic

        admin = self.admin()
        new = [NewTopic("ours", 3, 1, config={"retention.ms": "99999999"}), NewTopic("short-lived", 2, 1)]
        for made in admin.create_topics(new).values():
            made.result(TIMEOUT_S)
        for deleted in admin.delete_topics(["short-lived"]).values():
            deleted.result(TIMEOUT_S)
        self.apache.configs(
            "--alter",
            "--entity-type",
            "topics",
            "--entity-name",
            "three",
            "--add-config",
            "retention.ms=87654321",
        )
        self.apache.configs(
            "--alter",
            "--entity-type",
            "users",
            "--entity-name",
            "CN=ann, O=x",
            "--add-config",
            "producer_byte_rate=2097152",
        )

    def all_in_sync(self) -> bool:
        """Return True if all replicas of the topic ``three`` are in sync."""
        partitions = self.admin().list_topics("three", timeout=TIMEOUT_S).topics["three"].partitions
        return all(len(one.isrs) == len(one.replicas) for one in partitions.values())
