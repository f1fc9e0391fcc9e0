"""The Twisted consumer reads from Apache Kafka: transactions, topic ids, groups.

The brokers are fetched where they are not there yet, as for ``make clients``.
"""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.types import TopicPartition
from tests.clients.brokers import ApacheBroker
from tests.clients.toolchains import prepare
from tests.integration.clients import DEADLINE_S

reactor: Any = installed_reactor
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TRANSACTIONS, EACH = 6, 50


class Apache39Tests(TestCase):
    """Apache Kafka 3.9."""

    timeout = 180
    version = "3.9"

    def setUp(self) -> None:
        """A broker of Apache Kafka."""
        prepare(f"java-{self.version}")
        self.broker = ApacheBroker(self.version)
        self.addCleanup(self.broker.close)

    def produce(self) -> None:
        """Records of transactions, every other one aborted."""
        from confluent_kafka import Producer
        from confluent_kafka.admin import AdminClient, NewTopic

        where = {"bootstrap.servers": self.broker.bootstrap}
        admin = AdminClient(where)
        for made in admin.create_topics([NewTopic("t", 2, 1)]).values():
            made.result(DEADLINE_S)
        producer = Producer({**where, "transactional.id": "x"})
        producer.init_transactions(DEADLINE_S)
        self.committed: list[int] = []
        for number in range(TRANSACTIONS):
            producer.begin_transaction()
            numbers = range(number * EACH, (number + 1) * EACH)
            for value in numbers:
                producer.produce("t", b"%d" % value, partition=value % 2, headers=[("h", b"%d" % value)])
            producer.flush(DEADLINE_S)
            if number % 2:
                producer.abort_transaction(DEADLINE_S)
            else:
                producer.commit_transaction(DEADLINE_S)
                self.committed += numbers

    async def read(self, **settings: Any) -> tuple[list[int], list[int]]:
        """All values, and the positions behind them; of a group what is committed for it then."""
        consumer = Consumer(
            bootstrap_servers=self.broker.bootstrap,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            reactor=reactor,
            **settings,
        )
        if "group_id" in settings:
            consumer.subscribe(["t"])
        else:
            consumer.assign([T0, T1])
        await consumer.start()
        ends = await consumer.end_offsets(T0, T1)
        values: list[int] = []
        while not consumer.assignment() or [await consumer.position(p) for p in (T0, T1)] != [*ends.values()]:
            for records in (await consumer.getmany(timeout_ms=100)).values():
                for record in records:
                    self.assertEqual(record.headers, [("h", record.value)])
                    values.append(int(record.value))
        positions = [await consumer.position(place) for place in (T0, T1)]
        if "group_id" in settings:
            await consumer.commit()
            committed = await consumer.committed(T0, T1)
            self.assertEqual([at.offset for at in committed.values() if at], positions)
        await consumer.close()
        return sorted(values), positions

    def test_reads(self) -> Deferred[None]:
        """With read_committed what was aborted is left out, and a group goes on behind the last marker."""

        async def reads() -> None:
            await deferToThread(self.broker.start)
            await deferToThread(self.produce)
            end = TRANSACTIONS * (EACH // 2 + 1)  # one marker for each transaction and partition
            committed: Any = {"isolation_level": "read_committed"}
            self.assertEqual(await self.read(**committed), (self.committed, [end, end]))
            everything = list(range(TRANSACTIONS * EACH))
            self.assertEqual(await self.read(), (everything, [end, end]))
            self.assertEqual(await self.read(group_id="g", **committed), (self.committed, [end, end]))
            self.assertEqual(await self.read(group_id="g", **committed), ([], [end, end]))

        return Deferred.fromCoroutine(reads())


class Apache4Tests(Apache39Tests):
    """Apache Kafka 4."""

    version = "4"
