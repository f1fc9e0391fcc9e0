"""The clients for programs that block: facades of the Twisted clients, each with a reactor in a thread::

    with Consumer(bootstrap_servers="127.0.0.1:9092", group_id="mine") as consumer:
        consumer.subscribe(["events"])
        for record in consumer:
            print(record.value)

Each method is documented at the Twisted client; where that returns a Deferred, this one blocks, for
``timeout_s`` at most, and raises RequestTimedOut after that. Methods may be called in any thread, but not in
functions that the client itself calls: encoders, callbacks, done-callbacks of futures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool

from kafkatx.client.admin import admin
from kafkatx.client.consumer import consumer
from kafkatx.client.consumer.iterators import rewind
from kafkatx.client.facades.blocking_parts import (
    Acls,
    Configs,
    Credentials,
    Groups,
    Quotas,
    Transactions,
)
from kafkatx.client.facades.blocking_stream import MessageStream as MessageStream
from kafkatx.client.facades.call_queue import CallQueue
from kafkatx.client.facades.forwarder import BlockingFacade
from kafkatx.client.facades.methods import (
    AdminMethods,
    ConnectorMethods,
    ConsumerMethods,
    SimpleConsumerMethods,
)
from kafkatx.client.facades.reactor_thread import ReactorThread
from kafkatx.client.facades.transactions import BlockingTransactions
from kafkatx.client.legacy import consumer_connector, message_streams, simple_consumer
from kafkatx.client.producer import producer
from kafkatx.client.producer.receipts import OnDelivery
from kafkatx.client.producer.topic_queues import Headers
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.producer.values import BatchMetadata, ProducerData, RecordMetadata
from kafkatx.types import TopicPartition

C = TypeVar(
    "C",
    bound=admin.Admin
    | consumer_connector.ConsumerConnector
    | consumer.Consumer
    | producer.Producer
    | simple_consumer.SimpleConsumer,
)
F = TypeVar("F", bound="_Client[Any]")


class _Facade(BlockingFacade):
    """A facade that calls the application's functions in threads of the reactor's pool."""

    def _bridge(self, function: Callable[..., Any]) -> Callable[..., Deferred[Any]]:
        reactor = self.thread.reactor
        return lambda *args: deferToThreadPool(reactor, reactor.getThreadPool(), function, *args)


class _Client(_Facade, Generic[C]):
    """The base of all clients.

    :ivar client: the Twisted client, to be used in its reactor's thread only.
    :ivar thread: the thread of its reactor.
    :ivar timeout_s: the time-out of a call in seconds; None: only the client's settings limit it.
    """

    _make: Callable[..., C]

    def __init__(
        self,
        settings: Mapping[str, object] = MappingProxyType({}),
        *,
        timeout_s: float | None = None,
        beside: _Client[Any] | None = None,
        **more: object,
    ) -> None:
        """Make a client; :meth:`start` or ``with`` connects.

        :param settings: by Kafka's names, with dots or underscores; *more* likewise.
        :param beside: another client whose thread and connections it shares; close that one later.
        :raises SettingError: a setting is unknown or has a bad value.
        """
        self.timeout_s = timeout_s
        self._owns_thread = beside is None
        cluster = None if beside is None else beside.client.cluster
        self.thread: ReactorThread = ReactorThread("kafkatx client") if beside is None else beside.thread
        make = type(self)._make
        try:
            self.client: C = self.thread.do(
                lambda: make(settings, reactor=self.thread.reactor, cluster=cluster, **more)
            )
        except BaseException:
            self._stop()
            raise
        self._closed = False

    def start(self: F) -> F:
        """Connect.

        :return: this client.
        :raises ConnectionFailed: no broker answers; :meth:`close` it then.
        """
        start: Callable[[], Deferred[object]] = self.client.start
        self.thread.call(start, self.timeout_s)
        return self

    def close(self, **options: Any) -> None:
        """Close the client as the Twisted client's ``close`` does, and end its thread; again does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.thread.call(partial(self._end, **options), self.timeout_s)
        finally:
            self._stop()

    def _end(self, **options: Any) -> Deferred[None]:
        client: Any = self.client
        ending: Deferred[None] = client.close(**options)
        return ending

    def _stop(self) -> None:
        if self._owns_thread:
            self.thread.stop()

    def __enter__(self: F) -> F:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class Producer(_Client[producer.Producer], BlockingTransactions):
    """See :class:`kafkatx.client.producer.producer.Producer`.

    Sending returns a future and does not wait for the broker: call the future's ``result()``, or
    :meth:`flush`. It blocks while ``buffer.memory`` is used up; after ``max.block.ms`` the future fails with
    BufferExhausted.
    """

    _make = producer.Producer

    def __init__(self, settings: Mapping[str, object] = MappingProxyType({}), **more: Any) -> None:
        super().__init__(settings, **more)
        self._calls = CallQueue(self.thread.reactor, self.client.ready)

    def send(
        self,
        topic: str,
        value: object,
        key: object = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> Future[RecordMetadata]:
        """Send one record.

        :return: a future of the record's place in the log, or of the errors of the Twisted ``send``.
        :raises ClientClosed: the producer is closed.
        """
        send = self.client.send
        return self._calls.put(lambda: send(topic, value, key, partition, headers, timestamp_ms))

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
        """Send one record without a future; block for memory as :meth:`send` does.

        All errors, also of wrong arguments, reach *on_delivery*, or else the next :meth:`flush`.

        :param on_delivery: called in the reactor's thread; it must not block, nor call the producer.
        :raises ClientClosed: the producer is closed.
        """
        record = (topic, value, key, partition, headers, timestamp_ms, on_delivery)
        self._calls.tell(self.client.produce, record, on_delivery)

    def send_batch(
        self,
        topic: str,
        values: Sequence[object],
        key: object = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Future[BatchMetadata]:
        """Send a list of values at once; otherwise as :meth:`send`."""
        send = self.client.send_batch
        return self._calls.put(lambda: send(topic, values, key, partition, timestamp_ms))

    def send_all(self, data: Iterable[ProducerData]) -> Future[list[BatchMetadata]]:
        """Send lists of values for any topics and keys at once; otherwise as :meth:`send`."""
        send, lists = self.client.send_all, list(data)
        return self._calls.put(lambda: send(lists))

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until all records of earlier calls are in the log or have failed; their futures tell which.

        :param timeout_s: None: the client's ``timeout_s``.
        :raises RequestTimedOut: it took longer.
        :raises RecordsLost: records of :meth:`produce` without a callback have failed.
        """
        timeout_s = self.timeout_s if timeout_s is None else timeout_s
        self.thread.call(lambda: Deferred.fromCoroutine(self._flush()), timeout_s)

    async def _flush(self) -> None:
        await self._calls.wait_until_empty()
        await self.client.flush()
        self._calls.check()

    def _end(self, **options: Any) -> Deferred[None]:
        return Deferred.fromCoroutine(self._send_all(**options))

    async def _send_all(self, timeout_s: float | None = None) -> None:
        """Close the producer when all queued calls are made, or after *timeout_s*."""
        self._calls.close()
        reactor, before = self.thread.reactor, self.thread.reactor.seconds()
        emptying = self._calls.wait_until_empty()
        if timeout_s is not None:
            emptying.addTimeout(timeout_s, reactor, onTimeoutCancel=lambda *_: None)
        await emptying
        left = None if timeout_s is None else max(0.0, timeout_s - (reactor.seconds() - before))
        await self.client.close(left)
        self._calls.check()


class Consumer(_Client[consumer.Consumer], ConsumerMethods):
    """See :class:`kafkatx.client.consumer.consumer.Consumer`. Iterating over it waits for more records.

    A listener's methods and the function of :meth:`process` are called in threads of the reactor's pool: they
    may block, and call the consumer. ``timeout_s`` does not limit the wait for records.
    """

    _make = consumer.Consumer

    def getmany(
        self, max_records: int | None = None, timeout_ms: int | None = 0
    ) -> dict[TopicPartition, list[Record]]:
        """Return the next records, by partition; KeyboardInterrupt loses none.

        :param timeout_ms: the time to wait for records; None: for ever.
        """
        return self.thread.call(lambda: self.client.getmany(max_records, timeout_ms), late=self._unread)

    def getone(self, timeout_ms: int | None = None) -> Record | None:
        """Return the next record; None if there is none within *timeout_ms*."""
        for found in self.getmany(1, timeout_ms).values():
            return found[0]
        return None

    def _unread(self, found: dict[TopicPartition, list[Record]]) -> None:
        rewind(self.client.seek, found)

    def __iter__(self) -> Iterator[Record]:
        """Yield records until another thread closes the consumer. One iteration at a time."""
        while True:
            try:
                delivery = self.thread.call(self.client.next_delivery, late=_return)
            except ClientClosed:
                return
            try:
                for record in delivery.remaining:
                    delivery.last = record
                    yield record
            except BaseException:  # the application left the loop, and was not given the next record
                self.thread.tell(_return, delivery)
                raise

    def process(
        self,
        function: Callable[[Any], Any],
        *,
        batches: bool = False,
        max_records: int | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Call a function with each record until another thread closes the consumer.

        Records of several partitions are processed at the same time, in threads of the pool.

        :param timeout_s: None: for ever; else it raises RequestTimedOut after that.
        :raises Exception: the function's exception; its record is not committed then.
        """
        call = self._bridge(function)
        self.thread.call(
            lambda: self.client.process(call, batches=batches, max_records=max_records), timeout_s
        )


def _return(delivery: Delivery) -> None:
    delivery.state.interrupt_delivery()


class SimpleConsumer(_Client[simple_consumer.SimpleConsumer], SimpleConsumerMethods):
    """See :class:`kafkatx.client.legacy.simple_consumer.SimpleConsumer`."""

    _make = simple_consumer.SimpleConsumer


class ConsumerConnector(_Client[consumer_connector.ConsumerConnector], ConnectorMethods[MessageStream]):
    """See :class:`kafkatx.client.legacy.consumer_connector.ConsumerConnector`. Read each stream in a thread.

    ``timeout_s`` does not limit the wait for records.
    """

    _make = consumer_connector.ConsumerConnector

    def shutdown(self, timeout_s: float = consumer.CLOSE_S) -> None:
        """Shut down as the Twisted connector's ``shutdown`` does; ``with`` and ``close`` do so, too."""
        self.close(timeout_s=timeout_s)

    def _end(self, **options: Any) -> Deferred[None]:
        return self.client.shutdown(**options)

    def _stream(self, stream: message_streams.MessageStream) -> MessageStream:
        return MessageStream(stream, self.thread)


class Admin(_Client[admin.Admin], AdminMethods):
    """See :class:`kafkatx.client.admin.admin.Admin`."""

    _make = admin.Admin

    @property
    def groups(self) -> Groups:
        """Consumer groups and their offsets."""
        return Groups(self.client.groups, self)

    @property
    def configs(self) -> Configs:
        """Configs of topics and brokers."""
        return Configs(self.client.configs, self)

    @property
    def quotas(self) -> Quotas:
        """Client quotas."""
        return Quotas(self.client.quotas, self)

    @property
    def transactions(self) -> Transactions:
        """Transactional ids, and the producers of partitions."""
        return Transactions(self.client.transactions, self)

    @property
    def acls(self) -> Acls:
        """Access control lists."""
        return Acls(self.client.acls, self)

    @property
    def credentials(self) -> Credentials:
        """Users with SCRAM credentials."""
        return Credentials(self.client.credentials, self)
