"""The clients for asyncio and for threads against a real broker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client import aio, threads
from kafkatx.client.facades import loop_reactor
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import (
    BufferExhausted,
    ClientClosed,
    OffsetOutOfRange,
    RecordsLost,
    RequestTimedOut,
)
from kafkatx.clientcore.legacy.topic_filter import Whitelist
from kafkatx.clientcore.producer.values import ProducerData
from kafkatx.clientcore.tables import consumer
from kafkatx.errors import KafkaTXError, RequestError
from kafkatx.types import TopicPartition
from tests.integration.clients import DEADLINE_S, new_topic
from tests.integration.shared import ClientCase

RECORDS = 2000
NOWHERE = "127.0.0.1:1"
SLOW_MS = 200


class FacadeCase(ClientCase, SynchronousTestCase):
    def setUp(self) -> None:
        """A topic's and a group's names, and the broker."""
        self.topic, self.group = new_topic(), new_topic()
        self.place = TopicPartition(self.topic, 0)
        self.at = {"bootstrap_servers": self.bootstrap}
        self.mine = {**self.at, "group_id": self.group, "auto_offset_reset": "earliest"}
        self.values = [b"%d" % n for n in range(RECORDS)]


class AsyncioTests(FacadeCase):
    def run_async(self, main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Run a coroutine in an event loop of its own that keeps nothing of ours, and return its result."""

        async def body() -> Any:
            before = set(asyncio.all_tasks())
            result = await asyncio.wait_for(main(), DEADLINE_S)
            await asyncio.sleep(0)
            self.assertNotIn(asyncio.get_running_loop(), loop_reactor._reactors)
            self.assertEqual(set(asyncio.all_tasks()) - before, set())
            return result

        return asyncio.run(body())

    def test_there_and_back(self) -> None:
        """Records are sent by both ways, and a group reads them in order; the next member goes on."""

        async def main() -> list[Any]:
            async with aio.Producer(self.at) as producer:
                sent = await producer.send(self.topic, b"first", key=b"k", headers=[("h", b"1")])
                self.assertEqual((sent.topic, sent.partition, sent.offset), (self.topic, 0, 0))
                await asyncio.gather(*(producer.send(self.topic, value) for value in self.values))
                self.assertEqual((await producer.send_batch(self.topic, [b"x", b"y"])).records, 2)
            records = []
            async with aio.Consumer(self.mine) as one:
                one.subscribe([self.topic])
                async for record in one:
                    records.append(record)
                    if len(records) == 1 + RECORDS:
                        break
                self.assertEqual(records[0].headers, [("h", b"1")])
                self.assertEqual(await one.position(self.place), 1 + RECORDS)
            async with aio.Consumer(self.mine) as two:
                two.subscribe([self.topic])
                rest = await two.getone(), await two.getone()
            return [record.value for record in (*records, *rest)]

        self.assertEqual(self.run_async(main), [b"first", *self.values, b"x", b"y"])

    def test_produce(self) -> None:
        """Records without a future arrive in order; a callback hears where; lists go to several topics."""
        heard: list[Any] = []

        async def main() -> Any:
            async with aio.Producer(self.at) as producer:
                for value in self.values:
                    producer.produce(self.topic, value)
                producer.produce(self.topic, b"last", on_delivery=lambda *told: heard.append(told))
                await producer.flush()
                data = [ProducerData(self.topic, [b"1"]), ProducerData(new_topic(), [b"2", b"3"])]
                return await producer.send_all(data)

        found = self.run_async(main)
        self.assertEqual([metadata.last_offset for metadata in found], [RECORDS + 1, 1])
        ((error, metadata),) = heard
        self.assertEqual((error, metadata.offset), (None, RECORDS))

    def test_process(self) -> None:
        """A coroutine function of asyncio processes records; it ends with the consumer."""

        async def main() -> list[bytes]:
            done: list[bytes] = []

            async def work(record: Record) -> None:
                await asyncio.sleep(0)
                done.append(record.value)

            async with aio.Producer(self.at) as producer, aio.Consumer(self.at, beside=producer) as reader:
                await producer.send_batch(self.topic, self.values[:20])
                reader.assign([self.place])
                reader.seek(self.place, 0)
                processing = reader.process(work)
                while len(done) < 20:
                    await asyncio.sleep(0.01)
            await processing
            return done

        self.assertEqual(self.run_async(main), self.values[:20])

    def test_listener_and_commit(self) -> None:
        """A listener's coroutine may await the consumer's methods; what it commits is committed."""
        case = self

        class Listener:
            async def on_partitions_assigned(self, places: set[TopicPartition]) -> None:
                await reader.commit({case.place: 7})
                reader.seek(case.place, 5)

        reader: aio.Consumer

        async def main() -> tuple[int, Any]:
            nonlocal reader
            async with aio.Producer(self.at) as producer:
                await producer.send_batch(self.topic, self.values[:20])
            async with aio.Consumer(self.mine, enable_auto_commit=False) as reader:
                reader.subscribe([self.topic], listener=Listener())
                found = await reader.getone()
                return found.offset, (await reader.committed(self.place))[self.place]

        offset, committed = self.run_async(main)
        self.assertEqual((offset, committed.offset), (5, 7))

    def test_cancelled(self) -> None:
        """A call that is cancelled by a time-out loses no record, and the consumer goes on."""

        async def main() -> Any:
            async with aio.Producer(self.at) as producer, aio.Consumer(self.at) as reader:
                await producer.send(self.topic, b"one")
                reader.assign([self.place])
                reader.seek(self.place, 1)
                try:
                    await asyncio.wait_for(reader.getone(), 0.05)
                except asyncio.TimeoutError:
                    await producer.send(self.topic, b"two")
                return (await reader.getone()).value

        self.assertEqual(self.run_async(main), b"two")

    def test_simple_consumer(self) -> None:
        """Partitions are read at offsets that the application keeps."""

        async def main() -> None:
            async with (
                aio.Producer(self.at) as producer,
                aio.SimpleConsumer(self.at, beside=producer) as reader,
            ):
                await producer.send_batch(self.topic, self.values[:20])
                found = await reader.fetch(self.topic, 0, 5)
                self.assertEqual([record.value for record in found], self.values[5:20])
                (again,) = await reader.multifetch([(self.topic, 0, 19)])
                self.assertEqual((len(again), again.next_offset), (1, 20))
                self.assertEqual((await reader.offsets_before(self.topic, 0, -1))[0], 20)
                with self.assertRaises(OffsetOutOfRange):
                    await reader.fetch(self.topic, 0, 21)

        self.run_async(main)

    def test_connector(self) -> None:
        """Tasks iterate over a connector's streams, which end with it; the next goes on behind them."""
        last = b"last"

        async def read(stream: aio.MessageStream, into: list[bytes], count: int = -1) -> None:
            async for record in stream:
                into.append(record.value)
                if len(into) == count:
                    return

        async def main() -> tuple[list[list[bytes]], list[bytes]]:
            async with aio.Admin(self.at) as admin:
                await admin.create_topic(self.topic, 2)
            async with aio.Producer(self.at) as producer:
                for partition in (0, 1):
                    await producer.send_batch(self.topic, self.values, partition=partition)
                seen: list[list[bytes]] = [[], []]
                async with aio.ConsumerConnector(self.mine) as one:
                    streams = one.create_message_streams({self.topic: 2})[self.topic]
                    reading = [asyncio.ensure_future(read(*each)) for each in zip(streams, seen, strict=True)]
                    while sum(map(len, seen)) < 2 * RECORDS:
                        await asyncio.sleep(0.01)
                    await one.commit_offsets()
                await asyncio.gather(*reading)
                await producer.send(self.topic, last, partition=1)
            two = await aio.ConsumerConnector(self.mine).start()
            (stream,) = two.create_message_streams_by_filter(Whitelist(self.topic))
            rest: list[bytes] = []
            await read(stream, rest, 1)
            await two.shutdown()
            return seen, rest

        self.assertEqual(self.run_async(main), ([self.values, self.values], [last]))

    def test_admin(self) -> None:
        """Topics are made and listed, and errors are those of the Twisted client."""

        async def main() -> None:
            async with aio.Admin(self.at) as admin:
                await admin.create_topic(self.topic, 3)
                while self.topic not in [topic.name for topic in await admin.list_topics()]:
                    await asyncio.sleep(0.02)  # in KRaft a broker hears of it a little later
                described = await admin.describe_topic(self.topic)
                self.assertEqual(len(described.partitions), 3)
                await admin.groups.listings()
                await admin.quotas.describe()
                with self.assertRaises(RequestError):
                    await admin.create_topic(self.topic)

        self.run_async(main)


