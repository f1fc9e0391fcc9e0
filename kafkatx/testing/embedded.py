"""A real broker for tests: on a free port of 127.0.0.1, its data removed at the end.

:class:`EmbeddedBroker` is the broker for blocking code, :class:`AsyncBroker` the same one for coroutines. How
it is run is in :mod:`kafkatx.testing.broker_thread` and :mod:`kafkatx.testing.broker_process`.
"""

from __future__ import annotations

import re
import uuid
import weakref
from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Literal, TypeAlias

from kafkatx.scratch import Scratch
from kafkatx.testing.broker_log import BrokerLog
from kafkatx.testing.broker_process import BrokerProcess
from kafkatx.testing.broker_thread import BrokerThread
from kafkatx.testing.faults import BrokerFaults
from kafkatx.testing.messages import Message, Text, create_topic, produce, read_messages
from kafkatx.testing.off_loop import run_in_thread

START_S = 30.0
TIMEOUT_S = 10.0

SettingValue: TypeAlias = str | int | float | bool
"""A setting's value; True and False are written ``true`` and ``false``."""

brokers: weakref.WeakSet[EmbeddedBroker] = weakref.WeakSet()
"""All embedded brokers of this process, for reports of failed tests."""


_HTTP = re.compile(r"HTTP at (https?://\S+?)(?:,|$)", re.MULTILINE)
"""The line of the log that tells the address of the HTTP listener."""


