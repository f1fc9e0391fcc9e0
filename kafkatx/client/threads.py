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

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool

from kafkatx.client import admin, configs, consumer, groups, producer, quotas
from kafkatx.client.gathering import Headers
from kafkatx.client.handover import Handover
from kafkatx.client.reactor_thread import ReactorThread
from kafkatx.client.streams import unread
from kafkatx.clientside.errors import ClientClosed
from kafkatx.clientside.outgoing import BatchMetadata, RecordMetadata
from kafkatx.clientside.position import Hand
from kafkatx.clientside.record import Record
from kafkatx.types import TopicPartition

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=admin.Admin | consumer.Consumer | producer.Producer)
F = TypeVar("F", bound="_Client[Any]")


def blocked(method: Callable[Concatenate[Any, P], Deferred[T]]) -> Callable[Concatenate[Any, P], T]:
    """A method of a Twisted client as one of this module's."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self.thread.call(lambda: method(self.client, *args, **kwargs), self.timeout_s)
        return result

    return call


def same(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method that waits for nothing, but is for the reactor's thread."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self.thread.do(lambda: method(self.client, *args, **kwargs), self.timeout_s)
        return result

    return call


class _Client(Generic[C]):
    """What the three have in common.

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
        ending: Deferred[None] = self.client.close(**options)
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
    """See :class:`kafkatx.client.producer.Producer`.

    Sending gives a future, and does not wait for the broker: wait for the future's ``result()``, or for
    :meth:`flush`. But it waits for room while ``buffer.memory`` is full; after ``max.block.ms`` the future
    fails with BufferExhausted.
    """

    _make = producer.Producer

    def __init__(self, settings: Mapping[str, Any] = MappingProxyType({}), **more: Any) -> None:
        super().__init__(settings, **more)
        self._handover = Handover(self.thread.reactor, self.client.ready)

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
        return self._handover.put(lambda: send(topic, value, key, partition, headers, timestamp_ms))

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
        return self._handover.put(lambda: send(topic, values, key, partition, timestamp_ms))

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until all that was sent before is in the log or has failed; the futures say which.

        :param timeout_s: None: as long as any call may take.
        :raises RequestTimedOut: it took longer.
        """
        timeout_s = self.timeout_s if timeout_s is None else timeout_s
        self.thread.call(lambda: Deferred.fromCoroutine(self._flush()), timeout_s)

    async def _flush(self) -> None:
        await self._handover.rest()
        await self.client.flush()

    def _end(self, **options: Any) -> Deferred[None]:
        return Deferred.fromCoroutine(self._send_all(**options))

    async def _send_all(self, timeout_s: float | None = None) -> None:
        """Close the producer when all is handed over to it, or when that takes too long."""
        self._handover.close()
        reactor, before = self.thread.reactor, self.thread.reactor.seconds()
        resting = self._handover.rest()
        if timeout_s is not None:
            resting.addTimeout(timeout_s, reactor, onTimeoutCancel=lambda *_: None)
        await resting
        left = None if timeout_s is None else max(0.0, timeout_s - (reactor.seconds() - before))
        await self.client.close(left)


class Consumer(_Client[consumer.Consumer]):
    """See :class:`kafkatx.client.consumer.Consumer`. The iteration over it never ends, it waits.

    A listener's methods and the function of :meth:`process` are called in threads of the reactor's pool: they
    may block, and call the consumer. ``timeout_s`` does not hold for records that are waited for.
    """

    _make = consumer.Consumer

    assign = same(consumer.Consumer.assign)
    unsubscribe = blocked(consumer.Consumer.unsubscribe)
    assignment = same(consumer.Consumer.assignment)
    seek = same(consumer.Consumer.seek)
    seek_to_beginning = same(consumer.Consumer.seek_to_beginning)
    seek_to_end = same(consumer.Consumer.seek_to_end)
    pause = same(consumer.Consumer.pause)
    resume = same(consumer.Consumer.resume)
    paused = same(consumer.Consumer.paused)
    position = blocked(consumer.Consumer.position)
    highwater = same(consumer.Consumer.highwater)
    commit = blocked(consumer.Consumer.commit)
    committed = blocked(consumer.Consumer.committed)
    beginning_offsets = blocked(consumer.Consumer.beginning_offsets)
    end_offsets = blocked(consumer.Consumer.end_offsets)
    offsets_for_times = blocked(consumer.Consumer.offsets_for_times)

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        listener: Any = None,
    ) -> None:
        """Share topics with the members of the group, instead of those before."""
        told = None if listener is None else _Listener(listener, self._in_pool)
        self.thread.do(lambda: self.client.subscribe(topics, pattern, told))

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
        unread(self.client.seek, found)

    def __iter__(self) -> Iterator[Record]:
        """Give records until the consumer is closed by another thread. One iteration at a time."""
        while True:
            try:
                hand = self.thread.call(self.client.hand, late=_return)
            except ClientClosed:
                return
            try:
                for record in hand.rest:
                    hand.last = record
                    yield record
            except BaseException:  # the application left the loop: what it was not given is the next
                self.thread.reactor.callFromThread(_return, hand)
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
        call = self._in_pool(function)
        self.thread.call(
            lambda: self.client.process(call, batches=batches, max_records=max_records), timeout_s
        )

    def _in_pool(self, function: Callable[..., Any]) -> Callable[..., Deferred[Any]]:
        reactor = self.thread.reactor
        return lambda *args: deferToThreadPool(reactor, reactor.getThreadPool(), function, *args)


def _return(hand: Hand) -> None:
    hand.position.interrupt()


class _Listener:
    """A rebalance listener whose methods block."""

    def __init__(self, listener: Any, in_pool: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self._listener = listener
        self._in_pool = in_pool

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._in_pool(getattr(self._listener, name))


class _Part(Generic[T]):
    """A part of :class:`Admin`."""

    def __init__(self, client: T, thread: ReactorThread, timeout_s: float | None) -> None:
        self.client = client
        self.thread = thread
        self.timeout_s = timeout_s


class Groups(_Part[groups.Groups]):
    """See :class:`kafkatx.client.groups.Groups`."""

    listings = blocked(groups.Groups.listings)
    describe = blocked(groups.Groups.describe)
    delete = blocked(groups.Groups.delete)
    offsets = blocked(groups.Groups.offsets)
    commit = blocked(groups.Groups.commit)
    delete_offsets = blocked(groups.Groups.delete_offsets)
    progress = blocked(groups.Groups.progress)


class Configs(_Part[configs.Configs]):
    """See :class:`kafkatx.client.configs.Configs`."""

    describe = blocked(configs.Configs.describe)
    alter = blocked(configs.Configs.alter)


class Quotas(_Part[quotas.Quotas]):
    """See :class:`kafkatx.client.quotas.Quotas`."""

    describe = blocked(quotas.Quotas.describe)
    alter = blocked(quotas.Quotas.alter)


class Admin(_Client[admin.Admin]):
    """See :class:`kafkatx.client.admin.Admin`."""

    _make = admin.Admin

    create_topic = blocked(admin.Admin.create_topic)
    delete_topic = blocked(admin.Admin.delete_topic)
    create_partitions = blocked(admin.Admin.create_partitions)
    metadata = blocked(admin.Admin.metadata)
    list_topics = blocked(admin.Admin.list_topics)
    describe_topic = blocked(admin.Admin.describe_topic)
    list_offsets = blocked(admin.Admin.list_offsets)
    delete_records = blocked(admin.Admin.delete_records)
    describe_log_dirs = blocked(admin.Admin.describe_log_dirs)

    @property
    def groups(self) -> Groups:
        """Consumer groups and their offsets."""
        return Groups(self.client.groups, self.thread, self.timeout_s)

    @property
    def configs(self) -> Configs:
        """Settings of topics and brokers."""
        return Configs(self.client.configs, self.thread, self.timeout_s)

    @property
    def quotas(self) -> Quotas:
        """How much clients may do."""
        return Quotas(self.client.quotas, self.thread, self.timeout_s)
