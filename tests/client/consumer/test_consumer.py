"""Tests of kafkatx.client.consumer.consumer, against a broker in memory."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.clientcore.errors import (
    ClientClosed,
    CommitFailed,
    CorruptBatch,
    NoOffset,
    NotAssigned,
    NotStarted,
    OffsetOutOfRange,
    UnknownTopic,
)
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.list_offsets import OffsetAndTimestamp
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError, SettingError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.fetch import FetchRequest
from tests.broker.running import NOW_MS
from tests.client.consumers import T0, T1, ConsumerTestCase


class AssignTests(ConsumerTestCase):
    def setUp(self) -> None:
        """Make a topic of two partitions with three records each."""
        super().setUp()
        self.make_topic("t", 2)
        self.fill(b"a", b"b", b"c")
        self.fill(b"x", b"y", b"z", partition=1)

    def test_reads_what_is_assigned(self) -> None:
        """Records of the assigned partitions come in order, with their partitions and offsets."""
        consumer = self.consumer(T0, T1)
        self.assertEqual(consumer.assignment(), {T0, T1})
        found = self.wait(consumer.getmany(timeout_ms=1000))
        places = {place: [(r.offset, r.value) for r in records] for place, records in found.items()}
        self.assertEqual(
            places, {T0: [(0, b"a"), (1, b"b"), (2, b"c")], T1: [(0, b"x"), (1, b"y"), (2, b"z")]}
        )
        self.assertEqual(consumer.highwater(T0), 3)

    def test_not_started(self) -> None:
        """Calls that need records, a position or a broker fail at once before start(), and say what to do."""

        async def first(records: Consumer) -> Any:
            return await anext(aiter(records))

        consumer = Consumer(cluster=self.network.started("consumer"))
        consumer.assign([T0])
        for asked in (
            consumer.getmany(),
            consumer.getone(),
            consumer.next_delivery(),
            consumer.process(print),
            consumer.position(T0),
            consumer.commit(),
            consumer.commit({T0: 1}),
            Deferred.fromCoroutine(first(consumer)),
        ):
            self.assertIn("the consumer is not started", str(self.failureResultOf(asked, NotStarted).value))
        self.wait(consumer.close())
        self.failureResultOf(consumer.getmany(), ClientClosed)
        self.wait(consumer.cluster.close())

    def test_max_poll_records(self) -> None:
        """getmany returns at most max.poll.records, or its own limit, and loses nothing between calls."""
        consumer = self.consumer(T0, max_poll_records=2)
        self.assertEqual(self.values(consumer), [b"a", b"b"])
        self.assertEqual(self.values(consumer, 1), [b"c"])

    def test_waits(self) -> None:
        """getmany waits up to its timeout, and returns records as soon as there are any."""
        consumer = self.consumer(T0)
        self.values(consumer)
        self.assertEqual(self.wait(consumer.getmany()), {})
        waiting = consumer.getmany(timeout_ms=2000)
        self.network.run(1)
        self.assertNoResult(waiting)
        self.fill(b"d")
        self.broker.replicas.wake_waiting()
        self.assertEqual([r.value for r in self.wait(waiting)[T0]], [b"d"])
        waiting = consumer.getmany(timeout_ms=2000)
        self.network.run(1.9)
        self.assertNoResult(waiting)
        self.assertEqual(self.wait(waiting), {})

    def test_getone(self) -> None:
        """getone returns one record, and waits for it without a limit."""
        consumer = self.consumer(T0)
        self.assertEqual([self.wait(consumer.getone()).offset for _ in range(3)], [0, 1, 2])
        waiting = consumer.getone()
        self.network.run(5)
        self.assertNoResult(waiting)
        self.fill(b"d")
        self.assertEqual(self.wait(waiting).value, b"d")

    def test_cancelled(self) -> None:
        """A cancelled getmany loses nothing, and does not block the next one."""
        consumer = self.consumer(T0)
        self.values(consumer)
        waiting = consumer.getmany(timeout_ms=5000)
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.fill(b"d")
        self.assertEqual(self.values(consumer), [b"d"])

    def test_one_reader(self) -> None:
        """Two calls at once are refused."""
        consumer = self.consumer(T0)
        self.values(consumer)
        waiting = consumer.getone()
        error = self.failureResultOf(consumer.getmany(), KafkaTXError)
        self.assertIn("one at a time", str(error.value))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)

    def test_async_for(self) -> None:
        """The loop gets each record, and ends when the consumer is closed; leaving it loses nothing."""
        consumer = self.consumer(T0)
        seen: list[bytes] = []

        async def loop(count: int) -> str:
            async for record in consumer:
                seen.append(record.value)
                if len(seen) == count:
                    return "left"
            return "ended"

        self.assertEqual(self.wait(Deferred.fromCoroutine(loop(2))), "left")
        self.assertEqual(self.wait(consumer.position(T0)), 2)
        looping = Deferred.fromCoroutine(loop(9))
        self.network.run(1)
        self.assertEqual(seen, [b"a", b"b", b"c"])
        self.assertNoResult(looping)
        self.wait(consumer.close())
        self.assertEqual(self.successResultOf(looping), "ended")

    def test_seek_in_a_loop(self) -> None:
        """A seek takes effect with the next record of the loop, though more are at hand."""
        consumer = self.consumer(T0)
        seen: list[int] = []

        async def loop() -> None:
            async for record in consumer:
                seen.append(record.offset)
                if seen == [0]:
                    consumer.seek(T0, 2)
                if len(seen) == 2:
                    return

        self.wait(Deferred.fromCoroutine(loop()))
        self.assertEqual(seen, [0, 2])

    def test_seeks(self) -> None:
        """Seeks move the position, and drop records that were read ahead."""
        consumer = self.consumer(T0, T1)
        consumer.seek(T0, 2)
        consumer.seek_to_end(T1)
        self.assertEqual(self.values(consumer), [b"c"])
        self.assertEqual(self.wait(consumer.position(T1)), 3)
        consumer.seek_to_beginning()
        self.assertEqual(self.wait(consumer.position(T0)), 0)
        self.assertEqual(len(self.values(consumer) + self.values(consumer, seconds=0.2)), 6)
        self.assertRaises(ValueError, consumer.seek, T0, -1)
        self.assertRaises(NotAssigned, consumer.seek, TopicPartition("u", 0), 1)

    def test_pause_and_resume(self) -> None:
        """A paused partition delivers nothing; records read ahead are delivered after resume()."""
        consumer = self.consumer(T0, T1)
        consumer.pause(T0)
        self.assertEqual(consumer.paused(), {T0})
        self.assertEqual(self.values(consumer), [b"x", b"y", b"z"])
        self.assertEqual(self.values(consumer), [])
        consumer.resume(T0)
        self.assertEqual(self.values(consumer), [b"a", b"b", b"c"])

    def test_pause_in_a_loop(self) -> None:
        """A pause takes effect with the next record of the loop."""
        consumer = self.consumer(T0, T1)
        seen: list[tuple[int, int]] = []

        async def loop() -> None:
            async for record in consumer:
                seen.append((record.partition, record.offset))
                if len(seen) == 1:
                    consumer.pause(record.topic_partition)

        looping = Deferred.fromCoroutine(loop())
        self.network.run(1)
        first = seen[0][0]
        self.assertEqual(sorted(seen), sorted([(first, 0), *((1 - first, n) for n in range(3))]))
        consumer.resume(*consumer.paused())
        self.network.run(1)
        self.assertEqual(seen[4:], [(first, 1), (first, 2)])
        looping.cancel()
        self.failureResultOf(looping, CancelledError)

    def test_assign_again(self) -> None:
        """A new assignment keeps the positions of partitions that stay."""
        consumer = self.consumer(T0)
        self.assertEqual(self.values(consumer, 1), [b"a"])
        consumer.assign([("t", 0), ("t", 1)])
        self.network.run(1)
        self.assertEqual(sorted(self.values(consumer)), [b"b", b"c", b"x", b"y", b"z"])
        consumer.assign([T1])
        self.fill(b"d")
        self.assertEqual(self.values(consumer), [])
        self.assertEqual(consumer.assignment(), {T1})

    def test_latest(self) -> None:
        """A partition begins at its end with auto.offset.reset=latest, the default."""
        consumer = self.consumer(T0, auto_offset_reset=None)
        self.assertEqual(self.wait(consumer.position(T0)), 3)
        self.fill(b"d")
        self.assertEqual(self.values(consumer), [b"d"])

    def test_none(self) -> None:
        """A partition without an offset is an error until a seek with auto.offset.reset=none."""
        consumer = self.consumer(T0, auto_offset_reset="none")
        for _ in range(2):
            self.assertRaises(NoOffset, self.values, consumer)
        self.assertRaises(NoOffset, self.wait, consumer.position(T0))
        consumer.seek(T0, 1)
        self.assertEqual(self.values(consumer), [b"b", b"c"])

    def test_out_of_range(self) -> None:
        """An offset that the log does not have is reset as settings say, or is an error until a seek."""
        consumer = self.consumer(T0)
        consumer.seek(T0, 99)
        self.assertEqual(self.values(consumer), [b"a", b"b", b"c"])
        consumer = self.consumer(T0, auto_offset_reset="none")
        consumer.seek(T0, 99)
        error = self.assertRaises(OffsetOutOfRange, self.values, consumer)
        self.assertEqual((error.offset, error.earliest, error.latest), (99, 0, 3))
        consumer.seek(T0, 2)
        self.assertEqual(self.values(consumer), [b"c"])

    def test_offsets(self) -> None:
        """The ends of logs, and offsets by time, are found."""
        consumer = self.consumer(T0)
        self.assertEqual(self.wait(consumer.beginning_offsets(T0, T1)), {T0: 0, T1: 0})
        self.assertEqual(self.wait(consumer.end_offsets(T0, T1)), {T0: 3, T1: 3})
        found = self.wait(consumer.offsets_for_times({T0: NOW_MS, T1: NOW_MS + 1}))
        self.assertEqual(found, {T0: OffsetAndTimestamp(0, NOW_MS, found[T0].leader_epoch), T1: None})
        waiting = consumer.end_offsets(TopicPartition("nothing", 0))
        self.assertRaises(UnknownTopic, self.wait, waiting, 70)

    def test_decoders(self) -> None:
        """key.deserializer and value.deserializer name decoders, or are functions."""
        consumer = self.consumer(T0, value_deserializer="string")
        self.assertEqual(self.values(consumer), ["a", "b", "c"])
        consumer = self.consumer(T0, value_deserializer=lambda data: data * 2)
        self.assertEqual(self.values(consumer), [b"aa", b"bb", b"cc"])

    def test_without_a_group(self) -> None:
        """Calls that need a group raise an error without one."""
        consumer = self.consumer(T0)
        for call in (consumer.commit(), consumer.committed(T0)):
            self.assertIn("group.id", str(self.failureResultOf(call, KafkaTXError).value))
        self.assertRaises(KafkaTXError, consumer.subscribe, ["t"])

    def test_closed(self) -> None:
        """Calls pending at the close, and later ones, get ClientClosed; closing twice is harmless."""
        calls = len(self.clock.getDelayedCalls())
        consumer = self.consumer(T0)
        self.values(consumer)
        waiting = consumer.getone()
        self.wait(consumer.close())
        self.failureResultOf(waiting, ClientClosed)
        for call in (consumer.getmany(), consumer.start(), consumer.position(T0), consumer.commit()):
            self.failureResultOf(call, ClientClosed)
        self.assertRaises(ClientClosed, consumer.assign, [T0])
        self.wait(consumer.close())
        self.network.run(1)  # the broker ends the fetch of the closed consumer
        self.assertEqual(len(self.clock.getDelayedCalls()), calls)

    def test_closed_before_it_started(self) -> None:
        """A consumer that never reached a broker can be closed, and so can one that is just starting."""
        never = self.unstarted(group_id="g")
        self.wait(never.close())
        self.failureResultOf(never.start(), ClientClosed)
        self.network.hanging.add(0)
        starting = self.unstarted()
        waiting = starting.start()
        self.wait(starting.close())
        self.failureResultOf(waiting, ClientClosed)

    def test_settings(self) -> None:
        """An unknown setting is an error at once."""
        self.assertRaises(SettingError, Consumer, bootstrap_servers="b", fetch_max_byte=3)

    def test_shared_cluster(self) -> None:
        """A cluster that was passed in stays open."""
        first = self.consumer(T0)
        second = Consumer(cluster=first.cluster, auto_offset_reset="earliest")
        self.wait(second.start())
        second.assign([T1])
        self.assertEqual(self.values(second), [b"x", b"y", b"z"])
        self.wait(second.close())
        self.assertEqual(self.values(first), [b"a", b"b", b"c"])


class FetchingTests(ConsumerTestCase):
    def test_one_fetch_under_way(self) -> None:
        """Each leader has one fetch in flight, for all its partitions, which waits at the broker."""
        self.make_topic("t", 3)
        consumer = self.consumer(T0, T1, TopicPartition("t", 2))
        self.network.run(0.4)
        self.assertEqual(len(self.network.sent(FetchRequest)), 1)
        self.assertEqual(len(self.network.sent(FetchRequest)[0].topics[0].partitions), 3)
        self.network.run(1)
        self.assertLess(len(self.network.sent(FetchRequest)), 5)
        self.assertEqual(self.values(consumer, seconds=0.01), [])

    def test_memory_is_bounded(self) -> None:
        """Buffered records stay below kafkatx.readahead.bytes, and all are read in the end."""
        self.make_topic("t", 4)
        value = b"v" * 1000
        for _ in range(25):
            for partition in range(4):
                self.fill(*[value] * 10, partition=partition)
        places = [TopicPartition("t", number) for number in range(4)]
        consumer = self.consumer(*places, kafkatx_readahead_bytes=256 << 10, max_poll_records=10)
        shelf = consumer._subscriptions.buffer
        most = seen = 0
        for _ in range(100):
            self.network.run(0.1)
            most = max(most, shelf.buffered_bytes)
            seen += len(self.values(consumer))
        self.assertEqual(seen, 1000)
        self.assertLessEqual(most, 256 << 10)
        self.assertGreater(most, 128 << 10)

    def test_slow_partition_leaves_others_room(self) -> None:
        """Buffered records of a partition that are not taken do not keep the others from being read."""
        self.make_topic("t", 2)
        for _ in range(40):
            self.fill(*[b"v" * 1000] * 10)
            self.fill(*[b"w" * 1000] * 10, partition=1)
        consumer = self.consumer(T0, T1, kafkatx_readahead_bytes=128 << 10)
        stuck: Deferred[None] = Deferred()
        seen = []

        def work(record: Any) -> Deferred[None] | None:
            seen.append(record.partition)
            return stuck if record.partition == 0 else None

        processing = consumer.process(work)
        self.network.run(2)
        self.assertEqual((seen.count(0), seen.count(1)), (1, 400))
        stuck.callback(None)
        self.network.run(2)
        self.assertEqual((seen.count(0), seen.count(1)), (400, 400))
        self.wait(consumer.close())
        self.successResultOf(processing)

    def test_fairness(self) -> None:
        """Each partition gets its turn, though a response has no room for all of them."""
        self.make_topic("t", 3)
        for partition in range(3):
            for _ in range(20):
                self.fill(*[b"v" * 1000] * 10, partition=partition)
        places = [TopicPartition("t", number) for number in range(3)]
        consumer = self.consumer(*places, fetch_max_bytes=11_000, max_poll_records=10)
        partitions = []
        for _ in range(30):
            for place, records in self.wait(consumer.getmany(timeout_ms=500)).items():
                partitions += [place.partition] * len(records)
        counts = [partitions[:300].count(number) for number in range(3)]
        self.assertEqual(counts, [100, 100, 100])

    def test_busy_partition_does_not_wait_for_an_idle_one(self) -> None:
        """A fetch of an idle partition does not delay the next fetch of a busy one."""
        self.make_topic("t", 2)
        for _ in range(30):
            self.fill(*[b"v" * 1000] * 10)
        consumer = self.consumer(T0, T1, max_partition_fetch_bytes=30_000, max_poll_records=10)
        started, seen = self.clock.seconds(), 0
        while seen < 300:
            seen += len(self.wait(consumer.getmany(timeout_ms=5000), 10).get(T0, []))
        self.assertLess(self.clock.seconds() - started, 0.5)

    def test_broker_comes_back(self) -> None:
        """Reading continues at its position after the broker was away."""
        self.make_topic("t", 1)
        self.fill(b"a")
        consumer = self.consumer(T0)
        self.assertEqual(self.values(consumer), [b"a"])
        self.network.kill(0)
        self.network.run(3)
        self.fill(b"b")
        self.network.down.clear()
        self.assertEqual(self.values(consumer, seconds=5), [b"b"])

    def test_topic_comes_later(self) -> None:
        """A partition that does not exist yet is read once it does."""
        consumer = self.consumer(T0)
        waiting = consumer.getone()
        self.network.run(3)
        self.assertNoResult(waiting)
        self.make_topic("t", 1)
        self.fill(b"a")
        self.assertEqual(self.wait(waiting, 10).value, b"a")

    def test_corrupt(self) -> None:
        """A record that cannot be decoded is an error in its place; a seek gets past it."""
        self.make_topic("t", 1)
        self.fill(b"1", b"x", b"3")
        consumer = self.consumer(T0, value_deserializer=lambda data: int(data))
        self.assertEqual(self.values(consumer), [1])
        self.assertRaises(KafkaTXError, self.values, consumer)
        consumer.seek(T0, 2)
        self.assertEqual(self.values(consumer), [3])

    def test_corrupt_batch(self) -> None:
        """A batch that cannot be read raises an error with its offset, so that a seek skips it."""
        (partition,) = self.make_topic("t", 1)
        for value in (b"a", b"b", b"c"):
            self.fill(value)
        log: Any = partition.log
        stored = log._storage._batches
        stored[1] = stored[1][:-2] + b"X" + stored[1][-1:]
        consumer = self.consumer(T0)
        self.assertEqual(self.values(consumer), [b"a"])
        for _ in range(2):
            error = self.assertRaises(CorruptBatch, self.values, consumer)
            place = error.topic, error.partition, error.offset, error.next_offset
            self.assertEqual(place, ("t", 0, 1, 2))
            self.assertIn("t [0] offset 1", str(error))
            self.assertIn("seek to 2", str(error))
        consumer.seek(T0, error.next_offset)
        self.assertEqual(self.values(consumer), [b"c"])

    def test_old_broker(self) -> None:
        """Every version of Fetch returns the records; the first one in growing pieces."""
        self.make_topic("t", 1)
        self.fill(b"v" * 4000, b"w")
        for version in (0, 1, 2, 3, 4, 7, 9, 11, 12, 13):
            self.network.newest[FetchRequest] = version
            consumer = self.consumer(T0, max_partition_fetch_bytes=1000)
            self.assertEqual(self.values(consumer, seconds=3)[0], b"v" * 4000, version)
            self.wait(consumer.close())


class GroupTests(ConsumerTestCase):
    def setUp(self) -> None:
        """Make a topic of two partitions with two records each."""
        super().setUp()
        self.make_topic("t", 2)
        for partition in range(2):
            self.fill(b"a%d" % partition, b"b%d" % partition, partition=partition)

    def test_commit(self) -> None:
        """commit() commits the delivered records; the next member continues after them."""
        first = self.member("t")
        self.assertEqual(len(self.values(first, 3)), 3)
        self.wait(first.commit())
        committed = self.wait(first.committed(T0, T1))
        self.assertEqual(sum(at.offset for at in committed.values() if at), 3)
        self.wait(first.close())
        second = self.member("t")
        self.assertEqual(len(self.values(second)), 1)
        self.wait(second.commit({T0: 1, T1: OffsetAndMetadata(0, "note")}))
        committed = self.wait(second.committed(T0, T1, TopicPartition("t", 7)))
        self.assertEqual((committed[T0].offset, committed[T1][:2]), (1, (0, "note")))
        self.assertIsNone(committed[TopicPartition("t", 7)])

    def test_assigned_by_hand_with_a_group(self) -> None:
        """A consumer that assigns partitions itself can use a group's offsets without being a member."""
        consumer = self.consumer(T0, group_id="h", enable_auto_commit=False)
        self.assertEqual(self.values(consumer, 1), [b"a0"])
        self.wait(consumer.commit())
        again = self.consumer(T0, group_id="h", enable_auto_commit=False)
        self.assertEqual(self.values(again), [b"b0"])
        self.assertRaises(KafkaTXError, again.subscribe, ["t"])

    def test_two_members(self) -> None:
        """Members share the partitions; when one leaves the other gets its part, behind what it committed."""
        first = self.member("t")
        second = self.member("t")
        self.network.run(5)
        self.assertEqual(len(first.assignment()), 1)
        self.assertEqual(first.assignment() | second.assignment(), {T0, T1})
        self.assertEqual(len(self.values(second, 1)), 1)
        self.wait(second.commit())
        self.wait(second.close(), 5)
        self.network.run(5)
        self.assertEqual(first.assignment(), {T0, T1})
        self.assertEqual(len(self.values(first) + self.values(first)), 3)

    def test_unsubscribe(self) -> None:
        """Partitions are removed after unsubscribe(); a new subscription or assignment is possible."""
        consumer = self.member("t")
        self.values(consumer)
        self.wait(consumer.unsubscribe())
        self.assertEqual(consumer.assignment(), set())
        consumer.assign([T0])
        self.assertEqual(self.values(consumer), [b"a0", b"b0"])
        self.wait(consumer.unsubscribe())
        consumer.subscribe(pattern="t.*")
        self.network.run(2)
        self.assertEqual(consumer.assignment(), {T0, T1})
        self.assertRaises(KafkaTXError, consumer.assign, [T0])

    def test_automatic_commits(self) -> None:
        """Processed records are committed once per interval, without those still being processed."""
        consumer = self.member("t", enable_auto_commit=True, auto_commit_interval_ms=1000)
        self.values(consumer, 1)
        self.network.run(1.1)
        self.assertEqual(self.committed(), 0)
        self.values(consumer, 1)
        self.network.run(1.1)
        self.assertEqual(self.committed(), 1)
        self.wait(consumer.close())
        self.assertEqual(self.committed(), 2)

    def test_automatic_commit_without_a_subscription(self) -> None:
        """Delivered records of partitions of assign() are committed at the close, too."""
        consumer = self.consumer(T0, T1, group_id="g")
        self.assertEqual(len(self.values(consumer, 3)), 3)
        self.wait(consumer.close())
        self.assertEqual(self.committed(), 3)

    def committed(self) -> int:
        """Return the group's committed offset."""
        offsets = self.broker.groups.offsets_of("g")
        found = [offsets.get("g", *place) for place in (T0, T1)]
        return sum(at.offset for at in found if at is not None)

    def test_commits_before_revocation(self) -> None:
        """Processed records are committed before a partition is revoked, so that none is delivered twice."""
        first = self.member("t", enable_auto_commit=True)
        seen = self.values(first)
        waiting = first.getone()
        second = self.member("t", enable_auto_commit=True)
        self.network.run(5)
        self.assertEqual(len(second.assignment()), 1)
        seen += self.values(second)
        self.assertEqual(len(seen), 4)
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)

    def test_revocation_waits_for_the_application(self) -> None:
        """The application can still commit records being processed while others wait for the partition."""
        first = self.member("t")
        self.assertEqual(len(self.values(first)), 4)
        second = self.member("t")
        self.network.run(10)
        self.assertEqual((len(first.assignment()), len(second.assignment())), (2, 0))
        self.wait(first.commit())
        waiting = first.getone()
        self.network.run(5)
        self.assertEqual((len(first.assignment()), len(second.assignment())), (1, 1))
        self.assertEqual(self.values(second), [])
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)

    def test_max_poll_interval(self) -> None:
        """An application that does not poll for too long loses its partitions until it polls again."""
        told: list[set[TopicPartition]] = []

        class Listener:
            def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
                told.append(partitions)

        first = self.member("t", listener=Listener(), max_poll_interval_ms=5000)
        self.values(first, 1)
        self.network.run(4.5)
        self.assertEqual(len(first.assignment()), 2)
        self.network.run(1)
        self.assertEqual((first.assignment(), told), (set(), [{T0, T1}]))
        waiting = first.getone()
        self.network.run(3)
        self.assertEqual(first.assignment(), {T0, T1})
        self.successResultOf(waiting)

    def test_commit_of_a_member_that_was_put_out(self) -> None:
        """A commit of all delivered records fails once for lost partitions; then the consumer may go on."""
        consumer = self.member("t", max_poll_interval_ms=5000)
        self.assertEqual(len(self.values(consumer)), 4)
        self.network.run(6)
        self.assertEqual(consumer.assignment(), set())
        error = self.failureResultOf(consumer.commit(), CommitFailed).value
        self.assertIn("t-0, t-1", str(error))
        self.assertIn("max.poll.interval.ms", str(error))
        self.assertEqual(len(self.wait(consumer.getmany(timeout_ms=5000), 10)), 2)
        self.wait(consumer.commit())
        committed = self.wait(consumer.committed(T0))[T0]
        assert committed is not None
        self.assertEqual(committed.offset, 2)

    def test_metadata_of_a_member_that_was_put_out(self) -> None:
        """Records of an earlier generation are not committed as the new one until more are asked for."""
        consumer = self.member("t", session_timeout_ms=6000)
        self.assertEqual(len(self.wait(consumer.getmany(timeout_ms=5000), 10)), 2)
        before = consumer.group_metadata()
        self.network.kill(0)
        self.network.run(10)
        self.network.down.clear()
        self.network.run(10)
        self.assertEqual(consumer.assignment(), {T0, T1})  # it has joined again meanwhile
        error = self.assertRaises(CommitFailed, consumer.group_metadata)
        self.assertIn("t-0, t-1", str(error))
        self.assertEqual(len(self.wait(consumer.getmany(timeout_ms=5000), 10)), 2)
        self.assertNotEqual(consumer.group_metadata(), before)

    def test_commit_without_records(self) -> None:
        """A commit with nothing delivered of lost partitions commits nothing."""
        consumer = self.member("t", max_poll_interval_ms=5000, auto_offset_reset="latest")
        self.assertEqual(self.values(consumer), [])
        self.wait(consumer.commit())

    def test_commit_when_closed(self) -> None:
        """A listener can commit what close() revokes; afterwards nothing can be committed."""

        class Listener:
            async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
                await consumer.commit(dict.fromkeys(partitions, 1))

        consumer = self.member("t", listener=Listener())
        self.wait(consumer.close())
        self.assertEqual(self.committed(), 2)
        self.failureResultOf(consumer.commit(), ClientClosed)

    def test_commit_of_all_when_closed(self) -> None:
        """A listener can commit all delivered records at the close, and sees their positions."""
        found = []

        class Listener:
            async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
                # The order of the two is undefined.
                found.append(await consumer.position(T0) + await consumer.position(T1))
                await consumer.commit()

        consumer = self.member("t", listener=Listener())
        self.values(consumer, 2)
        self.wait(consumer.close())
        self.assertEqual((found, self.committed()), ([2], 2))
        self.failureResultOf(consumer.position(T0), ClientClosed)

    def test_failed_membership(self) -> None:
        """A membership that has failed for good fails every read."""
        first = self.member("t", group_instance_id="i")
        self.member("t", group_instance_id="i")
        self.network.run(10)
        for _ in range(2):
            error = self.assertRaises(RequestError, self.wait, first.getmany())
            self.assertIs(error.code, ErrorCode.FENCED_INSTANCE_ID)
