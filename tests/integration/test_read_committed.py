"""Consumers with isolation.level=read_committed, of several libraries, at a log with transactions.

The transactions are put into the stopped broker's log as a copy of another log gets them, in small segments.
"""

from __future__ import annotations

import os
import random
import tempfile
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.retention import KeepAll
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.records.control import build_marker
from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.contracts.log_replication import at_offset
from kafkatx.testing.contracts.partition_log import NOW_MS, batch
from kafkatx.types import Marker, TopicPartition
from tests.integration.clients import Confluent

CONFIG = LogConfig(segment_bytes=20_000)
TRANSACTIONS = 300
PRODUCERS = 5


class Filled:
    """Transactions of several producers at a time, some of which are open at the end.

    :ivar batches: as they are in the log.
    :ivar committed: the values that a reader of committed records gets.
    """

    def __init__(self, chance: random.Random) -> None:
        self.batches: list[bytes] = []
        self.end = 0
        outcomes: dict[int, list[bytes]] = {}
        found: list[tuple[int, bytes]] = []
        first_open: dict[int, int] = {}
        sequences = dict.fromkeys(range(PRODUCERS), 0)
        ended = 0
        while ended < TRANSACTIONS:
            producer_id = chance.randrange(PRODUCERS)
            if producer_id in outcomes and chance.random() < 0.4:
                committed = chance.random() < 0.5
                del first_open[producer_id]
                values = outcomes.pop(producer_id)
                if committed:
                    found += [(int(value.split(b"-")[0]), value) for value in values]
                self._add(build_marker(producer_id, 0, Marker(committed, 1), NOW_MS), 1)
                ended += 1
                continue
            count = chance.randint(1, 4)
            values = [b"%d-%d" % (self.end + n, producer_id) for n in range(count)]
            first_open.setdefault(producer_id, self.end)
            outcomes.setdefault(producer_id, []).extend(values)
            sequence = sequences[producer_id]
            sequences[producer_id] += count
            self._add(batch(values, producer=(producer_id, 0, sequence), transactional=True), count)
        stable = min(first_open.values(), default=self.end)
        self.stable = stable
        self.committed = [value for offset, value in sorted(found) if offset < stable]

    def _add(self, sent: bytes, count: int) -> None:
        self.batches.append(at_offset(sent, self.end))
        self.end += count


def fill(path: str, topic: str, batches: list[bytes]) -> None:
    """Append batches to the log of a stopped broker as a follower does."""

    class Where:
        def get(self, name: str) -> Any:
            return {"log.dirs": [path], "broker.id": 0}[name]

    clock = Clock()
    clock.advance(NOW_MS / 1000)
    store = FileLogStore(Where(), lambda name: execute, clock, lambda name: KeepAll())
    done(store.open(lambda name: CONFIG))
    log = store.logs[TopicPartition(topic, 0)]
    for data in batches:
        log.append_as_follower(data, 0)
        log.write()
    assert len(log.segments) > 3
    done(store.close())


def done(deferred: Deferred[Any]) -> None:
    """Raise the failure of a Deferred that has fired."""
    failures: list[Failure] = []
    deferred.addErrback(failures.append)
    assert deferred.called
    for failure in failures:
        failure.raiseException()


def by_librdkafka(bootstrap: str, topic: str, isolation: str) -> list[bytes]:
    """Read a partition to its end by confluent-kafka, in small fetches."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer
    from confluent_kafka import TopicPartition as Assigned

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "fetch.message.max.bytes": 3000,
            "check.crcs": True,
            "log_level": 0,
        }
    )
    consumer.assign([Assigned(topic, 0, OFFSET_BEGINNING)])
    found = []
    while True:
        message = consumer.poll(10)
        assert message is not None
        if message.error():
            break
        found.append(message.value())
    consumer.close()
    return found


def by_kafka_python(bootstrap: str, topic: str, isolation: str) -> list[bytes]:
    """Read a partition to its end by kafka-python, in small fetches."""
    from kafka import KafkaConsumer
    from kafka import TopicPartition as Assigned

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=3000,
    )
    at = Assigned(topic, 0)
    consumer.assign([at])
    end = consumer.end_offsets([at])[at]
    found: list[bytes] = []
    while consumer.position(at) < end:
        for records in consumer.poll(timeout_ms=1000).values():
            found += [record.value for record in records]
    consumer.close()
    return found


def by_kafkatx(bootstrap: str, topic: str, isolation: str) -> list[bytes]:
    """Read a partition to its end by our own client."""
    from kafkatx.client.threads import Consumer

    at = TopicPartition(topic, 0)
    settings = {
        "bootstrap.servers": bootstrap,
        "isolation.level": isolation,
        "auto.offset.reset": "earliest",
        "max.partition.fetch.bytes": 3000,
    }
    found: list[bytes] = []
    with Consumer(settings) as consumer:
        consumer.assign([at])
        end = consumer.end_offsets(at)[at]
        while consumer.position(at) < end:
            for records in consumer.getmany(timeout_ms=1000).values():
                found += [record.value for record in records if isinstance(record.value, bytes)]
    return found


class ReadCommittedTests(SynchronousTestCase):
    """One broker with a log full of transactions, of which some are open."""

    def setUp(self) -> None:
        """Make the topic, stop the broker, fill the log, start again."""
        directory = tempfile.TemporaryDirectory(prefix="kafkatx-")
        self.addCleanup(directory.cleanup)
        self.broker = EmbeddedBroker(data_dir=directory.name, run_in="process").start()
        self.addCleanup(self.broker.stop)
        Confluent(self.broker.bootstrap).create("t", 1)
        self.broker.stop()
        self.filled = Filled(random.Random(5))
        self.assertLess(self.filled.stable, self.filled.end)
        fill(directory.name, "t", self.filled.batches)
        names = os.listdir(os.path.join(directory.name, "t-0"))
        self.assertGreater(len([name for name in names if name.endswith(".txnindex")]), 2)
        self.broker.start()

    def test_consumers(self) -> None:
        """Each gets the committed records below the first open transaction, and all with read_uncommitted."""
        for read in (by_librdkafka, by_kafka_python, by_kafkatx):
            found = read(self.broker.bootstrap, "t", "read_committed")
            self.assertEqual(found, self.filled.committed, read.__name__)
            uncommitted = read(self.broker.bootstrap, "t", "read_uncommitted")
            self.assertEqual(len(uncommitted), self.filled.end - TRANSACTIONS)
