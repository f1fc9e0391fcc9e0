"""The clients for programs that block: the Twisted ones, each with a reactor in a thread of its own::

    with Consumer(bootstrap_servers="127.0.0.1:9092", group_id="mine") as consumer:
        consumer.subscribe(["events"])
        for record in consumer:
            print(record.value)

Each method is the Twisted client's, and says there what it does; where that returns a Deferred, this one
waits for it: at most ``timeout_s``, and fails with RequestTimedOut then. Methods may be called from any
thread, but not from functions that the client itself calls: encoders, callbacks, done-callbacks of futures.
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
from kafkatx.client.facades.call_queue import CallQueue
from kafkatx.client.facades.forwarder import BlockingFacade
from kafkatx.client.facades.methods import (
    AdminMethods,
    ConfigsMethods,
    ConnectorMethods,
    ConsumerMethods,
    GroupsMethods,
    QuotasMethods,
    SimpleConsumerMethods,
)
from kafkatx.client.facades.reactor_thread import ReactorThread
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
    """The functions of an application may block: they are called in threads of the reactor's pool."""

    def _bridge(self, function: Callable[..., Any]) -> Callable[..., Deferred[Any]]:
        reactor = self.thread.reactor
        return lambda *args: deferToThreadPool(reactor, reactor.getThreadPool(), function, *args)


class _Client(_Facade, Generic[C]):
    """What the clients have in common.

    :ivar client: the Twisted client, for its reactor's thread only.
    :ivar thread: where that runs.
    :ivar timeout_s: how long a call may take; None: as long as the client's settings let it.
    """

    _make: Callable[..., C]

    def __init__(
        self,
        settings: Mapping[str, Any] = MappingProxyType({}),
        *,
        timeout_s: float | None = None,
        beside: _Client[Any] | None = None,
        **more: Any,
    ) -> None:
        """Make it; :meth:`start` connects, and so does ``with``.

        :param settings: by Kafka's names, with dots or underscores; *more* likewise.
        :param beside: another client, whose thread and connections it shares; to be closed later than this.
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
        start: Callable[[], Deferred[Any]] = self.client.start
        self.thread.call(start, self.timeout_s)
        return self

    def close(self, **options: Any) -> None:
        """End it, as the Twisted client's ``close`` does, and the thread with it; once is enough."""
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


