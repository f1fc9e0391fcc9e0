"""Tests of kafkatx.client.producer.intake and topic_queues: a bad argument fails its own call only."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.hooks import ProducerCallbacks
from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.errors import ClientClosed, ProduceFailed, RequestTimedOut
from kafkatx.clientcore.producer.values import ProducerData
from kafkatx.errors import ErrorCode, RequestError, UnsupportedCompression
from kafkatx.partitioners import DefaultPartitioner
from kafkatx.records import builder
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.produce import ProduceRequest
from tests.client.fakes import NOTHING
from tests.client.producing import ProducerTestCase

WRONG: list[tuple[type[Exception], dict[str, Any]]] = [
    (TypeError, {"timestamp_ms": 1.7e12}),
    (TypeError, {"timestamp_ms": "5"}),
    (ValueError, {"timestamp_ms": 1 << 63}),
    (ValueError, {"timestamp_ms": -1}),
    (TypeError, {"value": "text"}),
    (TypeError, {"value": 5}),
    (TypeError, {"value": [b"v"]}),
    (TypeError, {"key": "text"}),
    (TypeError, {"headers": [("h", "text")]}),
    (TypeError, {"headers": [(b"h", b"v")]}),
    (TypeError, {"headers": [("h",)]}),
    (TypeError, {"headers": 7}),
    (UnicodeEncodeError, {"headers": [("\ud800", b"v")]}),
    (TypeError, {"partition": 0.0}),
    (TypeError, {"partition": "0"}),
    (TypeError, {"topic": b"one"}),
    (TypeError, {"topic": None}),
    (TypeError, {"topic": ["one"]}),
]
IN_LISTS = ("timestamp_ms", "key", "partition", "topic")


class ArgumentsTests(ProducerTestCase):
    """Wrong arguments fail their own call, and no other."""

    def test_wrong(self) -> None:
        """A wrong argument fails the call at once; records before and after it in the batch are sent."""
        producer = self.producer(linger_ms=1000)
        self.result(producer.send("one", b"first"), 2)
        for error, wrong in WRONG:
            good = [producer.send("one", b"good")]
            bad: dict[str, Any] = {"topic": "one", "value": b"v", **wrong}
            self.failureResultOf(producer.send(**bad), error)
            self.assertRaises(error, producer.produce, **bad)
            (name,) = wrong
            if name in IN_LISTS:
                bad["values"] = [bad.pop("value")]
                self.failureResultOf(producer.send_batch(**bad), error)
            good.append(producer.send("one", b"good"))
            for each in good:
                self.result(each, 2)
        self.assertEqual(self.log().values, [b"first"] + [b"good"] * 2 * len(WRONG))
        self.assertEqual(producer._accumulator.used_bytes, 0)

    def test_wrong_topic(self) -> None:
        """A topic that is no str is named, also one that is not hashable while batches are open."""
        producer = self.producer(linger_ms=1000)
        self.result(producer.send("one", b"first"), 2)
        for topic, kind in ((b"one", "bytes"), (["one"], "list")):
            bad: Any = topic
            error = self.failureResultOf(producer.send(bad, b"v"), TypeError).value
            self.assertEqual(str(error), f"topic must be a str, not {kind}")
            error = self.assertRaises(TypeError, producer.produce, bad, b"v")
            self.assertEqual(str(error), f"topic must be a str, not {kind}")

    def test_wrong_before_the_topic_is_known(self) -> None:
        """A wrong argument fails at once even if the topic is not known yet."""
        producer = self.producer()
        for error, wrong in WRONG:
            bad: dict[str, Any] = {"topic": "new", "value": b"v", **wrong}
            self.failureResultOf(producer.send(**bad), error)
        self.assertEqual(producer._accumulator.used_bytes, 0)

    def test_wrong_lists(self) -> None:
        """A list with one wrong value is not sent at all, and calls never raise."""
        producer = self.producer()
        for values in ([b"1", "2"], [b"1", None], 5, None, iter([b"1"])):
            bad: Any = values
            for key in (None, b"k"):
                self.failureResultOf(producer.send_batch("one", bad, key), TypeError)
        self.result(producer.flush())
        self.assertEqual(self.log().values, [])

    def test_buffers(self) -> None:
        """Buffers are sent with their contents at the time of the call."""
        producer = self.producer(linger_ms=1000)
        value, key, header = bytearray(b"v"), bytearray(b"k"), bytearray(b"h")
        headers: Any = [("h", header)]
        waiting = producer.send("one", value, key, headers=headers)
        listed = producer.send_batch("one", [value, memoryview(b"w")])
        for buffer in (value, key, header):
            buffer[:] = b"changed"
        self.result(waiting, 2)
        self.result(listed, 2)
        self.assertEqual(
            [(r.key, r.value) for r in self.records()], [(b"k", b"v"), (None, b"v"), (None, b"w")]
        )
        self.assertEqual(self.records()[0].headers, [("h", b"h")])

    def test_extreme_times(self) -> None:
        """The first and the last timestamp that the format has are sent, in one batch."""
        producer = self.producer(linger_ms=1000)
        times = [0, (1 << 63) - 1, 5]
        for each in [producer.send("one", b"v", timestamp_ms=time_ms) for time_ms in times]:
            self.result(each, 2)
        self.assertEqual([record.timestamp for record in self.records()], times)


class Failing(DefaultPartitioner):
    """A partitioner whose hook fails."""

    def batch_sent(self, topic: str) -> None:
        """Fail."""
        raise KeyError("a bug in batch_sent")


class PartsTests(ProducerTestCase):
    """Errors in plugins do not affect records in flight."""

    def test_partitioner_hook(self) -> None:
        """An exception of batch_sent is logged, and all records are sent."""
        producer = self.producer(partitioner_class=Failing(), batch_size=200)
        waiting = [producer.send("one", b"x" * 50) for _ in range(9)]
        self.result(producer.flush())
        for each in waiting:
            self.successResultOf(each)
        self.assertTrue(self.flushLoggedErrors(KeyError))

    def test_batch_that_cannot_be_encoded(self) -> None:
        """All calls of the batch fail with the reason; the next batch is sent."""

        def missing(codec: int, payload: bytes, level: int | None = None) -> bytes:
            raise UnsupportedCompression("the package is missing")

        producer = self.producer(compression_type="zstd")
        undo = self.patch_builder(missing)
        bad: list[Deferred[Any]] = [
            producer.send("one", b"1"),
            producer.send("one", b"2"),
            producer.send_batch("one", [b"3"]),
        ]
        producer.produce("one", b"4")
        flushed = producer.flush()
        for each in bad:
            self.assertIn("the package is missing", str(self.error(each)))
        self.assertIn("1 record", str(self.error(flushed)))
        undo()
        self.assertEqual(self.result(producer.send("one", b"5")).offset, 0)
        self.assertEqual(producer._accumulator.used_bytes, 0)
        self.assertTrue(self.flushLoggedErrors(UnsupportedCompression))

    def patch_builder(self, compress: Any) -> Any:
        """Compress batches by another function; return a function that undoes it."""
        patch = self.patch(builder, "compress", compress)
        return patch.restore

    def test_callbacks(self) -> None:
        """Hooks that raise at every station fail their own call, or none."""

        class Raising(ProducerCallbacks):
            def after_enqueue(self, record: Any, added: bool) -> None:
                raise KeyError("after_enqueue")

            def after_dequeue(self, batch: Any) -> None:
                raise KeyError("after_dequeue")

            def before_sending(self, node_id: int, batches: Any) -> None:
                raise KeyError("before_sending")

            def before_close(self) -> Any:
                yield ("one",)
                raise KeyError("before_close")

        producer = self.producer(callback_handler=Raising())
        waiting: list[Deferred[Any]] = [producer.send("one", b"1"), producer.send_batch("one", [b"2"])]
        for each in waiting:
            self.result(each)
        self.result(producer.close())
        self.assertTrue(self.flushLoggedErrors(KeyError, TypeError))

    def test_event_handler_answers_nonsense(self) -> None:
        """A handler that fires with another object than a response fails its own batch only."""

        nonsense: list[Any] = [7]

        class Nonsense:
            def handle(self, node_id: int, batches: Any, send: Any) -> Any:
                return nonsense.pop() if nonsense else send()

            def close(self) -> None:
                """Do nothing."""

        producer = self.producer(event_handler=Nonsense())
        self.assertIsInstance(self.error(producer.send("one", b"1")), ProduceFailed)
        self.assertEqual(self.result(producer.send("one", b"2")).offset, 0)
        self.assertTrue(self.flushLoggedErrors(AttributeError))

    def test_caller_that_fires_its_own(self) -> None:
        """A caller that fires its own Deferred does not keep the others' from firing."""
        producer = self.producer(linger_ms=1000)
        first, second = producer.send("one", b"1"), producer.send("one", b"2")
        mine: Any = "mine"
        first.callback(mine)
        self.result(second, 2)
        self.assertTrue(self.flushLoggedErrors())

    def test_turn_that_fails(self) -> None:
        """An error in the sender's run is logged, and it runs again."""
        producer = self.producer()
        ready = producer._accumulator.ready
        failing = [RuntimeError("a bug")] * 3

        def ready_or_not(*args: Any) -> Any:
            if failing:
                raise failing.pop()
            return ready(*args)

        self.patch(producer._accumulator, "ready", ready_or_not)
        self.result(producer.send("one", b"1"), 1)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 3)