class EmbeddedBroker:
    """A broker in a thread of this process, or in a process of its own::

        with EmbeddedBroker() as broker:
            producer = KafkaProducer(bootstrap_servers=broker.bootstrap)

    ``async with`` gives an :class:`AsyncBroker`.

    :ivar bootstrap: ``host:port`` for clients, once started.
    :ivar http: URL of the HTTP listener with the schema registry, once started, if the setting
        ``http.listeners`` asks for one; ``{"http.listeners": "HTTP://127.0.0.1:0"}`` is any free port.
    :ivar data_dir: the directory of its logs.
    :ivar pid: the id of its process, if it has one and runs.
    :ivar settings: all settings that it is started with, as text.
    """

    def __init__(
        self,
        settings: Mapping[str, SettingValue] = MappingProxyType({}),
        *,
        data_dir: str | None = None,
        run_in: Literal["thread", "process"] = "thread",
    ) -> None:
        """Make a broker; ``start()``, ``with`` or ``async with`` starts it.

        :param settings: broker settings by Kafka's names: ``{"num.partitions": 3}``. They override those that
            make it small and private.
        :param data_dir: the directory for the logs; without one they are removed with the broker. A broker
            that is started again with the same directory has the same data.
        :param run_in: a thread is quicker to start; a process can be killed, and shares no interpreter. It
            stops when this process ends, however that ends.
        """
        self._temporary = Scratch() if data_dir is None else None
        self.data_dir = data_dir if self._temporary is None else self._temporary.path
        self.settings: dict[str, str] = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(self.data_dir),
            "group.initial.rebalance.delay.ms": "0",
            **{name: setting_text(value) for name, value in settings.items()},
        }
        self.bootstrap = ""
        self.http = ""
        self.pid: int | None = None
        self.log = BrokerLog()
        self._first_line = 0
        self._faults = BrokerFaults() if run_in == "thread" else None
        self._run: BrokerThread | BrokerProcess
        if self._faults is not None:
            self._run = BrokerThread(self.settings, self.log, self._faults)
        else:
            self._run = BrokerProcess(self.settings, self.log)
        brokers.add(self)

    @property
    def running(self) -> bool:
        """True if it was started and has not ended."""
        return self._run.running

    @property
    def faults(self) -> BrokerFaults:
        """The faults that can be injected into this broker.

        :raises RuntimeError: it runs in a process.
        """
        if self._faults is None:
            raise RuntimeError('faults need a broker in a thread: EmbeddedBroker(run_in="thread")')
        return self._faults

    def start(self) -> EmbeddedBroker:
        """Start the broker and wait until clients can connect.

        :raises BrokerDidNotStart: the message says why.
        """
        self._first_line = self.log.count
        self.bootstrap = self._run.start(START_S)
        self.pid = self._run.pid
        found = _HTTP.search(self.output())
        self.http = found[1] if found else ""
        return self

    def stop(self) -> None:
        """Stop the broker as SIGTERM does: it flushes, and leaves the marker of a clean shutdown.

        The data stay, for the next :meth:`start`.
        """
        self._run.stop()

    def kill(self) -> None:
        """Kill the broker as ``kill -9`` does.

        :raises RuntimeError: it runs in a thread.
        """
        self._run.kill()

    def cut(self) -> None:
        """Cut the broker off, from clients and from other brokers, until :meth:`heal`.

        Its connections are closed, and new ones get no answers. A broker of a cluster on ZooKeeper keeps its
        session there.

        :raises RuntimeError: it runs in a process.
        """
        self._run.cut()

    def heal(self) -> None:
        """End a cut."""
        self._run.heal()

    def freeze(self) -> None:
        """Freeze the broker as SIGSTOP does: connections stay open, and get no answers."""
        self._run.freeze()

    def thaw(self) -> None:
        """End a freeze."""
        self._run.thaw()

    def close(self) -> None:
        """Stop the broker and remove its temporary directory; a *data_dir* that was given stays."""
        self.stop()
        if self._temporary is not None:
            self._temporary.close()

    def output(self) -> str:
        """Return what the broker has logged since it was last started: the last 1000 lines of it."""
        return self.log.text(self._first_line)

    def topic(
        self, name: str, *, partitions: int = 1, configs: Mapping[str, SettingValue] = MappingProxyType({})
    ) -> str:
        """Create a topic called *name* and a unique suffix, ``orders-3f9a01c2``; return that name.

        So tests that share a broker do not see each other's messages.

        :raises RequestError: the broker refuses the name, the number or a config.
        """
        unique = f"{name}-{uuid.uuid4().hex[:8]}"
        texts = {config: setting_text(value) for config, value in configs.items()}
        create_topic(self.bootstrap, unique, partitions, texts)
        return unique

    def produce(
        self,
        topic: str,
        *values: Text | None,
        key: Text | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> None:
        """Write a message for each of *values* and wait until all are acknowledged.

        :param key: of all of them, *partition*, *headers* and *timestamp_ms* likewise.
        :raises KafkaTXError: the topic does not exist and is not created; or the broker refuses a message.
        """
        produce(self.bootstrap, topic, values, key, partition, headers, timestamp_ms)

    def messages(
        self, topic: str, count: int | None = None, *, timeout_s: float = TIMEOUT_S
    ) -> list[Message]:
        """Return all messages of a topic, ordered by partition and offset.

        :param count: wait until there are at least this many; None returns what is there.
        :raises MessagesMissing: there are fewer after *timeout_s* seconds.
        :raises UnknownTopic: there is no such topic, and no count to wait for.
        """
        return read_messages(self.bootstrap, topic, count, timeout_s)

    def __enter__(self) -> EmbeddedBroker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> AsyncBroker:
        broker = AsyncBroker(self)
        await broker.start()
        return broker

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await AsyncBroker(self).close()


def setting_text(value: SettingValue) -> str:
    """Return a setting's value as it stands in a properties file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class AsyncBroker:
    """An :class:`EmbeddedBroker` for coroutines: its methods run in a worker thread and are awaited.

    It works under asyncio (also with pytest-asyncio and anyio), trio and Twisted's reactor.
    """

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.broker = broker

    @property
    def bootstrap(self) -> str:
        """``host:port`` for clients, once started."""
        return self.broker.bootstrap

    @property
    def data_dir(self) -> str | None:
        """The directory of the broker's logs."""
        return self.broker.data_dir

    @property
    def pid(self) -> int | None:
        """The id of the broker's process, if it has one and runs."""
        return self.broker.pid

    @property
    def faults(self) -> BrokerFaults:
        """The faults that can be injected; see :attr:`EmbeddedBroker.faults`. Their methods never wait."""
        return self.broker.faults

    @property
    def running(self) -> bool:
        """True if the broker was started and has not ended."""
        return self.broker.running

    @property
    def settings(self) -> Mapping[str, str]:
        """All settings that the broker is started with, as text."""
        return self.broker.settings

    def output(self) -> str:
        """Return what the broker has logged since it was last started; see :meth:`EmbeddedBroker.output`."""
        return self.broker.output()

    async def start(self) -> AsyncBroker:
        """Start the broker; see :meth:`EmbeddedBroker.start`."""
        await run_in_thread(self.broker.start)
        return self

    async def stop(self) -> None:
        """Stop the broker; see :meth:`EmbeddedBroker.stop`."""
        await run_in_thread(self.broker.stop)

    async def kill(self) -> None:
        """Kill the broker; see :meth:`EmbeddedBroker.kill`."""
        await run_in_thread(self.broker.kill)

    async def freeze(self) -> None:
        """Freeze the broker; see :meth:`EmbeddedBroker.freeze`."""
        await run_in_thread(self.broker.freeze)

    async def thaw(self) -> None:
        """End a freeze; see :meth:`EmbeddedBroker.thaw`."""
        await run_in_thread(self.broker.thaw)

    async def cut(self) -> None:
        """Cut the broker off; see :meth:`EmbeddedBroker.cut`."""
        await run_in_thread(self.broker.cut)

    async def heal(self) -> None:
        """End a cut; see :meth:`EmbeddedBroker.heal`."""
        await run_in_thread(self.broker.heal)

    async def close(self) -> None:
        """Stop the broker and remove its temporary directory; see :meth:`EmbeddedBroker.close`."""
        await run_in_thread(self.broker.close)

    async def topic(
        self, name: str, *, partitions: int = 1, configs: Mapping[str, SettingValue] = MappingProxyType({})
    ) -> str:
        """Create a topic of a unique name; see :meth:`EmbeddedBroker.topic`."""
        return await run_in_thread(partial(self.broker.topic, name, partitions=partitions, configs=configs))

    async def produce(
        self,
        topic: str,
        *values: Text | None,
        key: Text | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> None:
        """Write messages; see :meth:`EmbeddedBroker.produce`."""
        await run_in_thread(
            partial(
                self.broker.produce,
                topic,
                *values,
                key=key,
                partition=partition,
                headers=headers,
                timestamp_ms=timestamp_ms,
            )
        )

    async def messages(
        self, topic: str, count: int | None = None, *, timeout_s: float = TIMEOUT_S
    ) -> list[Message]:
        """Return all messages of a topic; see :meth:`EmbeddedBroker.messages`."""
        return await run_in_thread(partial(self.broker.messages, topic, count, timeout_s=timeout_s))