class Producer(_Client[producer.Producer]):
    """See :class:`kafkatx.client.producer.producer.Producer`.

    Sending gives a future, and does not wait for the broker: wait for the future's ``result()``, or for
    :meth:`flush`. But it waits for room while ``buffer.memory`` is full; after ``max.block.ms`` the future
    fails with BufferExhausted.
    """

    _make = producer.Producer

    def __init__(self, settings: Mapping[str, Any] = MappingProxyType({}), **more: Any) -> None:
        super().__init__(settings, **more)
        self._calls = CallQueue(self.thread.reactor, self.client.ready)

    def send(
        self,
        topic: str,
        value: Any,
        key: Any = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> Future[RecordMetadata]:
        """Send one record.

        :return: gets where it is, or why it is nowhere.
        :raises ClientClosed: the producer is closed.
        """
        send = self.client.send
        return self._calls.put(lambda: send(topic, value, key, partition, headers, timestamp_ms))

    def produce(
        self,
        topic: str,
        value: Any,
        key: Any = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Send one record without a future; waits for room as :meth:`send` does.

        What is wrong with the arguments reaches *on_delivery*, or else :meth:`flush`, like all other errors.

        :param on_delivery: called in the reactor's thread; it must not block, nor call the producer.
        :raises ClientClosed: the producer is closed.
        """
        record = (topic, value, key, partition, headers, timestamp_ms, on_delivery)
        self._calls.tell(self.client.produce, record, on_delivery)

    def send_batch(
        self,
        topic: str,
        values: Sequence[Any],
        key: Any = None,
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
        """Wait until all that was sent before is in the log or has failed; the futures say which.

        :param timeout_s: None: as long as any call may take.
        :raises RequestTimedOut: it took longer.
        :raises RecordsLost: records of :meth:`produce` without a callback are not in the log.
        """
        timeout_s = self.timeout_s if timeout_s is None else timeout_s
        self.thread.call(lambda: Deferred.fromCoroutine(self._flush()), timeout_s)

    async def _flush(self) -> None:
        await self._calls.rest()
        await self.client.flush()
        self._calls.check()

    def _end(self, **options: Any) -> Deferred[None]:
        return Deferred.fromCoroutine(self._send_all(**options))

    async def _send_all(self, timeout_s: float | None = None) -> None:
        """Close the producer when all is handed over to it, or when that takes too long."""
        self._calls.close()
        reactor, before = self.thread.reactor, self.thread.reactor.seconds()
        resting = self._calls.rest()
        if timeout_s is not None:
            resting.addTimeout(timeout_s, reactor, onTimeoutCancel=lambda *_: None)
        await resting
        left = None if timeout_s is None else max(0.0, timeout_s - (reactor.seconds() - before))
        await self.client.close(left)
        self._calls.check()


class Consumer(_Client[consumer.Consumer], ConsumerMethods):
    """See :class:`kafkatx.client.consumer.consumer.Consumer`. The iteration over it never ends, it waits.

    A listener's methods and the function of :meth:`process` are called in threads of the reactor's pool: they
    may block, and call the consumer. ``timeout_s`` does not hold for records that are waited for.
    """

    _make = consumer.Consumer

    def getmany(
        self, max_records: int | None = None, timeout_ms: int | None = 0
    ) -> dict[TopicPartition, list[Record]]:
        """The next records, by partition; Ctrl-C loses none.

        :param timeout_ms: how long to wait for some; None: for ever.
        """
        return self.thread.call(lambda: self.client.getmany(max_records, timeout_ms), late=self._unread)

    def getone(self, timeout_ms: int | None = None) -> Record | None:
        """The next record; None if there is none within the time."""
        for found in self.getmany(1, timeout_ms).values():
            return found[0]
        return None

    def _unread(self, found: dict[TopicPartition, list[Record]]) -> None:
        rewind(self.client.seek, found)

    def __iter__(self) -> Iterator[Record]:
        """Give records until the consumer is closed by another thread. One iteration at a time."""
        while True:
            try:
                hand = self.thread.call(self.client.next_delivery, late=_return)
            except ClientClosed:
                return
            try:
                for record in hand.remaining:
                    hand.last = record
                    yield record
            except BaseException:  # the application left the loop: what it was not given is the next
                self.thread.tell(_return, hand)
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

        Records of several partitions are at work at the same time, in threads of the pool.

        :param timeout_s: None: for ever; else it ends after that, and raises RequestTimedOut.
        :raises Exception: what the function raised; its record is not done then.
        """
        call = self._bridge(function)
        self.thread.call(
            lambda: self.client.process(call, batches=batches, max_records=max_records), timeout_s
        )


def _return(hand: Delivery) -> None:
    hand.state.interrupt_delivery()


class SimpleConsumer(_Client[simple_consumer.SimpleConsumer], SimpleConsumerMethods):
    """See :class:`kafkatx.client.legacy.simple_consumer.SimpleConsumer`."""

    _make = simple_consumer.SimpleConsumer


class MessageStream:
    """See :class:`kafkatx.client.legacy.message_streams.MessageStream`: here for threads, one at a time."""

    def __init__(self, stream: message_streams.MessageStream, thread: ReactorThread) -> None:
        """Made by :class:`ConsumerConnector`."""
        self._stream = stream
        self._thread = thread

    def __iter__(self) -> Iterator[Record]:
        """Give records until the connector is shut down. Who leaves the loop gets the rest later.

        :raises KafkaTXError: the connector failed; or somebody else reads from this stream.
        """
        while True:
            try:
                taken = self._thread.call(self._stream.ask)
            except ClientClosed:
                return
            yield from self._stream.records(taken, partial(self._thread.tell, taken.alive))


class ConsumerConnector(_Client[consumer_connector.ConsumerConnector], ConnectorMethods[MessageStream]):
    """See :class:`kafkatx.client.legacy.consumer_connector.ConsumerConnector`. A thread reads each stream.

    ``timeout_s`` does not hold for records that are waited for.
    """

    _make = consumer_connector.ConsumerConnector

    def shutdown(self, timeout_s: float = consumer.CLOSE_S) -> None:
        """End it, as the Twisted connector's ``shutdown`` does; ``with`` and ``close`` do so, too."""
        self.close(timeout_s=timeout_s)

    def _end(self, **options: Any) -> Deferred[None]:
        return self.client.shutdown(**options)

    def _stream(self, stream: message_streams.MessageStream) -> MessageStream:
        return MessageStream(stream, self.thread)


class _Part(_Facade):
    """A part of :class:`Admin`."""

    def __init__(self, client: Any, whole: BlockingFacade) -> None:
        self.client = client
        self.thread = whole.thread
        self.timeout_s = whole.timeout_s


class Groups(_Part, GroupsMethods):
    """See :class:`kafkatx.client.admin.groups.Groups`."""


class Configs(_Part, ConfigsMethods):
    """See :class:`kafkatx.client.admin.configs.Configs`."""


class Quotas(_Part, QuotasMethods):
    """See :class:`kafkatx.client.admin.quotas.Quotas`."""


class Admin(_Client[admin.Admin], AdminMethods):
    """See :class:`kafkatx.client.admin.admin.Admin`."""

    _make = admin.Admin

    @property
    def groups(self) -> Groups:
        """Consumer groups and their offsets."""
        return Groups(self.client.groups, self)

    @property
    def configs(self) -> Configs:
        """Settings of topics and brokers."""
        return Configs(self.client.configs, self)

    @property
    def quotas(self) -> Quotas:
        """How much clients may do."""
        return Quotas(self.client.quotas, self)