class MemoryTests(ProducerTestCase):
    """Memory of pending calls, as a number of objects that the garbage collector tracks."""

    def objects(self, send: Callable[[], Any], count: int = 2000) -> float:
        """Return the number of objects that a call leaves behind."""
        for _ in range(10):
            send()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(count):
            send()
        return (len(gc.get_objects()) - before) / count

    def setUp(self) -> None:
        """Count what a Deferred takes: before Python 3.11 its attributes are an object of their own."""
        super().setUp()
        kept: list[Deferred[None]] = []
        self.of_deferred = self.objects(lambda: kept.append(Deferred()))

    def test_in_a_batch(self) -> None:
        """A record in an open batch takes its Deferred, and with produce() nothing."""
        producer = self.producer(buffer_memory=1 << 30)
        self.result(producer.send("one", b"0"))
        self.assertLess(self.objects(lambda: producer.send("one", b"v")), self.of_deferred + 0.5)
        self.assertLess(self.objects(lambda: producer.produce("one", b"v")), 0.5)
        self.result(producer.flush())

    def test_waiting(self) -> None:
        """A call that waits for memory, or for its topic, takes two more tuples."""
        producer = self.producer(buffer_memory=1000)
        self.result(producer.send("one", b"0"))
        self.faults.append(Deferred())
        producer.send_batch("one", [b"x" * 1000]).addErrback(lambda _: None)
        self.assertLess(self.objects(lambda: producer.send("one", b"v")), self.of_deferred + 3.5)
        self.flush_all(producer)
        other = self.producer(start=False)
        starting = other.start()
        self.assertLess(self.objects(lambda: other.send("new", b"v")), self.of_deferred + 3.5)
        self.result(starting)

    def test_failed(self) -> None:
        """Calls that fail together share their failure."""
        producer = self.producer(linger_ms=1000, batch_size=1 << 20)
        self.result(producer.send("one", b"0"), 2)
        self.faults.append(ErrorCode.INVALID_RECORD)
        first, second = producer.send("one", b"1"), producer.send("one", b"2")
        self.result(producer.flush())
        failures = [self.failureResultOf(each) for each in (first, second)]
        self.assertIs(failures[0], failures[1])

    def flush_all(self, producer: Producer) -> None:
        """Make the broker answer again, and flush."""
        self.faults.clear()
        self.network.live(1)[0].lose()
        self.result(producer.flush(), 5)


