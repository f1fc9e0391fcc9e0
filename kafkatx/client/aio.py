"""The clients for asyncio: the Twisted ones, with methods that can be awaited there::

    async with Producer(bootstrap_servers="127.0.0.1:9092") as producer:
        await producer.send("events", b"value", key=b"key")

Each method is the Twisted client's, and says there what it does; where that returns a Deferred, this one
returns a future. Twisted's reactor for asyncio is underneath, over the loop that runs.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from kafkatx.client import admin, configs, consumer, groups, producer, quotas
from kafkatx.client.loops import Lease
from kafkatx.client.streams import unread
from kafkatx.clientside.errors import ClientClosed
from kafkatx.clientside.record import Record
from kafkatx.types import TopicPartition

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=admin.Admin | consumer.Consumer | producer.Producer)
F = TypeVar("F", bound="_Client[Any]")


class Answer(asyncio.Future[T]):
    """A Deferred as a future. Cancelling it cancels the Deferred at once."""

    def __init__(self, deferred: Deferred[T]) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self._deferred = deferred
        deferred.addCallbacks(self._succeed, self._fail)

    def _succeed(self, result: T) -> None:
        if not self.done():
            self.set_result(result)

    def _fail(self, failure: Failure) -> None:
        if self.done():
            return
        if failure.check(CancelledError):
            super().cancel()
        elif failure.value is not None:
            self.set_exception(failure.value)

    def cancel(self, msg: Any = None) -> bool:
        """Cancel both; false if it is done."""
        done = not super().cancel(msg)
        if not done:
            self._deferred.cancel()
        return not done


def awaited(method: Callable[Concatenate[Any, P], Deferred[T]]) -> Callable[Concatenate[Any, P], Answer[T]]:
    """A method of a Twisted client as one of this module's."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        return Answer(method(self.client, *args, **kwargs))

    return call


