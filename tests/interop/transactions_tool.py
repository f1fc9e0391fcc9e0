"""``kafka-transactions.sh`` of Apache Kafka 4, unchanged, with a broker that has a hanging transaction."""

from __future__ import annotations

import subprocess

from confluent_kafka import Consumer, Producer, TopicPartition
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.transactional import TV1_PRODUCE, batch
from tests.clients.toolchains import BUILT, java, prepare
from tests.integration.raw import RawClient

TOOL = "org.apache.kafka.tools.TransactionsCommand"
JARS = f"{BUILT}/java-4"
TIMEOUT_S = 120
LONG_S = 30.0
HANGING = (424_242, 3)
"""The producer id and epoch of the hanging transaction."""
SETTINGS = {
    "num.partitions": "2",
    "transaction.partition.verification.enable": "false",  # else no transaction could hang
}


class TransactionsToolTests(SynchronousTestCase):
    """The topic ``t`` has a committed transaction, an open and a hanging one."""

    def setUp(self) -> None:
        """Make them."""
        prepare("java-4")
        self.broker = EmbeddedBroker(SETTINGS).start()
        self.addCleanup(self.broker.stop)
        done, self.open = self.producer("billing-1"), self.producer("billing-2")
        done.commit_transaction(LONG_S)
        partition = PartitionProduceData(1, batch([b"hangs"], HANGING))
        request = ProduceRequest("lost", -1, 1000, [TopicProduceData("t", [partition])])
        with RawClient(self.broker.bootstrap) as client:
            told = client.ask(0, TV1_PRODUCE, request)
        self.assertEqual(told.responses[0].partition_responses[0].error_code, 0)

    def producer(self, name: str) -> Producer:
        """Return a producer of librdkafka with an open transaction in partition 0."""
        settings = {"transaction.timeout.ms": 600_000, "log_level": 0}
        producer = Producer(
            {"bootstrap.servers": self.broker.bootstrap, "transactional.id": name, **settings}
        )
        producer.init_transactions(LONG_S)
        producer.begin_transaction()
        producer.produce("t", name, partition=0)
        producer.flush(LONG_S)
        return producer

    def tool(self, *arguments: str) -> list[list[str]]:
        """Run the tool; return the fields of the lines that it prints after the header.

        :raises AssertionError: it failed.
        """
        command = java(JARS, TOOL, "--bootstrap-server", self.broker.bootstrap, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise AssertionError(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
        return [line.split() for line in done.stdout.splitlines()[1:]]

    def producers(self, partition: int) -> dict[str, list[str]]:
        """Return what ``describe-producers`` shows, by producer id."""
        rows = self.tool("describe-producers", "--topic", "t", "--partition", str(partition))
        return {row[0]: row for row in rows}

    def test_list_and_describe(self) -> None:
        """All ids are listed, or those that match; a description has the partitions of the transaction."""
        states = {row[0]: row[3] for row in self.tool("list")}
        self.assertEqual(states, {"billing-1": "CompleteCommit", "billing-2": "Ongoing"})
        (row,) = self.tool("list", "--transactional-id-pattern", "b.*-[2-9]")
        self.assertEqual(row[0], "billing-2")
        self.assertEqual(self.tool("list", "--transactional-id-pattern", "billing"), [])
        self.assertEqual(self.tool("list", "--duration-filter", "3600000"), [])
        (row,) = self.tool("describe", "--transactional-id", "billing-2")
        self.assertEqual(row[1], "billing-2")
        self.assertEqual(row[4], "Ongoing")
        self.assertEqual(row[-1], "t-0")

    def test_abort(self) -> None:
        """Only the hanging transaction is found; after its abort readers of committed records go on."""
        before = self.producers(1)[str(HANGING[0])]
        self.assertEqual((before[1], before[-1]), (str(HANGING[1]), "0"))
        self.assertEqual({row[-1] for row in self.producers(0).values()}, {"None", "1"})
        find = ("find-hanging", "--topic", "t", "--max-transaction-timeout", "0")
        (row,) = self.tool(*find)
        self.assertEqual(row[:4], ["t", "1", *map(str, HANGING)])
        self.tool("abort", "--topic", "t", "--partition", "1", "--start-offset", "0")
        self.assertEqual(self.tool(*find), [])
        self.assertEqual(self.producers(1)[str(HANGING[0])][-1], "None")
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "readers"})
        self.addCleanup(consumer.close)
        stable = consumer.get_watermark_offsets(TopicPartition("t", 1), LONG_S)
        self.assertEqual(stable, (0, 2))

    def test_terminate(self) -> None:
        """A transaction that is terminated by its id is aborted, and its producer fenced."""
        self.tool("forceTerminateTransaction", "--transactionalId", "billing-2")
        self.assertNotEqual({row[0]: row[3] for row in self.tool("list")}["billing-2"], "Ongoing")
        with Cluster(self.broker.bootstrap) as cluster:
            self.assertEqual(cluster.offsets("t", {0: -1})[0][0], 4)  # both records, both markers
