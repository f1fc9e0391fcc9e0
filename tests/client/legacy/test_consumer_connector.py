"""Tests of kafkatx.client.legacy.consumer_connector, message_streams, dealing and balancing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from zope.interface import implementer
from zope.interface.verify import verifyObject

from kafkatx.client.legacy.consumer_connector import ConsumerConnector
from kafkatx.client.legacy.group_balancer import GroupBalancer
from kafkatx.client.legacy.message_streams import MessageStream
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.legacy.topic_filter import Blacklist, Whitelist
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.interfaces import IBalancer
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.join_group import JoinGroupRequest
from tests.client.consumers import HOST, T0, T1, ConsumerTestCase


class Reader:
    """A coroutine that iterates over a stream, and finishes a record when the test says so.

    :ivar seen: the values so far.
    """

    def __init__(self, stream: MessageStream, slow: bool = False) -> None:
        self.seen: list[Any] = []
        self.places: list[TopicPartition] = []
        self.working: Deferred[None] | None = None
        self._slow = slow
        self.ended = Deferred.fromCoroutine(self._run(stream))

    async def _run(self, stream: MessageStream) -> None:
        async for record in stream:
            self.seen.append(record.value)
            self.places.append(record.topic_partition)
            if self._slow:
                self.working = Deferred()
                await self.working

    def done(self) -> None:
        """Finish its present record."""
        working, self.working = self.working, None
        assert working is not None
        working.callback(None)


class ConnectorTestCase(ConsumerTestCase):
    """Test case whose ``connector()`` returns a started one."""

    def connector(self, **settings: Any) -> ConsumerConnector:
        """Return a connector of group g, which is shut down when the test is over."""
        values = {
            "bootstrap_servers": f"{HOST}:9092",
            "kafkatx_endpoint": self.network.endpoint,
            "auto_offset_reset": "earliest",
            "group_id": "g",
            **settings,
        }
        connector = ConsumerConnector(values, reactor=self.clock)
        self.addCleanup(lambda: self.wait(connector.shutdown(), 60))
        self.wait(connector.start())
        return connector

    def committed(self, *places: TopicPartition) -> list[int | None]:
        """Return the group's committed offsets."""
        consumer = self.unstarted(group_id="g", enable_auto_commit=False)
        self.wait(consumer.start())
        found = self.wait(consumer.committed(*places))
        self.wait(consumer.close())
        return [found[place].offset if found[place] else None for place in places]


