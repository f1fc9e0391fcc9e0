"""The clients for asyncio: facades of the Twisted clients, with methods that can be awaited::

    async with Producer(bootstrap_servers="127.0.0.1:9092") as producer:
        await producer.send("events", b"value", key=b"key")

Each method is documented at the Twisted client; where that returns a Deferred, this one returns a future. The
clients use Twisted's asyncio reactor over the running loop.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred

from kafkatx.client.admin import admin
from kafkatx.client.consumer import consumer
from kafkatx.client.consumer.iterators import rewind
from kafkatx.client.facades.asyncio_parts import (
    Acls,
    Configs,
    Credentials,
    Groups,
    Quotas,
    Transactions,
)
from kafkatx.client.facades.forwarder import AsyncioFacade, ForwardDeferred
from kafkatx.client.facades.future import DeferredFuture
from kafkatx.client.facades.loop_reactor import ReactorLease
from kafkatx.client.facades.methods import (
    AdminMethods,
    ConnectorMethods,
    ConsumerMethods,
    SimpleConsumerMethods,
)
from kafkatx.client.facades.transactions import AsyncioTransactions
from kafkatx.client.legacy import consumer_connector, message_streams, simple_consumer
from kafkatx.client.producer import producer
from kafkatx.client.producer.receipts import OnDelivery
from kafkatx.client.producer.topic_queues import Headers
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.producer.values import BatchMetadata, RecordMetadata
from kafkatx.types import TopicPartition

T = TypeVar("T")
C = TypeVar(
    "C",
    bound=admin.Admin
    | consumer_connector.ConsumerConnector
    | consumer.Consumer
    | producer.Producer
    | simple_consumer.SimpleConsumer,
)
F = TypeVar("F", bound="_Client[Any]")


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "no event loop is running: make the client inside a coroutine, for example the one that"
            " asyncio.run() runs; kafkatx.client.threads has clients for programs without asyncio"
        ) from None


class _Facade(AsyncioFacade):
    """A facade that accepts asyncio coroutine functions as callbacks."""

    def _bridge(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            result = function(*args)
            if isinstance(result, Deferred) or not inspect.isawaitable(result):
                return result
            return Deferred.fromFuture(asyncio.ensure_future(result))

        return call


class _Client(_Facade, Generic[C]):
    """The base of all clients. To be made in the running loop that it is used in.

    :ivar client: the Twisted client.
    """

    _make: Callable[..., C]

    def __init__(
        self,
        settings: Mapping[str, object] = MappingProxyType({}),
        *,
        beside: _Client[Any] | None = None,
        **more: object,
    ) -> None:
        """Make a client; :meth:`start` or ``async with`` connects.

        :param settings: by Kafka's names, with dots or underscores; *more* likewise.
        :param beside: another client whose connections it shares; close that one later.
        :raises SettingError: a setting is unknown or has a bad value.
        :raises RuntimeError: no loop is running: clients are made inside a coroutine.
        """
        self._lease = ReactorLease(_running_loop())
        self._closing: DeferredFuture[None] | None = None
        cluster = None if beside is None else beside.client.cluster
        try:
            self.client: C = type(self)._make(settings, reactor=self._lease.reactor, cluster=cluster, **more)
        except BaseException:
            self._lease.end()
            raise

    async def start(self: F) -> F:
        """Connect.

        :return: this client.
        :raises ConnectionFailed: no broker answers; :meth:`close` it then.
        """
        await DeferredFuture(self.client.start())
        return self

    async def close(self, **options: Any) -> None:
        """Close the client as the Twisted client's ``close`` does; cancelling this does not stop it."""
        if self._closing is None:
            self._closing = DeferredFuture(self._end(**options).addBoth(self._ended))
        await asyncio.shield(self._closing)

    def _end(self, **options: Any) -> Deferred[None]:
        client: Any = self.client
        ending: Deferred[None] = client.close(**options)
        return ending

    def _ended(self, result: T) -> T:
        self._lease.end()
        return result

    async def __aenter__(self: F) -> F:
        try:
            return await self.start()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()


