"""Transactions of real clients: committed and aborted ones, offsets, fencing, and time-outs."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as KafkaPartition
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from tests.integration.raw import RawClient, request_frame
from tests.ports import free_port
from tests.until import until

LONG_S = 20.0
SWEEP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
VALUES = [b"%d" % number for number in range(30)]


def initialized(client: RawClient, answers: list[Any]) -> bool:
    """Ask for a producer id; return True if there is one, in the last of the answers."""
    client.ask(10, 1, FindCoordinatorRequest("raw", 1))
    answers.append(client.ask(22, 1, InitProducerIdRequest("raw", 60_000)))
    return not answers[-1].error_code


class TransactionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker in a process."""
        settings = {
            "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
            "num.partitions": "2",
            "group.initial.rebalance.delay.ms": "0",
            SWEEP: "300",
        }
        self.broker = EmbeddedBroker(settings, run_in="process").start()
        self.addCleanup(self.broker.stop)
        self.quiet = logging.getLogger("tests.transactions")
        self.quiet.disabled = True

    def producer(self, name: str, **config: Any) -> Producer:
        """Return an initialized producer of librdkafka."""
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "transactional.id": name,
                "logger": self.quiet,
                **config,
            }
        )
        producer.init_transactions(LONG_S)
        return producer

    def consumer(self, group: str, level: str = "read_committed") -> Consumer:
        """Return a consumer of librdkafka."""
        return Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "group.id": group,
                "isolation.level": level,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "logger": self.quiet,
            }
        )

    def read(self, topic: str, level: str = "read_committed") -> list[bytes]:
        """Return all values of a topic, in order."""
        consumer, values = self.consumer("readers", level), list[bytes]()
        ended: set[int] = set()
        consumer.assign([TopicPartition(topic, number, 0) for number in (0, 1)])
        while len(ended) < 2:
            message = consumer.poll(LONG_S)
            self.assertIsNotNone(message)
            if message.error():
                ended.add(message.partition())
            else:
                values.append(message.value())
        consumer.close()
        return sorted(values)

    def test_committed_and_aborted(self) -> None:
        """Readers of committed records get the committed ones, others all, of three clients."""
        producer = self.producer("librdkafka")
        for value, end in (
            (b"c1", producer.commit_transaction),
            (b"a1", producer.abort_transaction),
            (b"c2", producer.commit_transaction),
        ):
            producer.begin_transaction()
            for number in (0, 1):
                producer.produce("t", value, partition=number)
            producer.flush()
            end(LONG_S)
        python = KafkaProducer(bootstrap_servers=self.broker.bootstrap, transactional_id="python")
        python.init_transactions()
        for value, end in ((b"c3", python.commit_transaction), (b"a2", python.abort_transaction)):
            python.begin_transaction()
            python.send("t", value)
            python.flush()
            end()
        python.close()
        asyncio.run(self.write_aio())
        committed = [b"c1", b"c1", b"c2", b"c2", b"c3", b"c4"]
        self.assertEqual(self.read("t"), committed)
        uncommitted = self.read("t", "read_uncommitted")
        self.assertEqual(uncommitted, sorted([*committed, b"a1", b"a1", b"a2", b"a3"]))
        reader = KafkaConsumer(
            "t",
            bootstrap_servers=self.broker.bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            consumer_timeout_ms=1000,
        )
        self.assertEqual(sorted(record.value for record in reader), committed)
        reader.close()

    async def write_aio(self) -> None:
        """Commit and abort with aiokafka, with an offset each."""
        producer = AIOKafkaProducer(bootstrap_servers=self.broker.bootstrap, transactional_id="aio")
        await producer.start()
        for value, offset, end in (
            (b"c4", 4, producer.commit_transaction),
            (b"a3", 9, producer.abort_transaction),
        ):
            await producer.begin_transaction()
            await producer.send_and_wait("t", value)
            await producer.send_offsets_to_transaction({AioPartition("t", 0): offset}, "aio-group")
            await end()
        await producer.stop()
        consumer = KafkaConsumer(bootstrap_servers=self.broker.bootstrap, group_id="aio-group")
        self.assertEqual(consumer.committed(KafkaPartition("t", 0)), 4)
        consumer.close()

    def test_copier(self) -> None:
        """A copier that is aborted and goes on leaves each record once in its output."""
        source = Producer({"bootstrap.servers": self.broker.bootstrap, "logger": self.quiet})
        for value in VALUES:
            source.produce("in", value)
        source.flush()
        for most, commit in ((10, True), (8, False), (20, True)):
            self.assertEqual(self.copy(most, commit), most)
        self.assertEqual(self.read("out"), sorted(VALUES))
        self.assertGreater(len(self.read("out", "read_uncommitted")), len(VALUES))

    def copy(self, most: int, commit: bool) -> int:
        """Copy some records in one transaction; return their number."""
        consumer, producer, count = self.consumer("copier"), self.producer("copier"), 0
        consumer.subscribe(["in"])
        producer.begin_transaction()
        end_s = time.monotonic() + LONG_S
        while count < most and time.monotonic() < end_s:
            message = consumer.poll(1)
            if message is not None and not message.error():
                producer.produce("out", message.value())
                count += 1
        producer.flush(LONG_S)  # an abort drops what was not sent yet
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), LONG_S)
        (producer.commit_transaction if commit else producer.abort_transaction)(LONG_S)
        consumer.close()
        return count

    def test_python_offsets(self) -> None:
        """kafka-python's offsets are committed with its transaction."""
        producer = KafkaProducer(bootstrap_servers=self.broker.bootstrap, transactional_id="python")
        producer.init_transactions()
        place = KafkaPartition("t", 0)
        for offset, end in ((3, producer.commit_transaction), (7, producer.abort_transaction)):
            producer.begin_transaction()
            producer.send("t", b"x", partition=0)
            producer.send_offsets_to_transaction({place: OffsetAndMetadata(offset, "", -1)}, "python-group")
            end()
        producer.close()
        consumer = KafkaConsumer(bootstrap_servers=self.broker.bootstrap, group_id="python-group")
        self.assertEqual(consumer.committed(place), 3)
        consumer.close()

    def test_fenced(self) -> None:
        """The second producer of a transactional id fences the first, whose records are not shown."""
        first = self.producer("same")
        first.begin_transaction()
        first.produce("t", b"zombie", partition=0)
        first.flush()
        second = self.producer("same")
        with self.assertRaises(KafkaException) as caught:
            first.commit_transaction(LONG_S)
        self.assertTrue(caught.exception.args[0].fatal())
        second.begin_transaction()
        second.produce("t", b"alive", partition=0)
        second.commit_transaction(LONG_S)
        self.assertEqual(self.read("t"), [b"alive"])

    def test_late(self) -> None:
        """A transaction that takes too long is aborted by the broker."""
        times = {"transaction.timeout.ms": 1000, "message.timeout.ms": 900}
        producer = self.producer("late", **times)
        producer.begin_transaction()
        producer.produce("t", b"late", partition=0)
        producer.flush()
        end_s = time.monotonic() + LONG_S
        while "took longer than" not in self.broker.output() and time.monotonic() < end_s:
            time.sleep(0.05)  # the line comes from another process
        with self.assertRaises(KafkaException):
            producer.commit_transaction(LONG_S)
        self.assertEqual(self.read("t"), [])

    def test_late_end(self) -> None:
        """An EndTxn over a connection that is older than the transaction closes it, and ends nothing."""
        with Cluster(self.broker.bootstrap) as cluster:
            Admin(cluster).create_topic("t", 1)
        topics = [AddPartitionsToTxnTopic("t", [0])]
        made: list[Any] = []
        with RawClient(self.broker.bootstrap) as first:
            until(lambda: initialized(first, made), "the coordinator serves the transactional id")
            identity = (made[-1].producer_id, made[-1].producer_epoch)
            end = EndTxnRequest("raw", *identity, True)
            with RawClient(self.broker.bootstrap) as second:
                added = AddPartitionsToTxnRequest([], "raw", *identity, topics)
                (told,) = second.ask(24, 1, added).results_by_topic_v3_and_below
                self.assertEqual(told.results_by_partition[0].partition_error_code, 0)
                first.send(request_frame(26, 1, end))
                self.assertTrue(first.closed())
                self.assertEqual(second.ask(26, 1, end).error_code, 0)
        self.assertIn("it was sent for an earlier one", self.broker.output())

    def test_restart(self) -> None:
        """A transaction that is open when the broker is killed is committed after its next start."""
        producer = self.producer("stays", **{"transaction.timeout.ms": 60_000})
        producer.begin_transaction()
        producer.produce("t", b"x", partition=0)
        producer.flush()
        self.broker.kill()
        self.broker.start()
        producer.produce("t", b"y", partition=1)
        producer.commit_transaction(LONG_S)
        self.assertEqual(self.read("t"), [b"x", b"y"])