class StreamsTests(ConnectorTestCase):
    def test_topics(self) -> None:
        """The streams of a topic share its partitions, and get all records of these in order."""
        self.make_topic("t", 2)
        self.make_topic("u", 1)
        self.fill(b"t0a", b"t0b")
        self.fill(b"t1a", partition=1)
        self.fill(b"u0a", topic="u")
        streams = self.connector().create_message_streams({"t": 2, "u": 1})
        self.assertEqual({topic: len(found) for topic, found in streams.items()}, {"t": 2, "u": 1})
        readers = [Reader(stream) for stream in (*streams["t"], *streams["u"])]
        self.network.run(2)
        self.assertEqual([reader.seen for reader in readers], [[b"t0a", b"t0b"], [b"t1a"], [b"u0a"]])
        self.fill(b"t1b", partition=1)
        self.network.run(1)
        self.assertEqual(readers[1].seen, [b"t1a", b"t1b"])

    def test_filter(self) -> None:
        """The streams of a filter share the partitions of its topics, including new topics within seconds."""
        for topic in ("t1", "t2", "x"):
            self.make_topic(topic, 1)
            self.fill(topic.encode(), topic=topic)
        connector = self.connector()
        readers = [Reader(one) for one in connector.create_message_streams_by_filter(Whitelist("t."), 2)]
        self.network.run(2)
        self.assertEqual([reader.seen for reader in readers], [[b"t1"], [b"t2"]])
        self.make_topic("t0", 1)
        self.fill(b"t0", topic="t0")
        self.network.run(6)
        self.assertEqual(sorted(value for reader in readers for value in reader.seen), [b"t0", b"t1", b"t2"])

    def test_blacklist(self) -> None:
        """A blacklist consumes all other topics except internal ones."""
        for topic in ("t", "x"):
            self.make_topic(topic, 1)
            self.fill(topic.encode(), topic=topic)
        (stream,) = self.connector().create_message_streams_by_filter(Blacklist("x"))
        reader = Reader(stream)
        self.network.run(6)
        self.assertEqual(reader.seen, [b"t"])

    def test_more_streams(self) -> None:
        """A stream without a partition waits."""
        self.make_topic("t", 1)
        self.fill(b"a")
        streams = self.connector().create_message_streams({"t": 3})["t"]
        readers = [Reader(stream) for stream in streams]
        self.network.run(2)
        self.assertEqual([reader.seen for reader in readers], [[b"a"], [], []])
        self.assertNoResult(readers[2].ended)

    def test_slow(self) -> None:
        """A slow stream does not delay others; a partition's next record waits for the one before."""
        self.make_topic("t", 2)
        self.fill(b"a", b"b")
        self.fill(b"c", b"d", partition=1)
        first, second = self.connector().create_message_streams({"t": 2})["t"]
        slow, quick = Reader(first, slow=True), Reader(second)
        self.network.run(2)
        self.assertEqual((slow.seen, quick.seen), ([b"a"], [b"c", b"d"]))
        slow.done()
        self.network.run(1)
        self.assertEqual(slow.seen, [b"a", b"b"])

    def test_once(self) -> None:
        """Streams can be made only once; a failed attempt does not count."""
        self.make_topic("t", 1)
        connector = self.connector()
        self.assertRaises(KafkaTXError, connector.create_message_streams, {"t": 0})
        self.assertRaises(KafkaTXError, connector.create_message_streams, {})
        connector.create_message_streams({"t": 1})
        self.assertRaises(KafkaTXError, connector.create_message_streams, {"t": 1})
        self.assertRaises(KafkaTXError, connector.create_message_streams_by_filter, Whitelist("t"))

    def test_no_group(self) -> None:
        """A connector without a group is refused."""
        error = self.assertRaises(
            KafkaTXError, self.connector(group_id=None).create_message_streams, {"t": 1}
        )
        self.assertIn("group.id", str(error))

    def test_one_reader(self) -> None:
        """Two readers of one stream are refused."""
        self.make_topic("t", 1)
        (stream,) = self.connector().create_message_streams({"t": 1})["t"]
        first, second = Reader(stream), Reader(stream)
        self.network.run(1)
        self.assertNoResult(first.ended)
        self.failureResultOf(second.ended, KafkaTXError)

    def test_left_loop(self) -> None:
        """A loop that was left in the middle continues at the next record when it is entered again."""
        self.make_topic("t", 1)
        self.fill(b"a", b"b", b"c")
        (stream,) = self.connector().create_message_streams({"t": 1})["t"]

        async def first() -> Any:
            values = []
            async for record in stream:
                values.append(record.value)
                break
            return values

        self.assertEqual(self.wait(Deferred.fromCoroutine(first()), 2), [b"a"])
        reader = Reader(stream)
        self.network.run(1)
        self.assertEqual(reader.seen, [b"b", b"c"])

    def test_error(self) -> None:
        """An error of the consumer is raised by each stream, after the records before it."""
        self.make_topic("t", 2)
        self.fill(b"1", b"x")
        connector = self.connector(value_deserializer=lambda data: int(data))
        readers = [Reader(stream) for stream in connector.create_message_streams({"t": 2})["t"]]
        self.network.run(2)
        self.assertEqual(readers[0].seen, [1])
        for reader in readers:
            self.failureResultOf(reader.ended, KafkaTXError)