class Producer(_Client[producer.Producer], AsyncioTransactions):
    """See :class:`kafkatx.client.producer.producer.Producer`.

    ``send`` and ``send_batch`` send at once; await their result to wait for the acknowledgement.
    """

    _make = producer.Producer

    ready = ForwardDeferred(producer.Producer.ready)
    flush = ForwardDeferred(producer.Producer.flush)
    send_all = ForwardDeferred(producer.Producer.send_all)

    # Written out instead of forwarded, because these are called once per record.

    def send(
        self,
        topic: str,
        value: object,
        key: object = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> DeferredFuture[RecordMetadata]:
        """Send one record.

        :return: a future of the record's place in the log; raises the errors of the Twisted ``send``.
        """
        return DeferredFuture(self.client.send(topic, value, key, partition, headers, timestamp_ms))

    def produce(
        self,
        topic: str,
        value: object,
        key: object = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Send one record without a future.

        :param on_delivery: called in the loop's thread; it must not block.
        :raises BufferExhausted: ``await producer.ready()``, and call it again.
        """
        self.client.produce(topic, value, key, partition, headers, timestamp_ms, on_delivery)

    def send_batch(
        self,
        topic: str,
        values: Sequence[object],
        key: object = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> DeferredFuture[BatchMetadata]:
        """Send a list of values at once; otherwise as :meth:`send`."""
        return DeferredFuture(self.client.send_batch(topic, values, key, partition, timestamp_ms))


class Consumer(_Client[consumer.Consumer], ConsumerMethods):
    """See :class:`kafkatx.client.consumer.consumer.Consumer`.

    The function of :meth:`process` and the methods of a listener may be coroutine functions of asyncio.
    """

    _make = consumer.Consumer

    async def getmany(
        self, max_records: int | None = None, timeout_ms: int | None = 0
    ) -> dict[TopicPartition, list[Record]]:
        """Return the next records, by partition; cancelling it loses none."""
        answer = DeferredFuture(self.client.getmany(max_records, timeout_ms))
        try:
            return await answer
        except asyncio.CancelledError:
            # Records may have come in the same turn of the loop, before this task continued.
            if answer.done() and not answer.cancelled() and answer.exception() is None:
                rewind(self.client.seek, answer.result())
            raise

    async def getone(self) -> Record:
        """Wait for the next record and return it."""
        (found,) = (await self.getmany(1, None)).values()
        return found[0]

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Yield records until the consumer is closed."""
        while True:
            try:
                delivery = await DeferredFuture(self.client.next_delivery())
            except ClientClosed:
                return
            try:
                for record in delivery.remaining:
                    delivery.last = record
                    yield record
            finally:  # the application may leave the loop: the next record is one that it was not given
                delivery.state.interrupt_delivery()

    def process(
        self, function: Callable[[Any], Any], *, batches: bool = False, max_records: int | None = None
    ) -> DeferredFuture[None]:
        """Call a function with each record until the consumer is closed."""
        call = self._bridge(function)
        return DeferredFuture(self.client.process(call, batches=batches, max_records=max_records))


class SimpleConsumer(_Client[simple_consumer.SimpleConsumer], SimpleConsumerMethods):
    """See :class:`kafkatx.client.legacy.simple_consumer.SimpleConsumer`."""

    _make = simple_consumer.SimpleConsumer


class MessageStream:
    """See :class:`kafkatx.client.legacy.message_streams.MessageStream`; for one task at a time."""

    def __init__(self, stream: message_streams.MessageStream) -> None:
        """Made by :class:`ConsumerConnector`."""
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Yield records until the connector is shut down; the next iteration continues where this one ends.

        :raises KafkaTXError: the connector has failed, or another task reads from this stream.
        """
        while True:
            try:
                taken = await DeferredFuture(self._stream.next_records())
            except ClientClosed:
                return
            for record in self._stream.records(taken, taken.report_activity):
                yield record


class ConsumerConnector(_Client[consumer_connector.ConsumerConnector], ConnectorMethods[MessageStream]):
    """See :class:`kafkatx.client.legacy.consumer_connector.ConsumerConnector`."""

    _make = consumer_connector.ConsumerConnector

    async def shutdown(self, timeout_s: float = consumer.CLOSE_S) -> None:
        """Shut down as the Twisted connector's ``shutdown`` does; ``async with`` and ``close`` do so, too."""
        await self.close(timeout_s=timeout_s)

    def _end(self, **options: Any) -> Deferred[None]:
        return self.client.shutdown(**options)

    def _stream(self, stream: message_streams.MessageStream) -> MessageStream:
        return MessageStream(stream)


class Admin(_Client[admin.Admin], AdminMethods):
    """See :class:`kafkatx.client.admin.admin.Admin`."""

    _make = admin.Admin

    @property
    def groups(self) -> Groups:
        """Consumer groups and their offsets."""
        return Groups(self.client.groups)

    @property
    def configs(self) -> Configs:
        """Configs of topics and brokers."""
        return Configs(self.client.configs)

    @property
    def quotas(self) -> Quotas:
        """Client quotas."""
        return Quotas(self.client.quotas)

    @property
    def transactions(self) -> Transactions:
        """Transactional ids, and the producers of partitions."""
        return Transactions(self.client.transactions)

    @property
    def acls(self) -> Acls:
        """Access control lists."""
        return Acls(self.client.acls)

    @property
    def credentials(self) -> Credentials:
        """Users with SCRAM credentials."""
        return Credentials(self.client.credentials)
