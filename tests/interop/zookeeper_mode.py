"""A cluster of Apache Kafka 3.9 in ZooKeeper mode, and its command-line tools."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

import attrs

from tests.interop.apache import JARS, TIMEOUT_S, java, run
from tests.ports import free_port

START_S = 180.0
COUNT = 2000
PARTITIONS = 4
CONFIGS = (
    (("--entity-type", "users", "--entity-name", "CN=ann, O=x"), "producer_byte_rate=1048576"),
    (("--entity-type", "users", "--entity-name", "CN=ann, O=x"), "SCRAM-SHA-256=[password=secret]"),
    (
        ("--entity-type", "users", "--entity-name", "bob", "--entity-type", "clients", "--entity-default"),
        "request_percentage=12.5",
    ),
    (("--entity-type", "clients", "--entity-name", "c 1"), "consumer_byte_rate=2097152"),
    (("--entity-type", "ips", "--entity-name", "10.0.0.1"), "connection_creation_rate=7"),
    (("--entity-type", "brokers", "--entity-name", "2"), "log.cleaner.threads=2"),
    (("--entity-type", "brokers", "--entity-default"), "log.retention.ms=777000"),
)
"""Entities and configs, as arguments of ``kafka-configs``."""
_SETTINGS = """\
broker.id={broker_id}
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={log_dirs}
zookeeper.connect={connect}
zookeeper.connection.timeout.ms=30000
zookeeper.session.timeout.ms=6000
num.partitions=1
default.replication.factor=1
offsets.topic.num.partitions=5
offsets.topic.replication.factor={replicas}
transaction.state.log.num.partitions=2
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.segment.bytes=200000
log.retention.check.interval.ms=300000
controlled.shutdown.retry.backoff.ms=500
num.io.threads=2
num.network.threads=2
log.cleaner.dedupe.buffer.size=4194304
"""


class ApacheNode:
    """One broker of the cluster.

    :ivar settings: path of its server.properties.
    :ivar log_dirs: its two log dirs.
    """

    def __init__(self, folder: str, broker_id: int, connect: str, replicas: int) -> None:
        self.broker_id = broker_id
        self.port = free_port()
        self.folder = os.path.join(folder, f"broker-{broker_id}")
        self.log_dirs = [os.path.join(self.folder, name) for name in ("data-a", "data-b")]
        os.makedirs(self.folder)
        self.settings = os.path.join(self.folder, "server.properties")
        with open(self.settings, "w") as file:
            file.write(
                _SETTINGS.format(
                    broker_id=broker_id,
                    port=self.port,
                    log_dirs=",".join(self.log_dirs),
                    connect=connect,
                    replicas=replicas,
                )
            )
        self._log = os.path.join(self.folder, "kafka.log")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start its process."""
        command = ["java", "-Xms64m", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command += ["-cp", os.path.join(JARS, "*"), "kafka.Kafka", self.settings]
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)

    def end(self, number: int = signal.SIGTERM) -> None:
        """Stop or kill it, and wait until it has ended."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait(TIMEOUT_S)

    def check(self) -> None:
        """Check that it is running.

        :raises AssertionError: it has ended; the message has the end of its log.
        """
        if self._process is None or self._process.poll() is not None:
            raise AssertionError(f"broker {self.broker_id} has ended:\n{self.output()}")

    def output(self) -> str:
        """Return the end of its log."""
        with open(self._log, errors="replace") as log:
            return log.read()[-4000:]


class ApacheCluster:
    """Brokers of Apache Kafka with one ZooKeeper.

    :param connect: ``zookeeper.connect``, with a chroot.
    """

    def __init__(self, folder: str, connect: str, brokers: int = 3) -> None:
        if not os.path.isdir(JARS):
            raise AssertionError(f"{JARS} is missing: make interop fetches Apache Kafka's jars")
        self.connect = connect
        self.nodes = [ApacheNode(folder, number, connect, brokers) for number in range(1, brokers + 1)]
        self.bootstrap = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> None:
        """Start all brokers, and wait until clients see each of them."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        for node in self.nodes:
            node.start()
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        end_s = time.monotonic() + START_S
        while True:
            for node in self.nodes:
                node.check()
            try:
                if len(client.list_topics(timeout=5).brokers) == len(self.nodes):
                    return
            except KafkaException:
                pass
            if time.monotonic() > end_s:
                raise AssertionError("\n".join(node.output() for node in self.nodes))
            time.sleep(0.5)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop all brokers, one after the other."""
        for node in self.nodes:
            node.end(number)

    def configs(self, *arguments: str) -> str:
        """Run Kafka's ``kafka-configs``."""
        return run("kafka.admin.ConfigCommand", "--bootstrap-server", self.bootstrap, *arguments)


@attrs.frozen
class Data:
    """The content that :func:`fill` has given to a cluster.

    :ivar records: keys and values by partition of the topic ``three``.
    :ivar committed: committed offsets of the group ``g`` by partition of that topic.
    """

    records: Mapping[int, Sequence[tuple[bytes, bytes]]]
    committed: Mapping[int, int]


def fill(cluster: ApacheCluster) -> Data:
    """Give a cluster topics, configs of every kind of entity, quotas, records, a group, producer ids."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    replicas = len(cluster.nodes)
    new = [
        NewTopic("three", PARTITIONS, replicas, config={"retention.ms": "86400000"}),
        NewTopic("one", len(cluster.nodes), 1),
        NewTopic("gone", 1, 1),
    ]
    for made in admin.create_topics(new).values():
        made.result(TIMEOUT_S)
    for deleted in admin.delete_topics(["gone"]).values():
        deleted.result(TIMEOUT_S)
    records = produce(cluster.bootstrap, "three", COUNT)
    committed = consume(cluster.bootstrap, "three", "g", COUNT // 2)
    for entity, configs in CONFIGS:
        cluster.configs("--alter", *entity, "--add-config", configs)
    return Data(records, committed)


def produce(bootstrap: str, topic: str, count: int) -> dict[int, list[tuple[bytes, bytes]]]:
    """Produce with an idempotent producer, and return the records of each partition in order."""
    from confluent_kafka import Message, Producer

    stored: dict[int, list[tuple[int, bytes, bytes]]] = {}

    def delivered(error: object, message: Message) -> None:
        if error:
            raise AssertionError(error)
        stored.setdefault(message.partition(), []).append((message.offset(), message.key(), message.value()))

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    for number in range(count):
        producer.produce(topic, b"value-%d" % number * 10, b"key-%d" % number, on_delivery=delivered)
        producer.poll(0)
    if producer.flush(TIMEOUT_S):
        raise AssertionError("not all records were delivered")
    return {number: [(key, value) for _, key, value in sorted(found)] for number, found in stored.items()}


def consume(bootstrap: str, topic: str, group: str, count: int) -> dict[int, int]:
    """Read at least *count* records in a group, commit, and return the committed offset of each partition."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([topic])
    read, end_s = 0, time.monotonic() + TIMEOUT_S
    while read < count and time.monotonic() < end_s:
        read += len(consumer.consume(min(100, count - read), 1))
    committed = consumer.commit(asynchronous=False)
    consumer.close()
    if read < count:
        raise AssertionError(f"{read} of {count} records were read")
    return {one.partition: one.offset for one in committed if one.offset >= 0}


def zookeeper_shell(connect: str, *commands: str) -> str:
    """Run commands in Apache Kafka's ``zookeeper-shell`` and return its output."""
    text = "\n".join(commands)
    done = subprocess.run(
        java("org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka", "-server", connect),
        input=text + "\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.stdout + done.stderr