class BalanceTests(ConnectorTestCase):
    def test_two_connectors(self) -> None:
        """Connectors of a group share partitions, and one takes over when the other is shut down."""
        self.make_topic("t", 2)
        self.fill(b"a")
        self.fill(b"b", partition=1)
        first, second = self.connector(), self.connector()
        one = Reader(first.create_message_streams({"t": 1})["t"][0])
        two = Reader(second.create_message_streams({"t": 1})["t"][0])
        self.network.run(8)
        self.fill(b"c")
        self.fill(b"d", partition=1)
        self.network.run(2)
        self.assertEqual(sorted(one.seen + two.seen), [b"a", b"b", b"c", b"d"])
        self.assertTrue(one.seen and two.seen)
        self.wait(first.shutdown(), 5)
        self.fill(b"e")
        self.fill(b"f", partition=1)
        self.network.run(8)
        self.assertEqual(sorted(one.seen + two.seen), [b"a", b"b", b"c", b"d", b"e", b"f"])

    def test_unread(self) -> None:
        """A stream without a reader does not keep its partitions from being revoked."""
        self.make_topic("t", 2)
        self.fill(b"a")
        self.fill(b"b", partition=1)
        first, second = self.connector(), self.connector()
        first.create_message_streams({"t": 1})
        self.network.run(3)
        two = Reader(second.create_message_streams({"t": 1})["t"][0])
        self.network.run(8)
        self.assertEqual(len(two.seen), 1)

    def test_in_hand(self) -> None:
        """A record in work is finished and committed before its partition is revoked."""
        self.make_topic("t", 1)
        self.fill(b"a", b"b")
        first = self.connector(auto_commit_interval_ms=600_000, group_instance_id=None)
        one = Reader(first.create_message_streams({"t": 1})["t"][0], slow=True)
        self.network.run(3)
        self.assertEqual(one.seen, [b"a"])
        second = self.connector()
        two = Reader(second.create_message_streams({"t": 1})["t"][0])
        self.network.run(8)
        self.assertEqual(two.seen, [])
        one.done()
        self.network.run(8)
        self.assertEqual(sorted(one.seen + two.seen), [b"a", b"b"])

    def test_gets_on(self) -> None:
        """A stream that makes progress keeps its partitions, however long all its records take."""
        self.make_topic("t", 1)
        values = [b"%d" % number for number in range(8)]
        self.fill(*values)
        connector = self.connector(max_poll_interval_ms=2500)
        reader = Reader(connector.create_message_streams({"t": 1})["t"][0], slow=True)
        self.network.run(2)
        joins = len(self.network.sent(JoinGroupRequest))
        for _ in range(7):
            reader.done()
            self.network.run(1)
        self.assertEqual(reader.seen, values)
        self.assertEqual(len(self.network.sent(JoinGroupRequest)), joins)

    def test_stuck(self) -> None:
        """A stream without progress for max.poll.interval.ms loses its partitions, and yields no records."""
        self.make_topic("t", 1)
        self.fill(b"a", b"b")
        first = self.connector(max_poll_interval_ms=2500)
        one = Reader(first.create_message_streams({"t": 1})["t"][0], slow=True)
        self.network.run(2)
        second = self.connector()
        two = Reader(second.create_message_streams({"t": 1})["t"][0])
        self.network.run(8)
        self.assertEqual((one.seen, two.seen), ([b"a"], [b"a", b"b"]))
        one.done()
        self.network.run(8)
        self.assertEqual(one.seen[1:] + two.seen[2:], [])


class CommitTests(ConnectorTestCase):
    def test_commit(self) -> None:
        """A commit covers the records that streams have finished, and not buffered ones."""
        self.make_topic("t", 2)
        self.fill(b"a", b"b", b"c")
        self.fill(b"x", partition=1)
        connector = self.connector(enable_auto_commit=False)
        streams = connector.create_message_streams({"t": 2})["t"]
        reader = Reader(streams[0], slow=True)
        self.network.run(2)
        reader.done()
        self.network.run(1)
        self.assertEqual(reader.seen, [b"a", b"b"])
        self.wait(connector.commit_offsets())
        self.assertEqual(self.committed(T0, T1), [2, 0])

    def test_automatic(self) -> None:
        """Automatic commits do not cover the record in work."""
        self.make_topic("t", 1)
        self.fill(b"a", b"b", b"c")
        connector = self.connector(auto_commit_interval_ms=1000)
        reader = Reader(connector.create_message_streams({"t": 1})["t"][0], slow=True)
        self.network.run(2)
        reader.done()
        self.network.run(3)
        self.assertEqual(self.committed(T0), [1])

    def test_shutdown(self) -> None:
        """A shutdown ends the streams, and commits their finished records."""
        self.make_topic("t", 2)
        self.fill(b"a", b"b")
        self.fill(b"x", b"y", partition=1)
        connector = self.connector(auto_commit_interval_ms=600_000)
        first, second = connector.create_message_streams({"t": 2})["t"]
        slow, waits = Reader(first, slow=True), Reader(second)
        self.network.run(2)
        self.assertEqual((slow.seen, waits.seen), ([b"a"], [b"x", b"y"]))
        self.wait(connector.shutdown(), 5)
        self.successResultOf(waits.ended)
        slow.done()
        self.network.run(1)
        self.successResultOf(slow.ended)
        self.assertEqual(slow.seen, [b"a"])
        self.assertEqual(self.committed(T0, T1), [1, 2])

    def test_shutdown_by_reader(self) -> None:
        """A reader of a stream may shut the connector down while it has a record."""
        self.make_topic("t", 1)
        self.fill(b"a", b"b")
        connector = self.connector(auto_commit_interval_ms=600_000)
        stream = connector.create_message_streams({"t": 1})["t"][0]

        async def first() -> Any:
            async for record in stream:
                await connector.shutdown()
                return record.value
            return None

        self.assertEqual(self.wait(Deferred.fromCoroutine(first()), 2), b"a")

    def test_no_automatic(self) -> None:
        """A shutdown without automatic commits commits nothing."""
        self.make_topic("t", 1)
        self.fill(b"a")
        connector = self.connector(enable_auto_commit=False)
        Reader(connector.create_message_streams({"t": 1})["t"][0])
        self.network.run(2)
        self.wait(connector.shutdown(), 5)
        self.assertEqual(self.committed(T0), [None])

    def test_shutdown_without_broker(self) -> None:
        """A shutdown whose commit is not answered ends within its timeout."""
        self.make_topic("t", 1)
        self.fill(b"a")
        connector = self.connector(auto_commit_interval_ms=600_000)
        reader = Reader(connector.create_message_streams({"t": 1})["t"][0])
        self.network.run(2)
        self.network.kill(0)
        waiting = connector.shutdown(timeout_s=5)
        self.network.run(4)
        self.successResultOf(reader.ended)
        self.assertNoResult(waiting)
        self.wait(waiting, 2)

    def test_after_shutdown(self) -> None:
        """A connector can be shut down twice, and not used afterwards."""
        self.make_topic("t", 1)
        connector = self.connector()
        both = connector.shutdown(), connector.shutdown()
        for waiting in both:
            self.wait(waiting, 5)
        self.wait(connector.shutdown())
        self.assertRaises(ClientClosed, connector.create_message_streams, {"t": 1})
        with self.assertRaises(ClientClosed):
            self.wait(connector.commit_offsets())