class UnlearnableTests(ProducerTestCase):
    """Topics whose metadata cannot be requested."""

    def test_names(self) -> None:
        """An invalid topic name fails at once, without a request."""
        producer = self.producer(metadata_max_age_ms=100)
        for name in ("\ud800", "", ".", "a b", "x" * 250, "tab\t"):
            failure = self.failureResultOf(producer.send(name, b"v"), RequestError)
            self.assertIs(failure.value.code, ErrorCode.INVALID_TOPIC_EXCEPTION)
            self.failureResultOf(producer.send_batch(name, [b"v"]), RequestError)
        self.network.run(1)
        asked = {
            topic.name for request in self.network.sent(MetadataRequest) for topic in request.topics or []
        }
        self.assertEqual(asked, set())
        self.result(producer.send("one", b"v"))

    def test_cluster_closed(self) -> None:
        """Every call fails on a shared cluster that was closed, whether the topic is known or not."""
        cluster = self.network.started()
        producer = Producer(linger_ms=0, cluster=cluster)
        self.result(producer.start())
        self.result(producer.send("one", b"v"))
        self.result(cluster.close())
        for topic in ("one", "t"):
            self.error(producer.send(topic, b"v"), 1)
            self.error(producer.send_batch(topic, [b"v"]), 1)
        producer.produce("one", b"v")
        self.assertRaises(ClientClosed, producer.produce, "t", b"v")
        self.error(producer.flush(), 1)
        self.result(producer.close())

    def test_cluster_closed_without_leader(self) -> None:
        """Calls fail at their deadline on a closed cluster without a leader, without a busy loop."""
        cluster = self.network.started()
        producer = Producer(linger_ms=0, delivery_timeout_ms=2000, request_timeout_ms=1000, cluster=cluster)
        self.result(producer.start())
        self.result(producer.send("t", b"v", partition=1))
        self.patch(cluster, "leader", lambda topic, partition: -1)
        self.result(cluster.close())
        self.assertIsInstance(self.error(producer.send("t", b"v", partition=1), 3), ProduceFailed)
        self.result(producer.close())

    def test_no_answer(self) -> None:
        """A call to a new topic fails within max.block.ms if brokers are silent."""
        producer = self.producer(max_block_ms=3000, request_timeout_ms=60_000, delivery_timeout_ms=70_000)
        self.network.answers[MetadataRequest] = lambda node, request, version: NOTHING
        waiting = producer.send("new", b"v")
        self.network.run(2.9)
        self.assertNoResult(waiting)
        self.error(waiting, 0.2)
        self.assertEqual(producer._accumulator.used_bytes, 0)

    def test_other_clients_patience(self) -> None:
        """Records expire after max.block.ms even if the shared cluster's lookups may take longer."""
        cluster = self.network.started("consumer", default_api_timeout_ms=60_000)
        producer = Producer(linger_ms=0, max_block_ms=2000, cluster=cluster)
        self.result(producer.start())
        self.network.answers[MetadataRequest] = lambda node, request, version: NOTHING
        first = producer.send("new", b"v")
        self.network.run(1)
        second = producer.send("new", b"w")
        self.assertIsInstance(self.error(first, 1.1), RequestTimedOut)
        self.assertNoResult(second)
        self.assertIn("'new' are not known after 2 s", str(self.error(second, 1.1)))
        self.result(producer.close())
        self.result(cluster.close())

    def test_room_and_topic_together(self) -> None:
        """Waiting for memory and then for the topic takes max.block.ms in all."""
        producer = self.producer(buffer_memory=100, max_block_ms=3000, request_timeout_ms=60_000,
            delivery_timeout_ms=70_000)  # fmt: skip
        self.result(producer.send("one", b"0"))
        self.network.answers[MetadataRequest] = lambda node, request, version: NOTHING
        reply: Deferred[None] = Deferred()
        self.faults.append(reply)
        producer.send("one", b"x" * 100)
        self.network.pump()
        waiting = producer.send("new", b"v")
        self.network.run(2)
        reply.callback(None)
        self.network.run(0.9)
        self.assertNoResult(waiting)
        self.assertIsInstance(self.error(waiting, 0.2), RequestTimedOut)

    def test_flush_and_close_say_so(self) -> None:
        """Flush and close do not report success over records that were lost with their topic."""
        self.metadata.auto_create = False
        producer = self.producer()
        producer.produce("no", b"v")
        self.assertIn("there is no topic 'no'", str(self.error(producer.flush(), 30)))
        self.result(producer.flush())
        producer.produce("no", b"v")
        self.assertIn("1 record sent with produce()", str(self.error(producer.close(), 30)))
        self.assertEqual(self.network.sent(ProduceRequest), [])


