"""Tests of kafkatx.client.consumer.processor, through consumers of a broker in memory."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import deferLater

from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.join_group import JoinGroupRequest
from tests.broker.coordinated import offsets_of
from tests.client.consumers import T0, T1, ConsumerTestCase


class ProcessTests(ConsumerTestCase):
    def setUp(self) -> None:
        """Make a topic of two partitions with three records each."""
        super().setUp()
        self.make_topic("t", 2)
        for partition in range(2):
            self.fill(*(b"%d-%d" % (partition, number) for number in range(3)), partition=partition)
        self.seen: list[Any] = []
        self.open: list[Deferred[None]] = []

    def later(self, record: Any) -> Deferred[None]:
        """Return a Deferred that the test fires."""
        self.seen.append(record.value)
        self.open.append(Deferred())
        return self.open[-1]

    def test_all_records(self) -> None:
        """The function gets each record in its partition's order; close() ends it."""
        consumer = self.consumer(T0, T1)
        processing = consumer.process(lambda record: self.seen.append(record.value))
        self.network.run(1)
        self.assertEqual(sorted(self.seen), [b"%d-%d" % (p, n) for p in range(2) for n in range(3)])
        self.fill(b"0-3")
        self.network.run(1)
        self.assertEqual(self.seen[-1], b"0-3")
        self.assertNoResult(processing)
        self.wait(consumer.close())
        self.assertIsNone(self.successResultOf(processing))

    def test_order_and_concurrency(self) -> None:
        """A partition's next record waits for the one before; other partitions do not wait."""
        self.consumer(T0, T1).process(self.later)
        self.network.run(1)
        self.assertEqual(sorted(self.seen), [b"0-0", b"1-0"])
        first = self.seen.index(b"0-0")
        self.open[first].callback(None)
        self.network.run(1)
        self.assertEqual(self.seen[2:], [b"0-1"])
        self.open[2].callback(None)
        self.network.run(1)
        self.assertEqual(self.seen[3:], [b"0-2"])
        for waiting in self.open:
            if not waiting.called:
                waiting.callback(None)

    def test_coroutines(self) -> None:
        """A coroutine function is awaited."""

        async def work(record: Any) -> None:
            await deferLater(self.clock, 1)
            self.seen.append((self.clock.seconds(), record.offset))

        consumer = self.consumer(T0)
        consumer.process(work)
        self.network.run(4)
        self.assertEqual([offset for _, offset in self.seen], [0, 1, 2])
        self.assertGreaterEqual(self.seen[2][0] - self.seen[0][0], 2)

    def test_batches(self) -> None:
        """With batches the function gets lists of one partition."""
        consumer = self.consumer(T0, T1)
        consumer.process(lambda records: self.seen.append([r.value for r in records]), batches=True)
        self.network.run(1)
        self.assertEqual(sorted(self.seen), [[b"0-0", b"0-1", b"0-2"], [b"1-0", b"1-1", b"1-2"]])
        self.seen.clear()
        other = self.consumer(T0)
        other.process(lambda records: self.seen.append(len(records)), batches=True, max_records=2)
        self.network.run(1)
        self.assertEqual(self.seen, [2, 1])

    def test_failure(self) -> None:
        """An error of the function ends the processing; the record is next again, and not processed."""
        consumer = self.consumer(T0)

        def work(record: Any) -> None:
            self.seen.append(record.offset)
            if self.seen == [0, 1]:
                raise ValueError("no")

        processing = consumer.process(work)
        self.network.run(1)
        self.failureResultOf(processing, ValueError)
        self.assertEqual(self.seen, [0, 1])
        processing = consumer.process(work)
        self.network.run(1)
        self.assertEqual(self.seen, [0, 1, 1, 2])

    def test_failure_after_a_seek(self) -> None:
        """A partition continues where the function has sought before it failed."""
        consumer = self.consumer(T0)

        def work(record: Any) -> None:
            consumer.seek_to_end(T0)
            raise ValueError("no")

        processing = consumer.process(work)
        self.network.run(1)
        self.failureResultOf(processing, ValueError)
        self.assertEqual(self.wait(consumer.position(T0)), 3)

    def test_failure_waits_for_others(self) -> None:
        """The Deferred fires when no function is at work any more; nothing new is begun."""
        processing = self.consumer(T0, T1).process(self.later)
        self.network.run(1)
        self.open[0].errback(ValueError())
        self.network.run(1)
        self.assertNoResult(processing)
        self.open[1].callback(None)
        self.network.run(0.1)
        self.failureResultOf(processing, ValueError)
        self.assertEqual(len(self.seen), 2)

    def test_cancelled(self) -> None:
        """Cancelling ends the processing; another may begin."""
        consumer = self.consumer(T0)
        processing = consumer.process(lambda record: self.seen.append(record.offset))
        self.network.run(1)
        processing.cancel()
        self.failureResultOf(processing, CancelledError)
        self.fill(b"more")
        self.network.run(1)
        self.assertEqual(self.seen, [0, 1, 2])
        consumer.process(lambda record: self.seen.append(record.offset))
        self.network.run(1)
        self.assertEqual(self.seen, [0, 1, 2, 3])

    def test_cancelled_by_the_function(self) -> None:
        """The function may end the processing itself: the present record is done, the next is not begun."""
        consumer = self.consumer()

        def cancel(record: Any) -> None:
            self.seen.append(record.offset)
            if record.offset == 1:
                processing.cancel()

        processing = consumer.process(cancel)
        consumer.assign([T0])
        self.network.run(1)
        self.failureResultOf(processing, CancelledError)
        self.assertEqual(self.seen, [0, 1])
        consumer.process(lambda record: self.seen.append(record.offset))
        self.network.run(1)
        self.assertEqual(self.seen, [0, 1, 2])

    def test_cancelled_by_a_coroutine(self) -> None:
        """A coroutine may cancel before it waits; the Deferred waits for its end."""
        consumer = self.consumer()
        gate: Deferred[None] = Deferred()

        async def cancel(record: Any) -> None:
            self.seen.append(record.value)
            if record.offset == 1:
                processing.cancel()
                await gate
                self.seen.append("done")

        processing = consumer.process(cancel)
        consumer.assign([T0])
        self.network.run(1)
        self.assertNoResult(processing)
        self.assertEqual(self.seen, [b"0-0", b"0-1"])
        gate.callback(None)
        self.network.pump()
        self.failureResultOf(processing, CancelledError)
        self.assertEqual(self.seen, [b"0-0", b"0-1", "done"])
        self.assertEqual(self.wait(consumer.position(T0)), 2)

    def test_cancelled_twice(self) -> None:
        """A second cancellation cancels the Deferred that the function waits for."""
        processing = self.consumer(T0).process(self.later)
        self.network.run(1)
        processing.cancel()
        self.assertNoResult(processing)
        processing.cancel()
        self.failureResultOf(processing, CancelledError)
        self.assertTrue(self.open[0].called)

    def test_closed_after_cancelling(self) -> None:
        """Closing waits for a function that is at work yet, though the processing was cancelled."""
        consumer = self.consumer(T0)
        processing = consumer.process(self.later)
        self.network.run(1)
        processing.cancel()
        closing = consumer.close()
        self.network.run(1)
        self.assertNoResult(closing)
        self.open[0].callback(None)
        self.wait(closing)
        self.failureResultOf(processing, CancelledError)

    def test_one_at_a_time(self) -> None:
        """Other calls for records fail while a function gets them, and all do after close()."""
        consumer = self.consumer(T0)
        consumer.process(self.later)
        self.network.run(1)
        self.failureResultOf(consumer.getmany(), KafkaTXError)
        self.failureResultOf(consumer.process(self.later), KafkaTXError)
        closing = consumer.close()
        self.open[0].callback(None)
        self.wait(closing)
        self.failureResultOf(consumer.process(self.later), ClientClosed)

    def test_errors_of_the_consumer(self) -> None:
        """The error in place of a record ends the processing, too."""
        consumer = self.consumer(T0, value_deserializer=lambda data: int(data))
        processing = consumer.process(self.seen.append)
        self.network.run(1)
        self.failureResultOf(processing, KafkaTXError)

    def test_pause_in_the_function(self) -> None:
        """A function may pause its own partition: the next record waits."""
        consumer = self.consumer(T0)

        def work(record: Any) -> None:
            self.seen.append(record.offset)
            if record.offset == 0:
                consumer.pause(T0)

        consumer.process(work)
        self.network.run(1)
        self.assertEqual(self.seen, [0])
        consumer.resume(T0)
        self.network.run(1)
        self.assertEqual(self.seen, [0, 1, 2])

    def test_seek_while_the_function_works(self) -> None:
        """After a seek the next record is the one sought, once the function is done with its own."""
        consumer = self.consumer(T0)
        consumer.process(self.later)
        self.network.run(1)
        consumer.seek(T0, 2)
        self.network.run(1)
        self.assertEqual(self.seen, [b"0-0"])
        self.open[0].callback(None)
        self.network.run(1)
        self.assertEqual(self.seen, [b"0-0", b"0-2"])
        self.open[1].callback(None)


