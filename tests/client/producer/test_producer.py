"""Tests of kafkatx.client.producer.producer, gathering and sending."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs
from twisted.python.failure import Failure

from kafkatx.client.hooks import EventHandler, ProducerCallbacks
from kafkatx.client.producer import intake as intake_module
from kafkatx.client.producer import producer as producer_module
from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.errors import (
    BufferExhausted,
    ClientClosed,
    ConnectionFailed,
    NotStarted,
    ProduceFailed,
    UnknownTopic,
)
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES
from kafkatx.clientcore.producer.values import BatchMetadata, ProducerRecord, RecordMetadata
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.partitioners import RoundRobinPartitioner, murmur2
from kafkatx.records.batch import parse_header
from kafkatx.records.conversion import iter_any
from kafkatx.records.header import HEADER_BYTES
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.produce import ProduceRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST, Log
from tests.client.producing import ProducerTestCase


def ignore(_: object) -> None:
    """Do nothing with the Deferred."""


class SendTests(ProducerTestCase):
    """Sent records and their metadata."""

    def test_fields(self) -> None:
        """Key, value, headers and timestamp arrive; without one it is the wall clock's time."""
        now_ms = 1_700_000_000_123
        for module in (producer_module, intake_module):
            self.patch(module, "time", SimpleNamespace(time=lambda: now_ms / 1000))
        producer = self.producer()
        first = producer.send("one", b"v", b"k", headers=[("h", b"x"), ("n", None)], timestamp_ms=5)
        second = producer.send("one", None)
        self.assertEqual(self.result(first), RecordMetadata("one", 0, 0, 5))
        self.assertEqual(self.result(second), RecordMetadata("one", 0, 1, now_ms))
        self.assertEqual(self.records()[0][1:], (5, b"k", b"v", [("h", b"x"), ("n", None)]))
        self.assertEqual(self.records()[1][1:], (now_ms, None, None, []))

    def test_one_turn_one_request(self) -> None:
        """Records that are sent in one turn of the reactor share a batch, even without lingering."""
        producer = self.producer()
        waiting = [producer.send("one", b"%d" % i) for i in range(5)]
        self.assertEqual([self.result(each).offset for each in waiting], list(range(5)))
        self.assertEqual(self.sizes(), [[5]])

    def test_lingers(self) -> None:
        """A batch waits for linger.ms, and no longer."""
        producer = self.producer(linger_ms=20)
        producer.send("one", b"0")
        self.result(producer.flush())
        waiting = producer.send("one", b"1")
        self.network.pump(0.01)
        producer.send("one", b"2")
        self.network.pump(0.009)
        self.assertEqual(self.sizes(), [[1]])
        self.network.pump(0.002)
        self.assertEqual(self.sizes(), [[1], [2]])
        self.assertEqual(self.result(waiting).offset, 1)

    def test_full_does_not_linger(self) -> None:
        """A full batch leaves at once."""
        size = HEADER_BYTES + 2 * (40 + RECORD_OVERHEAD_BYTES)
        producer = self.producer(linger_ms=10_000, batch_size=size)
        for _ in range(3):
            producer.send("one", b"x" * 40)
        self.network.pump()
        self.assertEqual(self.sizes(), [[2]])
        self.network.pump(1)
        self.assertEqual(self.sizes(), [[2]])
        producer.send("one", b"x" * 40)
        self.network.pump()
        self.assertEqual(self.sizes(), [[2], [2]])

    def test_sync(self) -> None:
        """producer.type=sync: each call is sent at once, whatever lingers."""
        producer = self.producer(producer_type="sync", queue_time=5000)
        self.result(producer.send("one", b"0"))
        producer.send("one", b"1")
        producer.send("one", b"2")
        self.network.pump()
        self.assertEqual(self.sizes(), [[1], [1], [1]])

    def test_many_partitions_in_one_request(self) -> None:
        """Each broker gets one request with a batch for each of its partitions."""
        producer = self.producer()
        self.result(producer.send("t", b"first"))
        before = len(self.requests())
        waiting = [producer.send("t", b"v", partition=i) for i in (0, 1, 2, 0)]
        self.assertEqual([self.result(each).partition for each in waiting], [0, 1, 2, 0])
        self.assertEqual(sorted(self.sizes()[before:]), [[1], [2, 1]])

    def test_request_size(self) -> None:
        """A request stays below max.request.size unless one batch is larger, and all records are sent."""
        producer = self.producer(max_request_size=500)
        waiting = [producer.send("t", b"x" * 300, partition=i) for i in (0, 2) * 3]
        for each in waiting:
            self.result(each)
        self.assertEqual({len(request) for request in self.sizes()}, {1})
        error = self.error(producer.send("t", b"x" * 500))
        self.assertEqual(error.code, ErrorCode.MESSAGE_TOO_LARGE)

    def test_requests_at_once(self) -> None:
        """Batches that do not fit in one request go in another at once, without waiting for a reply."""
        producer = self.producer(max_request_size=500)
        for partition in (0, 2):
            self.result(producer.send("t", b"0", partition=partition))
        self.faults.append(Deferred())
        for partition in (0, 2):
            producer.send("t", b"x" * 300, partition=partition)
        self.network.pump()
        self.assertEqual(self.network.live(1)[0].protocol.in_flight, 2)

    def test_keys(self) -> None:
        """Keys are hashed as in Java, unless partitioner.ignore.keys is set."""
        producer = self.producer()
        metadata = self.result(producer.send("t", b"v", b"some key"))
        self.assertEqual(metadata.partition, (murmur2(b"some key") & 0x7FFFFFFF) % 3)
        careless = self.producer(partitioner_ignore_keys=True, partitioner_class=RoundRobinPartitioner)
        found = [self.result(careless.send("t", b"v", b"some key")).partition for _ in range(3)]
        self.assertEqual(found, [0, 1, 2])

    def test_sticks(self) -> None:
        """Records without key fill one partition's batch and then go to another's (KIP-480)."""
        producer = self.producer(batch_size=1000, linger_ms=1000)
        waiting = [producer.send("t", b"x" * 76) for _ in range(60)]
        for each in waiting:
            self.result(each, 2.0)
        sizes = [size for request in self.sizes() for size in request]
        self.assertEqual(sum(sizes), 60)
        self.assertLessEqual(len(sizes), 8)
        self.assertGreater(len(self.logs), 1)

    def test_elsewhere_when_full(self) -> None:
        """A record that does not fit is the first of another partition's batch."""
        producer = self.producer(
            batch_size=1000 + HEADER_BYTES, linger_ms=1000, partitioner_class=Alternating()
        )
        waiting = [producer.send("t", b"x" * 76) for _ in range(11)]
        self.assertEqual([self.result(each, 2).partition for each in waiting], [0] * 10 + [1])

    def test_bad_partition(self) -> None:
        """A partition that does not exist is refused, whether the caller or the partitioner chose it."""
        producer = self.producer()
        for partition in (3, -1):
            error = self.error(producer.send("t", b"v", partition=partition))
            self.assertIn("there are 3", str(error))
        astray = self.producer(partitioner_class=Astray())
        self.assertEqual(self.error(astray.send("t", b"v")).code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_bad_values(self) -> None:
        """Values that are not bytes fail with TypeError, before and after metadata; others are sent."""
        producer = self.producer()
        for _ in range(2):
            for bad in (
                producer.send("one", "text"),
                producer.send("one", 5),
                producer.send("one", b"v", key="text"),
                producer.send_batch("one", [b"v", "text"]),
                producer.send_batch("one", [b"v"], key="text"),
            ):
                self.assertIsInstance(self.error(bad), TypeError)
            self.result(producer.send("one", b"good"))
        self.assertEqual([record.value for record in self.records()], [b"good"] * 2)

    def test_encoders(self) -> None:
        """Objects are encoded as the settings say: by name, by class, by object, by function."""
        for encoder in ("json", Shout, Shout(), lambda value: value.upper().encode()):
            producer = self.producer(value_serializer=encoder, key_encoder="string")
            self.result(producer.send("one", "text", key="k"))
            self.result(producer.send_batch("one", ["text"], key="k"))
        expected = [b'"text"'] * 2 + [b"one:TEXT"] * 4 + [b"TEXT"] * 2
        self.assertEqual([record.value for record in self.records()], expected)
        self.assertEqual({record.key for record in self.records()}, {b"k"})
        self.assertRaises(SettingError, Producer, bootstrap_servers="x", value_serializer="jsn",
            reactor=self.network.clock)  # fmt: skip

    def test_cancelled(self) -> None:
        """A cancelled call drops its result; the record is sent, and other calls fire."""
        producer = self.producer()
        dropped, kept = producer.send("one", b"1"), producer.send("one", b"2")
        dropped.cancel()
        self.failureResultOf(dropped, CancelledError)
        self.assertEqual(self.result(kept).offset, 1)


class Astray:
    """Chooses a partition that does not exist."""

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the number after the last partition."""
        return partitions

    def batch_sent(self, topic: str) -> None:
        """Do nothing."""


class Alternating:
    """Sticks to one partition per batch, in turn."""

    def __init__(self) -> None:
        self._batches = 0

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the present partition."""
        return self._batches % partitions

    def batch_sent(self, topic: str) -> None:
        """Move to the next partition."""
        self._batches += 1


class Shout:
    """An encoder that returns capitals."""

    def encode(self, topic: str, value: str) -> bytes:
        """Return the value in capitals."""
        return f"{topic}:{value.upper()}".encode()


class Lenient(ProducerStateManager):
    """Takes every sequence."""

    def check(self, *args: Any) -> None:
        """Accept."""


class SendBatchTests(ProducerTestCase):
    """Lists of records."""

    def test_where(self) -> None:
        """One Deferred has the offsets of all; the list may be changed after the call."""
        producer = self.producer()
        values = [b"1", b"2", b"3"]
        waiting = producer.send_batch("one", values, timestamp_ms=7)
        values.clear()
        self.assertEqual(self.result(waiting), BatchMetadata("one", 0, 0, 2, 3, 7))
        self.assertEqual([(r.value, r.timestamp) for r in self.records()], [(b"1", 7), (b"2", 7), (b"3", 7)])

    def test_empty(self) -> None:
        """An empty list sends nothing."""
        self.assertEqual(self.result(self.producer().send_batch("one", [])).records, 0)
        self.assertEqual(self.requests(), [])

    def test_key(self) -> None:
        """A key applies to the whole list, and chooses the partition."""
        producer = self.producer()
        metadata = self.result(producer.send_batch("t", [b"1", b"2"], key=b"some key"))
        self.assertEqual((metadata.partition, metadata.records), ((murmur2(b"some key") & 0x7FFFFFFF) % 3, 2))
        self.assertEqual([r.key for r in self.records("t", metadata.partition)], [b"some key"] * 2)

    def test_large(self) -> None:
        """A list larger than a request goes in several, in order, to one partition."""
        producer = self.producer(max_request_size=1000)
        values = [b"%03d" % i * 10 for i in range(200)]
        metadata = self.result(producer.send_batch("t", values))
        self.assertEqual((metadata.base_offset, metadata.last_offset, metadata.records), (0, 199, 200))
        self.assertEqual([r.value for r in self.records("t", metadata.partition)], values)
        self.assertGreater(len(self.requests()), 10)

    def test_list_is_one_batch(self) -> None:
        """A list is not cut by batch.size."""
        producer = self.producer(batch_size=100)
        self.result(producer.send_batch("one", [b"x" * 50] * 100))
        self.assertEqual(self.sizes(), [[100]])

    def test_spread(self) -> None:
        """Lists without key go to one partition each, and not all to the same."""
        producer = self.producer()
        found = {self.result(producer.send_batch("t", [b"x" * 100] * 200)).partition for _ in range(40)}
        self.assertEqual(found, {0, 1, 2})

    def test_cut(self) -> None:
        """A list that is split by the topic's limit has one result, with all its offsets."""
        self.log().max_bytes = 500
        producer = self.producer()
        values = [b"%03d" % i * 10 for i in range(100)]
        first, second = producer.send_batch("one", values), producer.send("one", b"last")
        self.assertEqual(self.result(first, 5)[2:5], (0, 99, 100))
        self.assertEqual(self.result(second, 5).offset, 100)
        self.assertEqual(self.log().values, [*values, b"last"])

    def test_partly_unknown(self) -> None:
        """The offsets of a list are unknown if those of a part are, as for a duplicate."""
        producer = self.producer(max_request_size=1000)
        self.result(producer.send("one", b"0"))
        self.faults.append(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
        self.patch(self.log(), "producers", Lenient())
        metadata = self.result(producer.send_batch("one", [b"x" * 600, b"y" * 600]), 1)
        self.assertEqual((metadata.base_offset, metadata.last_offset, metadata.records), (-1, -1, 2))

    def test_partly_refused(self) -> None:
        """A list of which one batch is refused fails when all its batches are settled."""
        producer = self.producer(max_request_size=1000)
        self.result(producer.send("one", b"0"))
        reply: Deferred[None] = Deferred()
        self.faults.extend([ErrorCode.INVALID_RECORD, reply])
        waiting = producer.send_batch("one", [b"x" * 600, b"y" * 600])
        self.network.pump(0.5)
        self.assertNoResult(waiting)
        reply.callback(None)
        self.assertEqual(self.error(waiting, 1.0).code, ErrorCode.INVALID_RECORD)


class IdempotenceTests(ProducerTestCase):
    """Delivery once and in order, whatever fails."""

    def test_pipelined(self) -> None:
        """After the first, up to five requests are under way, with sequences that follow each other."""
        producer = self.producer(batch_size=1, linger_ms=0)
        self.result(producer.send("one", b"first"))
        replies: list[Deferred[None]] = [Deferred() for _ in range(7)]
        self.faults.extend(replies)
        for number in range(7):
            producer.send("one", b"%d" % number)
            self.network.pump()
        self.assertEqual(len(self.requests()) - 1, 5)
        for reply in replies:
            reply.callback(None)
            self.network.pump()
        self.assertEqual([parse_header(b).base_sequence for b in self.log().batches][:6], list(range(6)))
        self.assertEqual(self.producer_ids_asked(), 1)

    def test_any_faults(self) -> None:
        """All records are in the log once and in order after lost requests, lost replies and new leaders."""
        source = random.Random(20)
        kinds = [None, None, None, LOSE_REQUEST, LOSE_REPLY, ErrorCode.NOT_ENOUGH_REPLICAS]
        for _ in range(12):
            self.logs.clear()
            producer = self.producer(batch_size=30)
            self.faults.extend(source.choices(kinds, k=40))
            waiting = []
            for number in range(60):
                waiting.append(producer.send("t", b"%d" % number, partition=number % 2))
                self.network.pump(source.choice([0, 0, 0.003]))
                if source.random() < 0.05:
                    for log in self.metadata.topics["t"]:
                        log.leader = source.choice([1, 2])
            found = [self.result(each, 60) for each in waiting]
            for partition in (0, 1):
                expected = [b"%d" % n for n in range(partition, 60, 2)]
                self.assertEqual(self.log("t", partition).values, expected)
                offsets = [m.offset for m in found if m.partition == partition]
                self.assertEqual(offsets, list(range(30)))
            self.faults.clear()

    def test_refused_batch(self) -> None:
        """A refused batch fails alone, and those after it are sent in the next epoch."""
        producer = self.producer(batch_size=1)
        self.result(producer.send("one", b"first"))
        self.faults.append(ErrorCode.INVALID_RECORD)
        waiting = []
        for number in range(4):
            waiting.append(producer.send("one", b"%d" % number))
            self.network.clock.advance(0)
        error = self.error(waiting[0], 5)
        self.assertIsInstance(error, ProduceFailed)
        self.assertEqual((error.code, error.topic, error.partition), (ErrorCode.INVALID_RECORD, "one", 0))
        self.assertEqual([self.result(each, 5).offset for each in waiting[1:]], [1, 2, 3])
        headers = [parse_header(data) for data in self.log().batches]
        self.assertEqual([(h.producer_epoch, h.base_sequence) for h in headers][:2], [(0, 0), (1, 0)])

    def test_forgotten(self) -> None:
        """A broker that has forgotten the producer id gets the next epoch, in order."""
        producer = self.producer(batch_size=1)
        self.log().old = True
        self.result(producer.send("one", b"first"))
        self.log().forget()
        waiting = []
        for number in range(4):
            waiting.append(producer.send("one", b"%d" % number))
            self.network.clock.advance(0)
        self.assertEqual([self.result(each, 5).offset for each in waiting], [1, 2, 3, 4])
        self.assertEqual(self.log().values, [b"first", b"0", b"1", b"2", b"3"])
        headers = [parse_header(data) for data in self.log().batches]
        stamps = [(h.producer_epoch, h.base_sequence) for h in headers]
        self.assertEqual(stamps, [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3)])
        self.assertEqual(self.producer_ids_asked(), 1)

    def test_forgotten_for_good(self) -> None:
        """A broker that always rejects the producer's batches costs one more attempt."""
        producer = self.producer(batch_size=1)
        self.result(producer.send("one", b"first"))
        before = len(self.requests())
        self.faults.extend([ErrorCode.UNKNOWN_PRODUCER_ID] * 9)
        error = self.error(producer.send("one", b"second"), 5)
        self.assertIs(error.code, ErrorCode.UNKNOWN_PRODUCER_ID)
        self.assertEqual(len(self.requests()) - before, 2)
        self.faults.clear()
        self.result(producer.send("one", b"third"))

    def test_not_known_by_broker(self) -> None:
        """A broker without InitProducerId gets plain batches, one at a time per partition."""
        self.network.newest[InitProducerIdRequest] = -1
        producer = self.producer(batch_size=1)
        self.faults.extend([Deferred(), None])
        for number in range(3):
            producer.send("one", b"%d" % number)
            self.network.pump()
        self.assertEqual(len(self.requests()), 1)
        batch = self.requests()[0].topic_data[0].partition_data[0].records
        self.assertEqual(parse_header(batch).producer_id, -1)

    def test_acks(self) -> None:
        """Requests with acks=1 are not idempotent; with acks=0 there is no reply and no offset."""
        producer = self.producer(acks=1)
        self.assertEqual(self.result(producer.send("one", b"1")).offset, 0)
        self.assertEqual((self.requests()[0].acks, self.producer_ids_asked()), (1, 0))
        producer = self.producer(acks=0)
        self.assertEqual(self.result(producer.send("one", b"2")).offset, -1)
        self.assertEqual(self.result(producer.send_batch("one", [b"3", b"4"]))[2:5], (-1, -1, 2))
        self.assertEqual(self.requests()[-1].acks, 0)
        self.assertEqual(self.log().values, [b"1", b"2", b"3", b"4"])

    def test_old_broker(self) -> None:
        """A broker of 0.8 or 0.10 gets message sets."""
        self.network.newest[InitProducerIdRequest] = -1
        for version, magic in ((0, 0), (2, 1)):
            self.network.newest[ProduceRequest] = version
            taken: list[Any] = []
            self.patch(self, "append", lambda node, topic, part, fault, taken=taken: (
                taken.append(bytes(part.records)), self.refuse(part))[1])  # fmt: skip
            producer = self.producer()
            self.error(producer.send("one", b"v", b"k"))
            self.assertEqual(taken[0][16], magic)
            self.assertEqual([(r.key, r.value) for r in iter_any(taken[0])], [(b"k", b"v")])

    def refuse(self, part: Any) -> Any:
        """Return a final error."""
        return type(self).append(self, 0, "", part, ErrorCode.INVALID_RECORD)

    def test_given_up(self) -> None:
        """Records fail after delivery.timeout.ms while the broker is away, with the reason."""
        producer = self.producer(delivery_timeout_ms=10_000, request_timeout_ms=5000)
        self.result(producer.send("one", b"0"))
        self.network.kill(1)
        waiting: list[Deferred[Any]] = [
            producer.send("one", b"1"),
            producer.send_batch("one", [b"2", b"3"]),
        ]
        self.network.run(9.8)
        for each in waiting:
            self.assertNoResult(each)
        error = self.error(waiting[0], 0.5)
        self.error(waiting[1])
        self.assertEqual(error.code, ErrorCode.REQUEST_TIMED_OUT)
        self.assertIn("one [0]: not delivered within 10 s", str(error))
        self.network.down.clear()
        self.assertEqual(self.result(producer.send("one", b"4"), 5).offset, 1)
        self.assertEqual(self.log().values, [b"0", b"4"])

    def test_silent_broker(self) -> None:
        """An unanswered batch is sent again after request.timeout.ms, and is in the log once."""
        producer = self.producer(request_timeout_ms=3000)
        self.result(producer.send("one", b"0"))
        stuck: Deferred[None] = Deferred()
        self.faults.append(stuck)
        waiting = producer.send("one", b"1")
        self.network.run(2.9)
        self.assertNoResult(waiting)
        self.assertEqual(self.result(waiting, 2).offset, 1)
        self.assertEqual(self.log().values, [b"0", b"1"])

    def test_throttled(self) -> None:
        """A throttling broker gets a pause (KIP-219)."""
        producer = self.producer()
        self.throttle_ms = 500
        self.result(producer.send("one", b"0"))
        waiting = producer.send("one", b"1")
        self.network.run(0.4)
        self.assertEqual(len(self.requests()), 1)
        self.result(waiting, 0.2)

    def test_leader_moves(self) -> None:
        """A change of leader makes the client refresh metadata, and the new leader gets the rest."""
        producer = self.producer()
        self.result(producer.send("one", b"0"))
        self.metadata.topics["one"][0].leader = 2
        self.assertEqual(self.result(producer.send("one", b"1"), 2).offset, 1)
        self.assertEqual([n for n, r in self.network.requests if isinstance(r, ProduceRequest)][-1], 2)
        self.assertEqual(self.log().values, [b"0", b"1"])

    def test_former_leader_answers_first(self) -> None:
        """The new leader gets no batches before those in flight to the former one are answered."""
        producer = self.producer()
        self.result(producer.send("one", b"0"))
        reply: Deferred[None] = Deferred()
        self.faults.append(reply)
        producer.send("one", b"1")
        self.network.pump()
        self.metadata.topics["one"][0].leader = 2
        self.patch(producer.cluster, "leader", lambda topic, partition: 2)
        waiting = producer.send("one", b"2")
        self.network.pump()
        self.assertEqual(len(self.requests()), 2)
        reply.callback(None)
        self.assertEqual(self.result(waiting, 1).offset, 2)

    def test_no_leader(self) -> None:
        """Records for a partition without leader wait; the other partitions do not."""
        producer = self.producer()
        self.metadata.topics["t"][1].leader = -1
        waiting = producer.send("t", b"1", partition=1)
        self.result(producer.send("t", b"0", partition=0))
        self.network.run(0.5)
        self.assertNoResult(waiting)
        self.metadata.topics["t"][1].leader = 1
        self.result(waiting, 3)

    def test_full_disk(self) -> None:
        """A broker that rejects all batches is logged after five seconds, then ever more seldom."""
        producer = self.producer()
        self.faults.extend([ErrorCode.KAFKA_STORAGE_ERROR] * 1000)
        with capturedLogs() as events:
            waiting = producer.send("one", b"1")
            for _ in range(45):
                self.network.pump(0.1)
            self.assertEqual([event for event in events if "accepted no records" in event["log_format"]], [])
            for _ in range(250):
                self.network.pump(0.1)
        told = [event for event in events if "accepted no records" in event["log_format"]]
        self.assertEqual([(event["topic"], event["partition"]) for event in told], [("one", 0)] * 3)
        first, second = (event["seconds"] for event in told[:2])
        self.assertTrue(5 <= first < 6.5, first)  # the retry after 5 s; retries are up to 1.2 s apart
        self.assertTrue(2 * first <= second < 2 * first + 1.5, (first, second))
        self.assertIn("KAFKA_STORAGE_ERROR", str(told[0]["why"]))
        self.faults.clear()
        self.result(waiting, 5)

    def test_retries_0(self) -> None:
        """With retries=0 the first failure is final."""
        producer = self.producer(retries=0)
        self.faults.append(ErrorCode.NOT_ENOUGH_REPLICAS)
        self.assertEqual(self.error(producer.send("one", b"1")).code, ErrorCode.NOT_ENOUGH_REPLICAS)


class TopicsTests(ProducerTestCase):
    """Records that are sent before the topic is known."""

    def test_in_order(self) -> None:
        """Records and lists wait for the topic, and keep their order."""
        producer = self.producer()
        waiting: list[Deferred[Any]] = [
            producer.send("one", b"1"),
            producer.send_batch("one", [b"2", b"3"]),
            producer.send("one", b"4"),
        ]
        for each in waiting:
            self.result(each)
        self.assertEqual(self.log().values, [b"1", b"2", b"3", b"4"])

    def test_before_start(self) -> None:
        """A record that is sent before start() fails at once; one that is sent while it connects waits."""
        producer = self.producer(start=False)
        for sent in (producer.send("one", b"1"), producer.send_batch("one", [b"1"])):
            self.assertIn("call its start() first", str(self.failureResultOf(sent, NotStarted).value))
        self.assertRaises(NotStarted, producer.produce, "one", b"1")
        starting = producer.start()
        waiting = producer.send("one", b"2")
        self.assertNoResult(waiting)
        self.result(starting)
        self.assertEqual(self.result(waiting).offset, 0)

    def test_created(self) -> None:
        """An unknown topic is created by a metadata request."""
        self.assertEqual(self.result(self.producer().send("new", b"1"), 5).topic, "new")

    def test_unknown(self) -> None:
        """An invalid topic fails all its waiting records, frees their memory, and may exist later."""
        self.metadata.auto_create = False
        producer = self.producer(buffer_memory=100)
        first, second = producer.send("no", b"1"), producer.send_batch("no", [b"x" * 200])
        third = producer.send("no", b"")
        self.assertIsInstance(self.error(first, 30), UnknownTopic)
        self.assertIsInstance(self.error(second), UnknownTopic)
        self.assertNoResult(third)
        self.assertIsInstance(self.error(third, 30), UnknownTopic)
        self.metadata.topics["no"] = [Log()]
        self.assertEqual(self.result(producer.send("no", b"1"), 5).offset, 0)

    def test_more_partitions(self) -> None:
        """New partitions are used once metadata has them."""
        producer = self.producer(partitioner_class=RoundRobinPartitioner(), metadata_max_age_ms=1000)
        self.result(producer.send("one", b"1"))
        self.metadata.topics["one"].append(Log())
        self.network.run(3)
        found = {self.result(producer.send("one", b"2")).partition for _ in range(4)}
        self.assertEqual(found, {0, 1})
        self.assertGreater(len(self.network.sent(MetadataRequest)), 1)


class RoomTests(ProducerTestCase):
    """buffer.memory."""

    def fill(self, **settings: Any) -> tuple[Producer, Deferred[None]]:
        """Return a producer without free memory until the Deferred is fired."""
        producer = self.producer(buffer_memory=1000, **settings)
        self.result(producer.send("one", b"0"))
        reply: Deferred[None] = Deferred()
        self.faults.append(reply)
        self.filling = producer.send_batch("one", [b"x" * 100] * 10)
        self.filling.addErrback(lambda failure: failure.trap(ClientClosed))
        self.network.pump()
        return producer, reply

    def values(self) -> list[bytes | None]:
        """Return the log's values without those that fill the memory."""
        return [value for value in self.log().values if value and not value.startswith(b"x")]

    def test_full(self) -> None:
        """Calls wait while memory is full, and their records are sent in order."""
        producer, reply = self.fill()
        room = producer.ready()
        waiting: list[Deferred[Any]] = [producer.send("one", b"1")]
        waiting += [producer.send_batch("one", [b"2", b"3"]), producer.send("one", b"4")]
        self.network.run(1)
        for each in (room, *waiting):
            self.assertNoResult(each)
        reply.callback(None)
        self.assertEqual([self.result(waiting[0]).offset, self.result(waiting[2]).offset], [11, 14])
        self.successResultOf(room)
        self.assertEqual(self.values(), [b"0", b"1", b"2", b"3", b"4"])

    def test_full_at_once(self) -> None:
        """With max.block.ms=0 calls fail at once."""
        producer, reply = self.fill(max_block_ms=0)
        for call in (producer.send("one", b"1"), producer.send_batch("one", [b"1"])):
            error = self.failureResultOf(call, BufferExhausted)
            self.assertIn("max.block.ms is 0", str(error.value))
        reply.callback(None)
        self.network.pump()
        self.result(producer.send("one", b"2"))
        self.assertEqual(self.values(), [b"0", b"2"])

    def test_full_for_long(self) -> None:
        """A call that gets no memory within max.block.ms fails, and its record is not sent."""
        producer, reply = self.fill(max_block_ms=2000)
        waiting = producer.send("one", b"1")
        self.network.run(1.9)
        later = producer.send("one", b"2")
        error = self.error(waiting, 0.2)
        self.assertIsInstance(error, BufferExhausted)
        self.assertIn("none became free within 2 s (max.block.ms)", str(error))
        self.assertIn("25 more bytes wait", str(error))
        reply.callback(None)
        self.result(later)
        self.assertEqual(self.values(), [b"0", b"2"])

    def test_cancelled_while_it_waits(self) -> None:
        """A call that is cancelled while it waits for memory sends nothing."""
        producer, reply = self.fill()
        waiting, other = producer.send("one", b"1"), producer.send("one", b"2")
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        reply.callback(None)
        self.result(other)
        self.assertEqual(self.values(), [b"0", b"2"])

    def test_nobody_overtakes(self) -> None:
        """A record that is sent from a callback waits behind callers that wait for memory."""
        producer, reply = self.fill()
        self.faults.append(Deferred())
        first = producer.send_batch("one", [b"x" * 1000])
        second = producer.send("one", b"1")
        self.filling.addCallback(lambda _: ignore(producer.send("one", b"2")))
        reply.callback(None)
        self.network.pump()
        self.assertNoResult(first)
        self.assertNoResult(second)
        self.faults.clear()
        self.network.live(1)[0].lose()
        self.result(first, 5)
        self.result(second, 5)
        self.network.run(1)
        self.assertEqual(self.values(), [b"0", b"1", b"2"])

    def test_nothing_lingers(self) -> None:
        """Batches do not linger while callers wait for memory."""
        producer = self.producer(buffer_memory=100, linger_ms=60_000, batch_size=10_000)
        lingering = producer.send("one", b"x" * 100)
        self.network.run(1)
        self.assertNoResult(lingering)
        waiting = producer.send("one", b"1")
        self.result(lingering, 1)
        self.network.run(1)
        self.assertNoResult(waiting)
        self.result(producer.flush())
        self.successResultOf(waiting)

    def test_flush_waits_for_room(self) -> None:
        """flush() and close() are about what waits for room as well."""
        for end in ("flush", "close"):
            producer, reply = self.fill()
            waiting = producer.send("one", end.encode())
            ending = getattr(producer, end)()
            self.network.run(1)
            self.assertNoResult(ending)
            reply.callback(None)
            self.result(ending)
            self.successResultOf(waiting)

    def test_close_does_not_wait(self) -> None:
        """Callers that wait for memory, and later ones, fail when the close times out, and flush() ends."""
        producer, _ = self.fill()
        waiting, flushing = producer.send("one", b"1"), producer.flush()
        closing = producer.close(timeout_s=1)
        self.failureResultOf(producer.send("one", b"2"), ClientClosed)
        self.result(closing, 2)
        self.failureResultOf(waiting, ClientClosed)
        self.successResultOf(flushing)
        self.failureResultOf(producer.send("one", b"2"), ClientClosed)

    def test_bad_value_while_full(self) -> None:
        """A wrong value fails at once or in its turn while memory is full, and other calls succeed."""
        producer, reply = self.fill()
        self.failureResultOf(producer.send("one", 7), TypeError)
        wrong, right = producer.send("one", b"1", partition=9), producer.send("one", b"2")
        reply.callback(None)
        self.assertIsInstance(self.error(wrong), RequestError)
        self.result(right)

    def test_told_when_enqueued(self) -> None:
        """Callbacks hear whether a record was enqueued when that is known."""
        told: list[Any] = []

        class Callbacks(ProducerCallbacks):
            def after_enqueue(self, record: ProducerRecord, added: bool) -> None:
                told.append((record.value, added))

        producer, reply = self.fill(callback_handler=Callbacks(), max_block_ms=2000)
        told.clear()
        producer.send("one", b"1")
        self.network.run(1)
        late = producer.send("one", b"2")
        self.assertEqual(told, [])
        reply.callback(None)
        self.result(late)
        self.assertEqual(told, [(b"1", True), (b"2", True)])
        self.faults.append(Deferred())
        producer.send_batch("one", [b"x" * 1000]).addErrback(ignore)
        told.clear()
        self.error(producer.send("one", b"3"), 3)
        self.assertEqual(told, [(b"3", False)])

    def test_one_after_the_other(self) -> None:
        """Callers are admitted in order as memory becomes free; cancelled ones are passed over."""
        producer = self.producer(buffer_memory=1000)
        self.result(producer.send("one", b"0"))
        replies: list[Deferred[None]] = [Deferred() for _ in range(4)]
        self.faults.extend(replies)
        producer.send_batch("one", [b"x" * 1000])
        waiting = [producer.ready() for _ in range(4)]
        for each in (waiting[0], waiting[1], waiting[3]):
            each.addCallback(lambda _: ignore(producer.send_batch("one", [b"x" * 1000])))
        waiting[1].addErrback(lambda failure: failure.trap(CancelledError) and None)
        waiting[1].cancel()
        let_in = []
        for reply in replies:
            reply.callback(None)
            self.network.pump()
            let_in.append([each.called for each in waiting])
        self.assertEqual(let_in[0], [True, True, False, False])
        self.assertEqual(let_in[1], [True, True, True, True])

    def test_in_turn(self) -> None:
        """A caller that comes while others wait is admitted after them, even from within a callback."""
        producer = self.producer(buffer_memory=100)
        self.result(producer.send("one", b"0"))
        reply: Deferred[None] = Deferred()
        self.faults.append(reply)
        producer.send("one", b"x" * 100)
        order: list[str] = []

        def let_in(name: str) -> None:
            order.append(name)
            if name == "first":
                producer.ready().addCallback(lambda _: let_in("first again"))

        producer.ready().addCallback(lambda _: let_in("first"))
        producer.ready().addCallback(lambda _: let_in("second"))
        self.network.pump()
        reply.callback(None)
        self.network.pump()
        self.assertEqual(order, ["first", "second", "first again"])

    def test_max_block(self) -> None:
        """A caller that waits for max.block.ms gets BufferExhausted."""
        producer = self.producer(buffer_memory=100, max_block_ms=2000)
        self.result(producer.send("one", b"0"))
        self.faults.append(Deferred())
        producer.send("one", b"x" * 100)
        waiting = producer.ready()
        self.network.run(1)
        later = producer.ready()
        self.network.run(0.9)
        self.assertNoResult(waiting)
        self.assertIsInstance(self.error(waiting, 0.2), BufferExhausted)
        self.assertNoResult(later)
        self.assertIn("max.block.ms", str(self.error(later, 1.1)))

    def test_given_back(self) -> None:
        """The memory of delivered, refused and expired records is free again."""
        producer = self.producer(delivery_timeout_ms=2000, request_timeout_ms=1000)
        self.result(producer.send("one", b"x" * 50))
        self.faults.append(ErrorCode.INVALID_RECORD)
        self.error(producer.send("one", b"x" * 50))
        self.network.kill(1)
        self.error(producer.send("one", b"x" * 50), 3)
        self.assertEqual(producer._accumulator.used_bytes, 0)


class FlushTests(ProducerTestCase):
    """flush() and close()."""

    def test_flush(self) -> None:
        """A flush sends lingering records, and fires when all earlier ones have succeeded or failed."""
        producer = self.producer(linger_ms=60_000)
        self.result(producer.flush())
        waiting = producer.send("one", b"1")
        self.result(producer.flush())
        self.assertEqual(self.successResultOf(waiting).offset, 0)
        self.faults.append(ErrorCode.INVALID_RECORD)
        refused = producer.send_batch("one", [b"2"])
        self.result(producer.flush())
        self.failureResultOf(refused, ProduceFailed)
        later = producer.send("one", b"3")
        self.network.pump(1)
        self.assertNoResult(later)

    def test_flush_waits_for_topic(self) -> None:
        """A flush waits for records that wait for their topic, and not for later ones."""
        producer = self.producer(linger_ms=60_000)
        waiting = producer.send("one", b"1")
        flushed = producer.flush()
        self.result(flushed)
        self.successResultOf(waiting)

    def test_flush_cut(self) -> None:
        """A flush waits for both parts of a batch that is split."""
        self.log().max_bytes = 200
        producer = self.producer(linger_ms=60_000)
        waiting = [producer.send("one", b"x" * 50) for _ in range(8)]
        self.result(producer.flush(), 5)
        for each in waiting:
            self.successResultOf(each)

    def test_close(self) -> None:
        """A close sends the rest; then records are refused, and all connections are closed."""
        producer = self.producer(linger_ms=60_000)
        waiting = producer.send("one", b"1")
        ends = [producer.close(), producer.close()]
        for end in ends:
            self.result(end)
        self.assertEqual(self.successResultOf(waiting).offset, 0)
        for each in (producer.send("one", b"2"), producer.send_batch("one", [b"2"]), producer.ready()):
            self.assertIsInstance(self.error(each), ClientClosed)
        self.result(producer.close())
        self.assertEqual(self.network.live(), [])

    def test_close_in_time(self) -> None:
        """Records that are not delivered in time fail with ClientClosed, and every Deferred fires."""
        producer = self.producer(buffer_memory=380)
        self.result(producer.send("one", b"0"))
        self.faults.append(Deferred())
        waiting: list[Deferred[Any]] = [producer.send("one", b"under way")]
        self.network.pump()
        waiting += [producer.send_batch("elsewhere", [b"1"]), producer.send("one", b"x" * 300)]
        waiting += [producer.ready(), producer.flush()]
        self.result(producer.close(timeout_s=2.0), 3)
        failed = [each.result.value for each in waiting[:4] if isinstance(each.result, Failure)]
        self.assertEqual(len(failed), 4)
        for error in failed:
            self.assertIsInstance(error, ClientClosed)
        self.assertTrue(waiting[4].called)
        for each in waiting:
            each.addErrback(lambda _: None)

    def test_close_unstarted(self) -> None:
        """A producer that never started, or could not, closes at once."""
        producer = self.producer(start=False)
        self.result(producer.close())
        self.failureResultOf(producer.send("one", b"1"), ClientClosed)
        self.network.down = {1, 2}
        producer = self.producer(start=False)
        self.assertIsInstance(self.error(producer.start()), ConnectionFailed)
        self.result(producer.close())

    def test_shared_cluster(self) -> None:
        """A cluster that was passed in stays open."""
        cluster = self.network.started()
        producer = Producer(linger_ms=0, cluster=cluster)
        self.result(producer.start())
        self.result(producer.send("one", b"1"))
        self.result(producer.close())
        self.assertEqual(len(self.network.live()), 1)
        self.result(cluster.close())

    def test_closed_by_a_callback(self) -> None:
        """A callback that closes the producer does not affect other records."""
        producer = self.producer()
        first = producer.send("t", b"1", partition=0)
        first.addCallback(lambda _: ignore(producer.close(timeout_s=0)))
        second = producer.send("t", b"2", partition=2)
        self.network.pump()
        self.assertTrue(second.called)
        second.addErrback(lambda failure: failure.trap(ClientClosed) and None)

    def test_sends_from_a_callback(self) -> None:
        """A callback may send records."""
        producer = self.producer()
        chain = producer.send("one", b"1").addCallback(lambda _: producer.send("one", b"2"))
        self.assertEqual(self.result(chain).offset, 1)


class Recorder(ProducerCallbacks):
    """Records its calls."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def before_enqueue(self, record: ProducerRecord) -> ProducerRecord:
        """Return another value; refuse some."""
        if record.value == b"bad":
            raise ValueError("not wanted")
        self.heard.append("before")
        return record._replace(value=record.value + b"!")

    def after_enqueue(self, record: ProducerRecord, added: bool) -> None:
        """Record it."""
        self.heard.append((record.value, added))

    def after_dequeue(self, batch: Any) -> None:
        """Record it, and fail."""
        self.heard.append(("dequeued", batch.records))
        raise KeyError("a bug")

    def before_sending(self, node_id: int, batches: Any) -> None:
        """Record it."""
        self.heard.append(("sending", node_id, [batch.attempts for batch in batches]))

    def before_close(self) -> Any:
        """Return a last record."""
        return [ProducerRecord("one", b"bye")]


class Handler(EventHandler):
    """Sends, keeps or fails."""

    def __init__(self) -> None:
        self.handled: list[Any] = []
        self.todo: list[Any] = []
        self.closed = 0

    def handle(self, node_id: int, batches: Any, send: Any) -> Any:
        """Take the next action of the list."""
        self.handled.append((node_id, [(batch.topic, batch.partition, batch.records) for batch in batches]))
        todo = self.todo.pop(0) if self.todo else "send"
        if todo == "send":
            return send()
        if isinstance(todo, Exception):
            raise todo
        return todo

    def close(self) -> None:
        """Count."""
        self.closed += 1


class HooksTests(ProducerTestCase):
    """IProducerCallbacks and IEventHandler."""

    def test_callbacks(self) -> None:
        """Callbacks see each record at each stage, may change it, and their errors are logged."""
        recorder = Recorder()
        producer = self.producer(callback_handler=recorder)
        self.faults.append(ErrorCode.NOT_ENOUGH_REPLICAS)
        self.result(producer.send("one", b"v"), 1)
        self.assertEqual(
            recorder.heard,
            ["before", (b"v!", True), ("dequeued", 1), ("sending", 1, [1]), ("sending", 1, [2])],
        )
        self.assertEqual(self.log().values, [b"v!"])
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)

    def test_refused_by_callback(self) -> None:
        """A call that a callback refuses fails with its exception, and after_enqueue gets its records."""
        recorder = Recorder()
        producer = self.producer(callback_handler=recorder)
        self.assertIsInstance(self.error(producer.send("one", b"bad")), ValueError)
        self.assertIsInstance(self.error(producer.send_batch("one", [b"good", b"bad"])), ValueError)
        self.assertIsInstance(self.error(producer.send("one", b"v", key=5)), TypeError)
        self.assertIn((b"v!", False), recorder.heard)

    def test_lists(self) -> None:
        """Callbacks get each record of a list, and may change values."""
        recorder = Recorder()
        producer = self.producer(callback_handler=recorder)
        self.assertEqual(self.result(producer.send_batch("one", [b"1", b"2"])).records, 2)
        self.assertEqual(self.log().values, [b"1!", b"2!"])
        self.assertEqual(recorder.heard[2:4], [(b"1!", True), (b"2!", True)])
        self.flushLoggedErrors(KeyError)

    def test_last_records(self) -> None:
        """Callbacks may send records before the close."""
        producer = self.producer(callback_handler=Recorder())
        self.result(producer.send("one", b"v"))
        self.result(producer.close())
        self.assertEqual(self.log().values, [b"v!", b"bye!"])
        self.flushLoggedErrors(KeyError)

    def test_event_handler(self) -> None:
        """An event handler gets each request; batches that it does not send count as delivered."""
        handler = Handler()
        producer = self.producer(event_handler=handler)
        self.assertEqual(self.result(producer.send("one", b"1")).offset, 0)
        kept: Deferred[Any] = Deferred()
        handler.todo = [kept]
        waiting = producer.send("one", b"kept")
        self.network.pump()
        self.assertNoResult(waiting)
        kept.callback(None)
        self.assertEqual(self.result(waiting).offset, -1)
        self.assertEqual(handler.handled, [(1, [("one", 0, 1)])] * 2)
        self.assertEqual(self.log().values, [b"1"])
        self.result(producer.close())
        self.assertEqual(handler.closed, 1)

    def test_event_handler_cancelled(self) -> None:
        """Unfinished calls of the event handler are cancelled when the producer closes."""
        handler = Handler()
        cancelled: list[object] = []
        handler.todo = [Deferred(cancelled.append)]
        producer = self.producer(event_handler=handler)
        waiting = producer.send("one", b"1")
        self.network.pump()
        self.result(producer.close(timeout_s=0))
        self.assertEqual(len(cancelled), 1)
        self.failureResultOf(waiting, ClientClosed)

    def test_event_handler_fails(self) -> None:
        """An error of the event handler is final, unless it is retriable: then the batch is handled again."""
        handler = Handler()
        handler.todo = [ConnectionFailed("later"), ValueError("never")]
        producer = self.producer(event_handler=handler)
        error = self.error(producer.send("one", b"1"), 1)
        self.assertIsInstance(error, ProduceFailed)
        self.assertIn("never", str(error))
        self.assertEqual(len(handler.handled), 2)
        self.flushLoggedErrors(ValueError)
        self.assertIsInstance(error, RequestError)
