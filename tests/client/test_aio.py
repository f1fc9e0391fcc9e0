"""Tests of kafkatx.client.aio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.aio import Admin, Consumer, ConsumerConnector, MessageStream, Producer, _Facade
from kafkatx.client.facades import loop_reactor
from kafkatx.client.facades.forwarder import Listener
from kafkatx.client.facades.future import DeferredFuture
from kafkatx.client.legacy.message_streams import MessageStream as TwistedStream
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.types import TopicPartition

PLACE = TopicPartition("t", 0)
NOWHERE = "127.0.0.1:1"


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    """Return the result of a coroutine function, run in a new loop."""

    async def body() -> Any:
        return await main()

    return asyncio.run(body())


class BridgeTests(SynchronousTestCase):
    def test_functions(self) -> None:
        """Plain functions, coroutine functions of asyncio and functions with Deferreds are accepted."""

        async def slow(value: int) -> int:
            await asyncio.sleep(0)
            return value + 1

        async def main() -> list[Any]:
            deferred = succeed(7)
            self.assertIs(_Facade()._bridge(lambda: deferred)(), deferred)
            self.assertEqual(_Facade()._bridge(lambda value: value)(1), 1)
            return [await DeferredFuture(_Facade()._bridge(slow)(2)), await DeferredFuture(deferred)]

        self.assertEqual(run(main), [3, 7])

    def test_listener(self) -> None:
        """A listener's coroutine is awaited; missing methods stay missing."""

        async def told(places: set[TopicPartition]) -> int:
            return len(places)

        async def main() -> int:
            listener: Any = Listener(SimpleNamespace(on_partitions_assigned=told), _Facade()._bridge)
            self.assertFalse(hasattr(listener, "on_partitions_revoked"))
            return await DeferredFuture(listener.on_partitions_assigned({PLACE}))

        self.assertEqual(run(main), 1)


class ClientTests(SynchronousTestCase):
    def test_no_loop(self) -> None:
        """A client cannot be made outside of a loop; the error says where to make it."""
        with self.assertRaisesRegex(RuntimeError, "inside a coroutine"):
            Consumer()

    def test_bad_setting(self) -> None:
        """A client that could not be made keeps no reactor."""

        async def main() -> int:
            try:
                Consumer(grup_id="x")
            except SettingError:
                await asyncio.sleep(0)
                return len(loop_reactor._reactors)
            return -1

        self.assertEqual(run(main), 0)

    def test_nobody_answers(self) -> None:
        """An error of start is raised by ``async with``, after the client was closed."""

        async def main() -> int:
            try:
                async with Admin(bootstrap_servers=NOWHERE, default_api_timeout_ms=200):
                    return -1
            except KafkaTXError:
                await asyncio.sleep(0)
                return len(loop_reactor._reactors)

        self.assertEqual(run(main), 0)

    def test_close_twice(self) -> None:
        """The second close waits for the first."""

        async def main() -> None:
            client = Admin(bootstrap_servers=NOWHERE)
            await asyncio.gather(client.close(), client.close())
            await client.close()

        run(main)

    def test_records_in_a_cancelled_task(self) -> None:
        """Records that arrive in the turn in which the task is cancelled are delivered next."""
        coming: Deferred[Any] = Deferred()
        sought: list[tuple[TopicPartition, int]] = []

        async def main() -> None:
            consumer = Consumer(bootstrap_servers=NOWHERE)
            self.patch(consumer.client, "getmany", lambda *_: coming)
            self.patch(consumer.client, "seek", lambda place, offset: sought.append((place, offset)))
            task = asyncio.ensure_future(consumer.getmany())
            await asyncio.sleep(0)
            coming.callback({PLACE: [Record("t", 0, 4), Record("t", 0, 5)]})
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await consumer.close()

        run(main)
        self.assertEqual(sought, [(PLACE, 4)])


class StreamTests(SynchronousTestCase):
    """A connector's streams, in a loop of asyncio."""

    def hand(self, *offsets: int) -> Delivery:
        """Return records that a connector delivers."""
        position: Any = SimpleNamespace(place=PLACE)
        return Delivery(position, [Record("t", 0, offset) for offset in offsets], offsets[0])

    def test_records(self) -> None:
        """Records come one by one; the last one is finished when a left loop asks for the next."""

        async def main() -> None:
            reactor = SimpleNamespace(seconds=lambda: 0.0)
            inner = TwistedStream(reactor, lambda: succeed(None))
            stream = MessageStream(inner)
            dealing = Deferred.fromCoroutine(inner.deliver(self.hand(4, 5), lambda: None))
            async for record in stream:
                self.assertEqual(record.offset, 4)
                break
            self.assertFalse(dealing.called)
            asking = asyncio.ensure_future(anext(aiter(stream)))
            await asyncio.sleep(0)
            self.assertTrue(dealing.called)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            Deferred.fromCoroutine(inner.deliver(self.hand(6), lambda: None))
            asking = asyncio.ensure_future(anext(aiter(stream)))
            self.assertEqual((await asking).offset, 6)

        run(main)

    def test_end(self) -> None:
        """The iteration ends with the connector, and raises its error."""

        async def main() -> None:
            for error in (ClientClosed("x"), KafkaTXError("no")):
                inner = TwistedStream(SimpleNamespace(seconds=lambda: 0.0), lambda: succeed(None))
                inner.end(error)
                raised: list[Exception] = []
                try:
                    self.assertEqual([record async for record in MessageStream(inner)], [])
                except KafkaTXError as failure:
                    raised.append(failure)
                self.assertEqual(raised, [] if isinstance(error, ClientClosed) else [error])

        run(main)

    def test_shutdown(self) -> None:
        """The connector is shut down once by ``shutdown`` and a later ``close``, with the first timeout."""
        times: list[float] = []

        async def main() -> None:
            connector = ConsumerConnector(bootstrap_servers=NOWHERE, group_id="g")

            def shutdown(timeout_s: float) -> Deferred[None]:
                times.append(timeout_s)
                return succeed(None)

            self.patch(connector.client, "shutdown", shutdown)
            await connector.shutdown(3)
            await connector.close()

        run(main)
        self.assertEqual(times, [3])


class WrongTypeTests(SynchronousTestCase):
    def test_str(self) -> None:
        """A str value or key is refused with one sentence that names the cure."""

        async def main() -> list[str]:
            producer = Producer(bootstrap_servers=NOWHERE)
            messages = []
            for call in (
                lambda: producer.send("t", "text"),
                lambda: producer.send_batch("t", ["text"]),
                lambda: producer.send("t", b"v", key="text"),
            ):
                try:
                    await call()
                except TypeError as error:
                    messages.append(str(error))
            await producer.close()
            return messages

        sentence = "a record's {0} must be bytes, not str: encode it, or set {0}.serializer=string"
        self.assertEqual(run(main), [sentence.format(what) for what in ("value", "value", "key")])