class ThreadTests(FacadeCase):
    def test_produce(self) -> None:
        """Records without a future arrive in order; what is wrong reaches the callback or the flush."""
        heard: list[Any] = []
        bad: Any = "text"
        with threads.Producer(self.at) as producer:
            for value in self.values:
                producer.produce(self.topic, value)
            producer.produce(self.topic, bad, on_delivery=lambda *told: heard.append(told))
            producer.flush()
            producer.produce(self.topic, bad)
            self.assertRaises(RecordsLost, producer.flush)
            found = producer.send_all([ProducerData(self.topic, [b"1"])]).result(DEADLINE_S)
        self.assertEqual(found[0].last_offset, RECORDS)
        self.assertIsInstance(heard[0][0], TypeError)

    def test_there_and_back(self) -> None:
        """Records are sent from several threads; a group's iteration gives each thread's in order."""
        with threads.Producer(self.at) as producer:
            outcomes: list[list[Future[Any]]] = [[], []]

            def send(which: int) -> None:
                for value in self.values:
                    outcomes[which].append(producer.send(self.topic, b"%d:%b" % (which, value)))

            senders = [threading.Thread(target=send, args=(which,)) for which in (0, 1)]
            for sender in senders:
                sender.start()
            for sender in senders:
                sender.join()
            producer.flush()
            self.assertTrue(all(outcome.done() for outcome in outcomes[0] + outcomes[1]))
            self.assertEqual(producer.send_batch(self.topic, [b"0:x", b"1:y"]).result(DEADLINE_S).records, 2)
        got: list[bytes] = []
        with threads.Consumer(self.mine) as reader:
            reader.subscribe([self.topic])
            for record in reader:
                got.append(record.value)
                if len(got) == 2 * RECORDS + 1:
                    break
        with threads.Consumer(self.mine) as reader:
            reader.subscribe([self.topic])
            got += [record.value for records in reader.getmany(None, 30_000).values() for record in records]
        for which, last in ((b"0", b"x"), (b"1", b"y")):
            ours = [value.partition(b":")[2] for value in got if value.startswith(which)]
            self.assertEqual(ours, [*self.values, last])

    def test_threads_end(self) -> None:
        """A client that is closed leaves no thread; calls fail then, and the second close does nothing."""
        before = set(threading.enumerate())
        with threads.Producer(self.at) as producer, threads.Admin(self.at) as admin:
            admin.list_topics()
        admin.close()
        self.assertRaises(KafkaTXError, admin.list_topics)
        self.assertRaises(ClientClosed, producer.send, self.topic, b"x")
        left = [
            thread for thread in set(threading.enumerate()) - before if not thread.name.startswith("Pool")
        ]
        self.assertEqual(left, [])

    def test_iteration_ends(self) -> None:
        """The endless iteration ends when another thread closes the consumer."""
        with threads.Producer(self.at) as producer:
            producer.send_batch(self.topic, self.values[:3]).result(DEADLINE_S)
        reader = threads.Consumer(self.at).start()
        reader.assign([self.place])
        reader.seek_to_beginning()
        got = []
        for record in reader:
            got.append(record.value)
            if len(got) == 3:
                threading.Timer(0.05, reader.close).start()
        self.assertEqual(got, self.values[:3])

    def test_process(self) -> None:
        """The function of process blocks in a thread of its own, and may call the consumer."""
        with threads.Producer(self.at) as producer:
            producer.send_batch(self.topic, self.values[:5]).result(DEADLINE_S)
        done = []
        with threads.Consumer(self.at) as reader:
            reader.assign([self.place])
            reader.seek(self.place, 0)

            def work(record: Record) -> None:
                done.append((record.value, reader.highwater(self.place)))
                if len(done) == 5:
                    raise ZeroDivisionError("enough")

            self.assertRaises(ZeroDivisionError, reader.process, work)
        self.assertEqual(done, [(value, 5) for value in self.values[:5]])

    def test_listener(self) -> None:
        """A listener may block: call the consumer, which commits for it."""
        with threads.Producer(self.at) as producer:
            producer.send_batch(self.topic, self.values[:9]).result(DEADLINE_S)
        case = self

        class Listener:
            def on_partitions_assigned(self, places: set[TopicPartition]) -> None:
                reader.commit({case.place: 3})
                reader.seek(case.place, 4)

        with threads.Consumer(self.mine, enable_auto_commit=False) as reader:
            reader.subscribe([self.topic], listener=Listener())
            found = reader.getone()
            assert found is not None
            self.assertEqual(found.offset, 4)
            committed = reader.committed(self.place)[self.place]
            assert committed is not None
            self.assertEqual(committed.offset, 3)
            self.assertEqual(reader.client.settings[consumer.GROUP_ID], self.group)

    def test_simple_consumer(self) -> None:
        """Partitions are read at offsets that the application keeps."""
        with (
            threads.Producer(self.at) as producer,
            threads.SimpleConsumer(self.at, beside=producer) as reader,
        ):
            producer.send_batch(self.topic, self.values[:20]).result(DEADLINE_S)
            found = reader.fetch(self.topic, 0, 5)
            self.assertEqual([record.value for record in found], self.values[5:20])
            (again,) = reader.multifetch([(self.topic, 0, 19)])
            self.assertEqual((len(again), again.next_offset), (1, 20))
            self.assertEqual(reader.offsets_before(self.topic, 0, -1)[0], 20)
            self.assertRaises(OffsetOutOfRange, reader.fetch, self.topic, 0, 21)

    def test_connector(self) -> None:
        """Threads iterate over a connector's streams, which end with it; the next goes on behind them."""
        with threads.Admin(self.at) as admin, threads.Producer(beside=admin) as producer:
            admin.create_topic(self.topic, 2)
            for partition in (0, 1):
                producer.send_batch(self.topic, self.values, partition=partition).result(DEADLINE_S)
        seen: list[list[bytes]] = [[], []]
        all_seen = threading.Event()

        def read(stream: threads.MessageStream, into: list[bytes]) -> None:
            for record in stream:
                into.append(record.value)
                if sum(map(len, seen)) == 2 * RECORDS:
                    all_seen.set()

        with threads.ConsumerConnector(self.mine) as one:
            streams = one.create_message_streams({self.topic: 2})[self.topic]
            readers = [threading.Thread(target=read, args=each) for each in zip(streams, seen, strict=True)]
            for reader in readers:
                reader.start()
            self.assertTrue(all_seen.wait(DEADLINE_S))
            one.commit_offsets()
        for reader in readers:
            reader.join(DEADLINE_S)
        self.assertEqual(seen, [self.values, self.values])
        with threads.Producer(self.at) as producer:
            producer.send(self.topic, b"last", partition=1).result(DEADLINE_S)
        two = threads.ConsumerConnector(self.mine).start()
        (stream,) = two.create_message_streams_by_filter(Whitelist(self.topic))
        for record in stream:
            self.assertEqual(record.value, b"last")
            two.shutdown()

    def test_connector_is_left(self) -> None:
        """A thread that works on a record while the connector is shut down ends its loop after it."""
        with threads.Producer(self.at) as producer:
            producer.send_batch(self.topic, self.values[:3]).result(DEADLINE_S)
        connector = threads.ConsumerConnector(self.mine).start()
        (stream,) = connector.create_message_streams({self.topic: 1})[self.topic]
        at_work, ended, seen = threading.Event(), threading.Event(), []

        def read() -> None:
            for record in stream:
                seen.append(record.value)
                at_work.set()
                ended.wait(DEADLINE_S)

        reader = threading.Thread(target=read)
        reader.start()
        self.assertTrue(at_work.wait(DEADLINE_S))
        connector.shutdown()
        ended.set()
        reader.join(DEADLINE_S)
        self.assertFalse(reader.is_alive())
        self.assertEqual(seen, self.values[:1])

    def test_nothing_comes(self) -> None:
        """A call with a time limit gets nothing after it."""
        with threads.Admin(self.at) as admin, threads.Consumer(self.at, beside=admin) as reader:
            admin.create_topic(self.topic)
            reader.assign([self.place])
            self.assertEqual(reader.getmany(timeout_ms=50), {})
            self.assertIsNone(reader.getone(50))

    def test_nobody_answers(self) -> None:
        """Without a broker start fails, and ``with`` leaves no thread."""
        before = threading.active_count()
        with (
            self.assertRaises(KafkaTXError),
            threads.Admin(bootstrap_servers=NOWHERE, default_api_timeout_ms=100),
        ):
            self.fail("it has started")
        self.assertLessEqual(threading.active_count(), before + 1)  # one of the pool resolves names

    def test_time_out(self) -> None:
        """A call that takes longer than timeout_s fails."""
        client = threads.Admin(bootstrap_servers=NOWHERE, timeout_s=0.05)
        self.assertRaises(RequestTimedOut, client.start)
        client.timeout_s = None
        client.close()

    def test_full(self) -> None:
        """With the broker gone and the buffer full, sending waits and then fails; closing is bounded."""
        broker = self.make_broker()
        broker.start()
        with threads.Producer(bootstrap_servers=broker.bootstrap) as first:  # a new topic takes its time
            first.send(self.topic, b"x").result(DEADLINE_S)
        producer = threads.Producer(
            bootstrap_servers=broker.bootstrap,
            buffer_memory=50_000,
            max_block_ms=SLOW_MS,
            delivery_timeout_ms=2 * DEADLINE_S * 1000,
            request_timeout_ms=1000,
        ).start()
        producer.send(self.topic, b"x").result(DEADLINE_S)
        broker.kill()
        outcomes = [producer.send(self.topic, bytes(1000)) for _ in range(200)]
        self.assertIsInstance(outcomes[-1].exception(DEADLINE_S), BufferExhausted)
        producer.close(timeout_s=0.1)
        kinds = {type(outcome.exception(0)) for outcome in outcomes}
        self.assertEqual(kinds, {BufferExhausted, ClientClosed})