def same(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method that waits for nothing."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self.client, *args, **kwargs)

    return call


def _bridged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an asyncio application, which may be a coroutine function, as Twisted calls it."""

    def call(*args: Any) -> Any:
        result = function(*args)
        if isinstance(result, Deferred) or not inspect.isawaitable(result):
            return result
        return Deferred.fromFuture(asyncio.ensure_future(result))

    return call


class _Listener:
    """A rebalance listener whose methods may be coroutine functions."""

    def __init__(self, listener: Any) -> None:
        self._listener = listener

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _bridged(getattr(self._listener, name))


class _Client(Generic[C]):
    """What the three have in common. Made while the loop runs that it is used in.

    :ivar client: the Twisted client.
    """

    _make: Callable[..., C]

    def __init__(
        self,
        settings: Mapping[str, Any] = MappingProxyType({}),
        *,
        beside: _Client[Any] | None = None,
        **more: Any,
    ) -> None:
        """Make it; :meth:`start` connects, and so does ``async with``.

        :param settings: by Kafka's names, with dots or underscores; *more* likewise.
        :param beside: another client, whose connections it shares; to be closed later than this.
        :raises SettingError: a setting is unknown or has a bad value.
        :raises RuntimeError: no loop runs.
        """
        self._lease = Lease(asyncio.get_running_loop())
        self._closing: Answer[None] | None = None
        cluster = None if beside is None else beside.client.cluster
        try:
            self.client: C = type(self)._make(settings, reactor=self._lease.reactor, cluster=cluster, **more)
        except BaseException:
            self._lease.end()
            raise

    async def start(self: F) -> F:
        """Connect.

        :raises ConnectionFailed: no broker answers; :meth:`close` it then.
        """
        await Answer(self.client.start())
        return self

    async def close(self, **options: Any) -> None:
        """End it, as the Twisted client's ``close`` does; cancelling this does not stop that."""
        if self._closing is None:
            ending: Deferred[None] = self.client.close(**options)
            self._closing = Answer(ending.addBoth(self._ended))
        await asyncio.shield(self._closing)

    def _ended(self, result: Any) -> Any:
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


class Producer(_Client[producer.Producer]):
    """See :class:`kafkatx.client.producer.Producer`.

    ``send`` and ``send_batch`` can be awaited, and the record is there then; they send without it, too.
    """

    _make = producer.Producer

    send = awaited(producer.Producer.send)
    send_batch = awaited(producer.Producer.send_batch)
    ready = awaited(producer.Producer.ready)
    flush = awaited(producer.Producer.flush)


class Consumer(_Client[consumer.Consumer]):
    """See :class:`kafkatx.client.consumer.Consumer`.

    The function of :meth:`process` and the methods of a listener may be coroutine functions of asyncio.
    """

    _make = consumer.Consumer

    assign = same(consumer.Consumer.assign)
    unsubscribe = awaited(consumer.Consumer.unsubscribe)
    assignment = same(consumer.Consumer.assignment)
    seek = same(consumer.Consumer.seek)
    seek_to_beginning = same(consumer.Consumer.seek_to_beginning)
    seek_to_end = same(consumer.Consumer.seek_to_end)
    pause = same(consumer.Consumer.pause)
    resume = same(consumer.Consumer.resume)
    paused = same(consumer.Consumer.paused)
    position = awaited(consumer.Consumer.position)
    highwater = same(consumer.Consumer.highwater)
    commit = awaited(consumer.Consumer.commit)
    committed = awaited(consumer.Consumer.committed)
    beginning_offsets = awaited(consumer.Consumer.beginning_offsets)
    end_offsets = awaited(consumer.Consumer.end_offsets)
    offsets_for_times = awaited(consumer.Consumer.offsets_for_times)

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        listener: Any = None,
    ) -> None:
        """Share topics with the members of the group, instead of those before."""
        self.client.subscribe(topics, pattern, None if listener is None else _Listener(listener))

    async def getmany(
        self, max_records: int | None = None, timeout_ms: int | None = 0
    ) -> dict[TopicPartition, list[Record]]:
        """The next records, by partition; cancelling it loses none."""
        answer = Answer(self.client.getmany(max_records, timeout_ms))
        try:
            return await answer
        except asyncio.CancelledError:
            # They may have come in the same turn of the loop, before this task could go on.
            if answer.done() and not answer.cancelled() and answer.exception() is None:
                unread(self.client.seek, answer.result())
            raise

    async def getone(self) -> Record:
        """The next record, whenever it comes."""
        (found,) = (await self.getmany(1, None)).values()
        return found[0]

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Give records until the consumer is closed."""
        while True:
            try:
                hand = await Answer(self.client.hand())
            except ClientClosed:
                return
            try:
                for record in hand.rest:
                    hand.last = record
                    yield record
            finally:  # the application may leave the loop: what it was not given is the next
                hand.position.interrupt()

    def process(
        self, function: Callable[[Any], Any], *, batches: bool = False, max_records: int | None = None
    ) -> Answer[None]:
        """Call a function with each record until the consumer is closed."""
        call = _bridged(function)
        return Answer(self.client.process(call, batches=batches, max_records=max_records))


class Groups:
    """See :class:`kafkatx.client.groups.Groups`."""

    def __init__(self, client: groups.Groups) -> None:
        self.client = client

    listings = awaited(groups.Groups.listings)
    describe = awaited(groups.Groups.describe)
    delete = awaited(groups.Groups.delete)
    offsets = awaited(groups.Groups.offsets)
    commit = awaited(groups.Groups.commit)
    delete_offsets = awaited(groups.Groups.delete_offsets)
    progress = awaited(groups.Groups.progress)


class Configs:
    """See :class:`kafkatx.client.configs.Configs`."""

    def __init__(self, client: configs.Configs) -> None:
        self.client = client

    describe = awaited(configs.Configs.describe)
    alter = awaited(configs.Configs.alter)


class Quotas:
    """See :class:`kafkatx.client.quotas.Quotas`."""

    def __init__(self, client: quotas.Quotas) -> None:
        self.client = client

    describe = awaited(quotas.Quotas.describe)
    alter = awaited(quotas.Quotas.alter)


class Admin(_Client[admin.Admin]):
    """See :class:`kafkatx.client.admin.Admin`."""

    _make = admin.Admin

    create_topic = awaited(admin.Admin.create_topic)
    delete_topic = awaited(admin.Admin.delete_topic)
    create_partitions = awaited(admin.Admin.create_partitions)
    metadata = awaited(admin.Admin.metadata)
    list_topics = awaited(admin.Admin.list_topics)
    describe_topic = awaited(admin.Admin.describe_topic)
    list_offsets = awaited(admin.Admin.list_offsets)
    delete_records = awaited(admin.Admin.delete_records)
    describe_log_dirs = awaited(admin.Admin.describe_log_dirs)

    @property
    def groups(self) -> Groups:
        """Consumer groups and their offsets."""
        return Groups(self.client.groups)

    @property
    def configs(self) -> Configs:
        """Settings of topics and brokers."""
        return Configs(self.client.configs)

    @property
    def quotas(self) -> Quotas:
        """How much clients may do."""
        return Quotas(self.client.quotas)