@implementer(IBalancer)
class FixedBalancer:
    """Assigns what the test says and keeps offsets itself, as a balancer over ZooKeeper would."""

    def __init__(self, *places: TopicPartition) -> None:
        self.places = places
        self.offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        self.calls: list[str] = []
        self.error: Exception | None = None

    def join(self, consumer: Any, subscription: Any, listener: Any) -> Deferred[None]:
        """Record the arguments."""
        self.consumer, self.subscription, self.listener = consumer, subscription, listener
        if self.error is not None:
            return fail(self.error)
        self.give(*self.places)
        return succeed(None)

    def give(self, *places: TopicPartition) -> None:
        """Assign these partitions, each at the offset that was kept."""
        self.consumer.assign(places)
        for place in places:
            self.consumer.seek(place, self.offsets[place].offset if place in self.offsets else 0)
        self.listener.on_partitions_assigned(set(places))

    def commit(self, offsets: Mapping[Any, Any]) -> Deferred[None]:
        """Keep the offsets."""
        self.offsets.update(offsets)
        return succeed(None)

    def leave(self) -> Deferred[None]:
        """Record the call, and the offsets before it."""
        self.calls.append(f"left with {len(self.offsets)}")
        return succeed(None)


class BalancerTests(ConnectorTestCase):
    def test_interface(self) -> None:
        """The built-in balancer provides IBalancer, and is found by its name."""
        self.assertTrue(verifyObject(IBalancer, GroupBalancer()))
        self.assertTrue(verifyObject(IBalancer, FixedBalancer()))
        self.assertRaises(SettingError, self.connector, kafkatx_balancer="nope")

    def test_another(self) -> None:
        """Another balancer assigns and keeps offsets; it gets the subscription, and leaves at the end."""
        self.make_topic("t", 2)
        self.fill(b"a", b"b")
        self.fill(b"c", partition=1)
        balancer = FixedBalancer(T0)
        balancer.offsets[T0] = OffsetAndMetadata(1)
        connector = self.connector(kafkatx_balancer=balancer)
        readers = [Reader(stream) for stream in connector.create_message_streams({"t": 2})["t"]]
        self.assertEqual(balancer.subscription.topics, {"t": 2})
        self.network.run(2)
        self.assertEqual([reader.seen for reader in readers], [[b"b"], []])
        balancer.give(T0, T1)
        self.network.run(2)
        self.assertEqual([reader.seen[-1] for reader in readers], [b"b", b"c"])
        self.wait(connector.shutdown(), 5)
        self.assertEqual(balancer.offsets[T0].offset, 2)
        self.assertEqual(balancer.calls, ["left with 2"])
        self.assertEqual(self.committed(T0), [None])

    def test_fails(self) -> None:
        """An error of the balancer is raised by the streams."""
        balancer = FixedBalancer()
        balancer.error = KafkaTXError("no ZooKeeper answers")
        connector = self.connector(kafkatx_balancer=balancer)
        reader = Reader(connector.create_message_streams({"t": 1})["t"][0])
        failure = self.failureResultOf(reader.ended, KafkaTXError)
        self.assertEqual(str(failure.value), "no ZooKeeper answers")

    def test_stranger(self) -> None:
        """An assigned partition that no stream consumes is an error."""
        self.make_topic("t", 1)
        self.fill(b"a")
        connector = self.connector(kafkatx_balancer=FixedBalancer(T0))
        reader = Reader(connector.create_message_streams({"u": 1})["u"][0])
        self.network.run(1)
        self.assertIn("t-0", str(self.failureResultOf(reader.ended, KafkaTXError).value))
