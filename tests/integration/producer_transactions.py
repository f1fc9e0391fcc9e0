"""Scenarios of our producer's transactions, for any broker: ours, and Apache Kafka's."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster, Reader
from kafkatx.blocking.admin.topics import Admin
from kafkatx.blocking.admin.transactions import Transactions
from kafkatx.client import aio, threads
from kafkatx.client.producer.transactions import coordinator
from kafkatx.clientcore.errors import CommitFailed
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.clientcore.producer.transactions.errors import AbortRequired, ProducerFenced, TransactionMisuse
from kafkatx.types import TopicPartition
from tests.integration.clients import new_topic

PROTOCOL = "IMPLICIT_VERSION"
LONG_S = 20.0


class ProducerTransactions(SynchronousTestCase):
    """A topic with two partitions at ``bootstrap``.

    :cvar implicit: the protocol that is expected: False: 1, True: 2.
    """

    bootstrap: str
    implicit = True

    def setUp(self) -> None:
        """Create the topic."""
        self.topic, self.group, self.name = new_topic(), new_topic(), new_topic()
        self.place = TopicPartition(self.topic, 0)
        self.settings = {"bootstrap_servers": self.bootstrap, "transactional_id": self.name}
        with Cluster(self.bootstrap) as cluster:
            Admin(cluster).create_topic(self.topic, partitions=2)

    def producer(self, **more: Any) -> threads.Producer:
        """Return a started producer, which is closed after the test."""
        made = threads.Producer({**self.settings, **more}).start()
        self.addCleanup(made.close)
        assert made.client._transactions is not None
        self.assertEqual(made.client._transactions.machine.implicit, self.implicit)
        return made

    def await_markers(self, cluster: Cluster) -> None:
        """Wait until the markers of all transactions are written: an end is answered before that."""
        end_s = time.monotonic() + LONG_S
        while time.monotonic() < end_s:
            offsets = [cluster.offsets(self.topic, {0: LATEST, 1: LATEST}, level) for level in (0, 1)]
            if offsets[0] == offsets[1]:
                return
            time.sleep(0.05)  # they are written by another process
        self.fail(f"a transaction is still open: {offsets}")

    def read(self, isolation_level: int = 1, ended: bool = True) -> list[bytes]:
        """Return the values of both partitions, sorted.

        :param ended: False: a transaction may be open.
        """
        values: list[bytes] = []
        with Cluster(self.bootstrap) as cluster:
            if ended:
                self.await_markers(cluster)
            partitions = dict.fromkeys((0, 1), EARLIEST)
            starts = cluster.offsets(self.topic, partitions)
            ends = cluster.offsets(self.topic, dict.fromkeys(partitions, LATEST), isolation_level)
            for number in partitions:
                with Reader(
                    cluster,
                    self.topic,
                    number,
                    start_offset=starts[number][0],
                    end_offset=ends[number][0],
                    isolation_level=isolation_level,
                ) as reader:
                    values += [record.value or b"" for record in reader]
        return sorted(values)

    def committed(self) -> int | None:
        """Return the group's offset of partition 0."""
        with threads.Consumer(bootstrap_servers=self.bootstrap, group_id=self.group) as consumer:
            found = consumer.committed(self.place)[self.place]
        return None if found is None else found.offset

    def test_ends(self) -> None:
        """Committed records and offsets count, aborted ones do not, whatever was before."""
        producer = self.producer()
        for number, (end, offset) in enumerate(
            ((producer.commit, 3), (producer.abort, 8), (producer.commit, 5), (producer.abort, 9))
        ):
            producer.begin()
            for partition in (0, 1):
                producer.produce(self.topic, b"%d" % number, partition=partition)
            producer.send_offsets({self.place: offset}, self.group)
            end()
        producer.begin()
        producer.commit()  # it is empty
        self.assertEqual(self.read(), [b"0", b"0", b"2", b"2"])
        self.assertEqual(self.committed(), 5)
        consumer = threads.Consumer(
            bootstrap_servers=self.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        with consumer:
            consumer.assign([self.place])
            found = [consumer.getone(), consumer.getone()]
        self.assertEqual([record and record.value for record in found], [b"0", b"2"])

    def test_abort_in_the_middle(self) -> None:
        """An abort drops what is not sent; after it the next transaction is whole."""
        producer = self.producer(linger_ms=2)
        for number in range(6):
            producer.begin()
            sent = [producer.send(self.topic, b"%d" % number, partition=0) for _ in range(200)]
            if number % 2:
                producer.abort()
                for each in sent:
                    each.exception(30)  # in the log, or not: none is left without an answer
            else:
                producer.commit()
        self.assertEqual(self.read(), sorted(b"%d" % number for number in (0, 2, 4) for _ in range(200)))

    def test_block(self) -> None:
        """A block commits; an exception aborts it and goes on; a block may end itself."""
        producer = self.producer()
        with producer.transaction():
            producer.produce(self.topic, b"kept")
        with self.assertRaises(ZeroDivisionError), producer.transaction():
            producer.produce(self.topic, b"dropped")
            raise ZeroDivisionError
        with producer.transaction():
            producer.produce(self.topic, b"dropped")
            producer.abort()
        self.assertRaises(TransactionMisuse, producer.commit)
        error = producer.send(self.topic, b"outside").exception(30)
        self.assertIsInstance(error, TransactionMisuse)
        asyncio.run(self.with_asyncio())
        self.assertEqual(self.read(), [b"asyncio", b"kept"])

    async def with_asyncio(self) -> None:
        """Commit one block, and leave one by an exception."""
        async with aio.Producer(self.settings) as producer:
            async with producer.transaction():
                await producer.send(self.topic, b"asyncio")
            with self.assertRaises(ZeroDivisionError):
                async with producer.transaction():
                    await producer.send(self.topic, b"dropped")
                    raise ZeroDivisionError

    def test_failed_record(self) -> None:
        """A record that is refused without a receipt makes the commit fail; an abort mends it."""
        producer = self.producer()
        with self.assertRaises(AbortRequired), producer.transaction():
            producer.produce(self.topic, b"dropped", partition=0)
            producer.produce(self.topic, b"dropped", partition=77)
        self.assertFalse(producer.in_transaction())
        with producer.transaction():
            producer.produce(self.topic, b"kept", partition=0)
        self.assertEqual(self.read(), [b"kept"])

    def test_member_that_is_none(self) -> None:
        """Offsets of a member that the group has not are refused, and nothing is committed."""
        producer = self.producer()
        producer.begin()
        producer.produce(self.topic, b"dropped")
        zombie = ConsumerGroupMetadata(self.group, 4, "a-former-member")
        error = self.assertRaises(AbortRequired, producer.send_offsets, {self.place: 1}, zombie)
        self.assertIsInstance(error.first, CommitFailed)
        self.assertRaises(AbortRequired, producer.commit)
        producer.abort()
        self.assertEqual(self.read(), [])
        self.assertIsNone(self.committed())

    def test_fenced(self) -> None:
        """A second producer with the name ends the first's transaction; the first is told so at each call."""
        first = self.producer()
        first.begin()
        first.send(self.topic, b"zombie").result(30)
        second = self.producer()
        self.assertRaises(ProducerFenced, first.commit)
        for call in (first.begin, first.abort, first.commit):
            self.assertRaises(ProducerFenced, call)
        with second.transaction():
            second.produce(self.topic, b"alive")
        self.assertEqual(self.read(), [b"alive"])

    def test_tools(self) -> None:
        """Coordinator and leader tell of an open transaction; the tool's marker ends it there."""
        producer = self.producer()
        producer.begin()
        producer.send(self.topic, b"dropped", partition=0).result(30)
        with Cluster(self.bootstrap) as cluster:
            found = Transactions(cluster)
            described = found.describe(self.name)
            self.assertEqual((described.state, described.partitions), ("Ongoing", (self.place,)))
            listed = {one.transactional_id: one.producer_id for one in found.listings(["Ongoing"])}
            self.assertEqual(listed[self.name], described.producer_id)
            (open_one,) = found.open([self.place])
            self.assertEqual((open_one.producer_id, open_one.start_offset), (described.producer_id, 0))
            self.assertEqual(found.hanging([self.place], 0, 1 << 60), [])
            found.abort(open_one)
            self.assertEqual(found.open([self.place]), [])
            self.await_markers(cluster)
        producer.abort()
        self.assertEqual(self.read(), [])

    def test_closed(self) -> None:
        """A producer that is closed aborts its transaction: readers need not wait for the time-out."""
        producer = self.producer()
        producer.begin()
        producer.send(self.topic, b"dropped", partition=0).result(30)
        producer.close()
        self.assertEqual(self.read(), [])


class OlderProtocol(ProducerTransactions):
    """The same, with protocol 1 against a broker that has both."""

    implicit = False

    def setUp(self) -> None:
        """Make the client take the broker for an older one."""
        super().setUp()
        self.patch(coordinator, PROTOCOL, 1 << 30)
