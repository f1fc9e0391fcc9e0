"""Tests of features of Kafka 0.7's producer: a request for each call, and lists of any topics and keys."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES
from kafkatx.clientcore.producer.values import ProducerData
from kafkatx.errors import ErrorCode
from kafkatx.partitioners import murmur2
from kafkatx.records.header import HEADER_BYTES
from tests.client.producing import ProducerTestCase


class SyncTests(ProducerTestCase):
    """producer.type=sync."""

    def test_never_merged(self) -> None:
        """Each call has its own batch, even before the topic is known and while others are in flight."""
        producer = self.producer(producer_type="sync")
        reply: Deferred[None] = Deferred()
        self.faults.append(reply)
        waiting: list[Deferred[Any]] = []
        for number in range(4):
            waiting.append(producer.send("one", b"%d" % number))
            if number == 1:
                self.network.pump()
        waiting.append(producer.send_batch("one", [b"4", b"5"]))
        waiting.append(producer.send("one", b"6"))
        producer.produce("one", b"7")
        self.network.pump()
        reply.callback(None)
        for each in waiting:
            self.result(each)
        self.result(producer.flush())
        self.assertEqual(self.sizes(), [[1], [1], [1], [1], [2], [1], [1]])
        self.assertEqual(self.log().values, [b"%d" % number for number in range(8)])


class BatchSizeTests(ProducerTestCase):
    """batch.size."""

    def test_bound(self) -> None:
        """No batch is larger than batch.size, unless one record is."""
        for size in (1, 200, 1000):
            self.log().batches.clear()
            self.logs.clear()
            producer = self.producer(batch_size=size, buffer_memory=100_000)
            self.result(producer.send("one", b"first"))
            reply: Deferred[None] = Deferred()
            self.faults.append(reply)
            waiting = []
            for number in range(200):
                waiting.append(producer.send("one", b"x" * (number % 80)))
                if number % 50 == 0:
                    self.network.pump()
            reply.callback(None)
            for each in waiting:
                self.result(each, 5)
            for batch in self.log().batches:
                alone = HEADER_BYTES + 80 + RECORD_OVERHEAD_BYTES if size < 200 else size
                self.assertLessEqual(len(batch), alone)
            self.assertEqual(len(self.log().values), 201)


class SendAllTests(ProducerTestCase):
    """send_all: 0.7's send(List<ProducerData>)."""

    def test_mixed(self) -> None:
        """Lists for several topics and keys leave together, a request for each broker, in order."""
        for kind in ("async", "sync"):
            self.logs.clear()
            producer = self.producer(producer_type=kind, linger_ms=0)
            self.result(producer.send_all([ProducerData("t", [b"0"]), ProducerData("one", [b"0"])]))
            before = len(self.requests())
            data = [
                ProducerData("one", [b"1", b"2"]),
                ProducerData("t", [b"3"], key=b"some key"),
                ProducerData("one", [b"4"], b"k"),
                ProducerData("t", [b"5", b"6"], key=b"some key"),
            ]
            found = self.result(producer.send_all(data))
            partition = (murmur2(b"some key") & 0x7FFFFFFF) % 3
            self.assertEqual([m.topic for m in found], ["one", "t", "one", "t"])
            self.assertEqual([m.records for m in found], [2, 1, 1, 2])
            self.assertEqual({m.partition for m in found if m.topic == "t"}, {partition})
            self.assertEqual(self.log("one").values[-3:], [b"1", b"2", b"4"])
            self.assertEqual(self.log("t", partition).values[-3:], [b"3", b"5", b"6"])
            brokers = 2 if partition == 1 else 1
            self.assertEqual(len(self.requests()) - before, brokers)

    def test_fails_when_all_are_settled(self) -> None:
        """The first list's error is raised when all lists are settled; the others are sent."""
        producer = self.producer()
        self.result(producer.send("one", b"0"))
        reply: Deferred[None] = Deferred()
        self.faults.append(reply)
        bad: Any = 5
        waiting = producer.send_all([ProducerData("one", [bad]), ProducerData("one", [b"1"])])
        self.network.pump()
        self.assertNoResult(waiting)
        reply.callback(None)
        self.assertIsInstance(self.error(waiting), TypeError)
        self.assertEqual(self.log().values, [b"0", b"1"])
        self.faults.append(ErrorCode.INVALID_RECORD)
        self.assertIsInstance(self.error(producer.send_all([ProducerData("one", [b"2"])])), ProduceFailed)

    def test_nothing(self) -> None:
        """An empty list returns an empty list; an argument that is no list of ProducerData fails."""
        producer = self.producer()
        self.assertEqual(self.result(producer.send_all([])), [])
        for wrong in (5, [5], [("one",)]):
            bad: Any = wrong
            self.assertIsInstance(self.error(producer.send_all(bad)), (TypeError, ValueError))
        self.result(producer.send("one", b"1"))

    def test_cancelled(self) -> None:
        """A cancelled call drops its results, and the records are sent."""
        producer = self.producer()
        waiting = producer.send_all([ProducerData("one", [b"1"]), ProducerData("one", [b"2"])])
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.result(producer.flush())
        self.assertEqual(self.log().values, [b"1", b"2"])