class WrongTypeTests(ProducerTestCase):
    """Values and keys that are not bytes, without a serializer and with one."""

    def messages(self, producer: Producer, wrong: Any) -> set[str]:
        """The messages of all calls with a wrong value, and of all with a wrong key."""
        errors = [
            self.error(producer.send("t", wrong)),
            self.error(producer.send_batch("t", [b"good", wrong])),
            self.error(producer.send_all([ProducerData("t", [wrong])])),
            self.assertRaises(TypeError, producer.produce, "t", wrong),
            self.error(producer.send("t", b"v", key=wrong)),
            self.error(producer.send_batch("t", [b"v"], key=wrong)),
            self.error(producer.send_all([ProducerData("t", [b"v"], wrong)])),
            self.assertRaises(TypeError, producer.produce, "t", b"v", wrong),
        ]
        self.assertEqual({type(error) for error in errors}, {TypeError})
        return {str(error) for error in errors}

    def test_str(self) -> None:
        """A str fails with one sentence that names the cure, whatever the partitioner and the batches."""
        for settings in ({}, {"producer_type": "sync"}, {"partitioner_class": "hash"}, {"linger_ms": 1000}):
            producer = self.producer(**settings)
            for _ in range(2):  # before and after the topic's metadata is known, and a batch is open
                self.assertEqual(
                    self.messages(producer, "text"),
                    {
                        f"a record's {what} must be bytes, not str:"
                        f" encode it, or set {what}.serializer=string"
                        for what in ("value", "key")
                    },
                )
                self.result(producer.send("t", b"v"), 2)

    def test_int(self) -> None:
        """An int fails likewise."""
        self.assertEqual(
            self.messages(self.producer(), 7),
            {
                f"a record's {what} must be bytes, not int: encode it, or set {what}.serializer"
                for what in ("value", "key")
            },
        )

    def test_buffers(self) -> None:
        """A bytearray or memoryview is sent as bytes."""
        producer = self.producer()
        for value in (bytearray(b"v"), memoryview(b"v")):
            self.result(producer.send("t", value, key=value), 2)
            self.result(producer.send_batch("t", [value], key=value), 2)

    def test_single_value_as_list(self) -> None:
        """send_batch refuses a single value in place of a list, also with a serializer that takes it."""
        for producer in (self.producer(), self.producer(value_serializer="string")):
            message = str(self.error(producer.send_batch("t", "text")))
            self.assertEqual(message, "values must be a list of values, not a single str")

    def test_serializer(self) -> None:
        """With value.serializer=string a str is sent, and bytes are refused."""
        producer = self.producer(value_serializer="string", key_serializer="string")
        self.result(producer.send("t", "v", key="k"), 2)
        self.assertIsInstance(self.error(producer.send("t", b"v")), TypeError)

    def test_header(self) -> None:
        """A header's str value is refused with its name."""
        text: Any = "text"
        error = self.error(self.producer().send("t", b"v", headers=[("h", text)]))
        self.assertEqual(str(error), "the value of header 'h' must be bytes or None, not str: encode it")