class ProcessInAGroupTests(ConsumerTestCase):
    def setUp(self) -> None:
        """A topic of two partitions with three records each."""
        super().setUp()
        self.make_topic("t", 2)
        for partition in range(2):
            self.fill(*(b"%d-%d" % (partition, number) for number in range(3)), partition=partition)
        self.open: dict[tuple[int, int], Deferred[None]] = {}
        self.released = False

    def release(self) -> None:
        """Make the function return at once from now on."""
        self.released = True
        for waiting in list(self.open.values()):
            if not waiting.called:
                waiting.callback(None)

    def later(self, record: Any) -> Deferred[None]:
        """A function whose Deferreds the test fires."""
        if self.released:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self.open[record.partition, record.offset] = waiting
        return waiting

    def committed(self, partition: int) -> int:
        """Return the group's committed offset; -1: none."""
        found = offsets_of(self.broker, "g").get("g", "t", partition)
        return -1 if found is None else found.offset

    def test_commits_what_is_done(self) -> None:
        """Automatic commits know of each partition how far the function has come."""
        consumer = self.member("t", enable_auto_commit=True, auto_commit_interval_ms=1000)
        consumer.process(self.later)
        self.network.run(0.5)
        self.open[0, 0].callback(None)
        self.network.run(1.5)
        self.assertEqual((self.committed(0), self.committed(1)), (1, 0))
        closing = consumer.close()
        self.network.run(0.5)
        self.assertNoResult(closing)
        self.open[0, 1].callback(None)
        self.open[1, 0].callback(None)
        self.wait(closing)
        self.assertEqual((self.committed(0), self.committed(1)), (2, 1))
        self.assertEqual(len(self.open), 3)

    def test_a_function_that_does_not_end(self) -> None:
        """close() waits for it no longer than it is told; what it has is not done."""
        consumer = self.member("t", enable_auto_commit=True)
        processing = consumer.process(self.later)
        self.network.run(0.5)
        self.wait(consumer.close(timeout_s=2), 5)
        self.failureResultOf(processing, CancelledError)
        self.assertLessEqual(self.committed(0), 0)

    def test_read_on_after_a_failure(self) -> None:
        """Records delivered after the function has failed count as processed at the close."""
        consumer = self.member("t", enable_auto_commit=True)

        def work(record: Any) -> None:
            raise ValueError("no")

        processing = consumer.process(work)
        self.network.run(1)
        self.failureResultOf(processing, ValueError)
        self.assertEqual((self.committed(0), self.committed(1)), (-1, -1))
        self.assertEqual(len(self.values(consumer)), 6)
        self.wait(consumer.close())
        self.assertEqual((self.committed(0), self.committed(1)), (3, 3))

    def test_revoked_when_the_function_is_done(self) -> None:
        """A partition goes when the function is done with its record; the others are worked on meanwhile."""
        first = self.member("t", enable_auto_commit=True)
        first.process(self.later)
        self.network.run(0.5)
        second = self.member("t", enable_auto_commit=True)
        self.network.run(5)
        self.assertEqual(second.assignment(), set())
        for waiting in list(self.open.values()):
            waiting.callback(None)
        self.network.run(5)
        (kept,), (gone,) = first.assignment(), second.assignment()
        self.assertEqual((self.committed(gone.partition), {kept, gone}), (1, {T0, T1}))
        found = self.wait(second.getmany(timeout_ms=1000))
        self.assertEqual([record.offset for record in found[gone]], [1, 2])
        self.release()

    def test_too_slow(self) -> None:
        """A record that takes longer than max.poll.interval.ms costs the membership, others or not."""
        consumer = self.member("t", enable_auto_commit=True, max_poll_interval_ms=10_000)
        begun = self.clock.seconds()

        def work(record: Any) -> Deferred[None]:
            return self.later(record) if record.partition == 0 else deferLater(self.clock, 0.5)

        for number in range(60):
            self.fill(b"%d" % number, partition=1)
        consumer.process(work)
        while consumer.assignment():
            self.network.run(0.5)
            self.assertLess(self.clock.seconds() - begun, 30)
        self.assertAlmostEqual(self.clock.seconds() - begun, 10, delta=1.5)
        self.network.run(10)
        self.assertEqual(consumer.assignment(), set())
        self.open.pop((0, 0)).callback(None)
        self.network.run(5)
        self.assertEqual(consumer.assignment(), {T0, T1})
        self.assertIn((0, 0), self.open)  # it was not committed, so it comes again
        self.release()

    def test_two_that_are_slow(self) -> None:
        """The timer counts from the record processed for longest, and from the next when that is done."""
        consumer = self.member("t", enable_auto_commit=True, max_poll_interval_ms=10_000)
        consumer.pause(T1)
        consumer.process(self.later)
        self.network.run(5)
        consumer.resume(T1)
        self.network.run(4)
        self.open.pop((0, 0)).callback(None)  # in work since 0; the other since 5, and the next since 9
        self.network.run(5)
        self.assertEqual(consumer.assignment(), {T0, T1})
        self.network.run(2)
        self.assertEqual(consumer.assignment(), set())
        self.network.run(5)
        joined = len(self.network.sent(JoinGroupRequest))
        self.open.pop((1, 0)).callback(None)  # the other one, which began at 9, has been too long, too
        self.network.run(5)
        self.assertEqual((consumer.assignment(), len(self.network.sent(JoinGroupRequest))), (set(), joined))
        self.release()
        self.network.run(5)
        self.assertEqual(consumer.assignment(), {T0, T1})

    def test_lost_and_back(self) -> None:
        """A partition that comes back while the function is at work on a record of it waits for that."""
        consumer = self.member("t", max_poll_interval_ms=10_000)
        consumer.pause(T1)
        consumer.process(self.later)
        self.network.run(0.5)
        working = self.open.pop((0, 0))
        self.successResultOf(Deferred.fromCoroutine(consumer._parts.rebalance_callbacks.lost({T0})))
        self.successResultOf(Deferred.fromCoroutine(consumer._parts.rebalance_callbacks.assigned({T0})))
        self.network.run(3)
        self.assertEqual(self.open, {})
        working.callback(None)
        self.network.run(0.5)
        self.assertEqual(list(self.open), [(0, 0)])
        self.release()

    def test_slow_but_steady(self) -> None:
        """Records that take their time, each below max.poll.interval.ms, keep the member in its group."""
        lost: list[Any] = []

        class Listener:
            def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
                lost.append(partitions)

        consumer = self.member("t", listener=Listener(), max_poll_interval_ms=10_000)
        consumer.process(lambda record: deferLater(self.clock, 8))
        self.network.run(30)
        self.assertEqual((lost, consumer.assignment()), ([], {T0, T1}))
