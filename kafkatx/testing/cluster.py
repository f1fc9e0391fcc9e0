"""A real cluster for tests: several brokers on free ports of 127.0.0.1, their data removed at the end.

Each broker is an :class:`~kafkatx.testing.embedded.EmbeddedBroker`. Their shared state is kept by a server in
a thread of this process (:mod:`kafkatx.testing.tree_thread`), or by a ZooKeeper that the caller names.
:class:`EmbeddedCluster` is the cluster for blocking code, :class:`AsyncCluster` the same one for coroutines.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Literal

from kafkatx.scratch import Scratch
from kafkatx.testing.embedded import (
    START_S,
    TIMEOUT_S,
    AsyncBroker,
    EmbeddedBroker,
    SettingValue,
    setting_text,
)
from kafkatx.testing.messages import (
    Message,
    Text,
    create_topic,
    move_leader,
    produce,
    read_messages,
    wait_for_brokers,
    wait_for_leaders,
)
from kafkatx.testing.off_loop import run_in_thread
from kafkatx.testing.tree_thread import TreeThread
from kafkatx.types import TopicPartition

TREE_FILE, TREE_SOCKET = "cluster.db", "cluster.sock"
SESSION_MS = 6000


class EmbeddedCluster:
    """Brokers 1 to N, in threads of this process or in processes of their own::

        with EmbeddedCluster(3) as cluster:
            producer = KafkaProducer(bootstrap_servers=cluster.bootstrap)

    ``async with`` gives an :class:`AsyncCluster`.

    :ivar brokers: the brokers by id; each can be stopped, killed (in a process) and started again.
    :ivar data_dir: the directory of the cluster's state and of the brokers' logs, each in one of its own.
    """

    def __init__(
        self,
        brokers: int = 3,
        settings: Mapping[str, SettingValue] = MappingProxyType({}),
        *,
        data_dir: str | None = None,
        run_in: Literal["thread", "process"] = "thread",
        zookeeper: str | None = None,
    ) -> None:
        """Make a cluster; ``start()`` or ``with`` starts it.

        :param settings: of all brokers, as for :class:`EmbeddedBroker`.
        :param data_dir: without one, the data are removed with the cluster.
        :param run_in: as for :class:`EmbeddedBroker`. Processes use several cores, and can be killed.
        :param zookeeper: ``host:port`` or ``host:port/chroot`` of a ZooKeeper that keeps the state.
        """
        self._temporary = Scratch() if data_dir is None else None
        self.data_dir = str(data_dir if self._temporary is None else self._temporary.path)
        self._tree: TreeThread | None = None
        shared: dict[str, SettingValue] = {"zookeeper.session.timeout.ms": SESSION_MS}
        if zookeeper is None:
            socket = os.path.join(self.data_dir, TREE_SOCKET)
            self._tree = TreeThread(os.path.join(self.data_dir, TREE_FILE), socket)
            shared |= {"kafkatx.metadata.store": "local", "kafkatx.local.socket": socket}
        else:
            shared["zookeeper.connect"] = zookeeper
        self.brokers: dict[int, EmbeddedBroker] = {
            broker_id: EmbeddedBroker(
                {**shared, **settings, "broker.id": broker_id},
                data_dir=os.path.join(self.data_dir, str(broker_id)),
                run_in=run_in,
            )
            for broker_id in range(1, brokers + 1)
        }

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, ``host:port`` with commas between, once started."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def start(self) -> EmbeddedCluster:
        """Start the brokers, and wait until each of them knows all.

        :raises BrokerDidNotStart: the message says why; nothing runs then.
        """
        with ExitStack() as undo:
            undo.callback(self.stop)
            os.makedirs(self.data_dir, 0o700, exist_ok=True)
            if self._tree is not None:
                self._tree.start(START_S)
            for broker_id in self.brokers:
                self.start_broker(broker_id)
            for broker in self.brokers.values():
                wait_for_brokers(broker.bootstrap, self.brokers.keys(), START_S)
            undo.pop_all()
        return self

    def start_broker(self, broker_id: int) -> EmbeddedBroker:
        """Start a broker, for the first time or again; it keeps the port that it got the first time.

        :raises BrokerDidNotStart: the message says why.
        """
        broker = self.brokers[broker_id].start()
        broker.settings["listeners"] = f"PLAINTEXT://{broker.bootstrap}"
        if broker.http:
            broker.settings["http.listeners"] = broker.http.replace("http", "HTTP", 1)
        return broker

    def restart_broker(self, broker_id: int) -> EmbeddedBroker:
        """Stop a broker as SIGTERM does, if it runs, and start it again at the same address.

        :raises BrokerDidNotStart: the message says why.
        """
        self.brokers[broker_id].stop()
        return self.start_broker(broker_id)

    def expire_session(self, broker_id: int) -> None:
        """End the session of a broker, which registers again, and leads only what it is given from then on.

        :raises RuntimeError: the cluster is on ZooKeeper.
        """
        if self._tree is None:
            raise RuntimeError("ZooKeeper ends the sessions of this cluster")
        self._tree.expire(broker_id)

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Give the leadership of a partition to another of its in-sync replicas, and wait until it has it.

        The replica becomes the preferred one.

        :raises KafkaTXError: it is no in-sync replica; or it does not lead in time.
        """
        move_leader(self.bootstrap, TopicPartition(topic, partition), to, TIMEOUT_S)

    def stop(self) -> None:
        """Stop the brokers as SIGTERM does, the last one first. The data stay, for the next :meth:`start`."""
        with ExitStack() as each:  # one that fails does not keep the others from stopping
            if self._tree is not None:
                each.callback(self._tree.stop)
            for broker in self.brokers.values():
                each.callback(broker.stop)

    def close(self) -> None:
        """Stop the brokers and remove the temporary directory; a *data_dir* that was given stays."""
        self.stop()
        if self._temporary is not None:
            self._temporary.close()

    def topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication: int = 1,
        configs: Mapping[str, SettingValue] = MappingProxyType({}),
    ) -> str:
        """Create a topic of a unique name, and wait until all brokers that run know it.

        See :meth:`EmbeddedBroker.topic`.

        :param replication: number of copies of each partition.
        """
        unique = f"{name}-{uuid.uuid4().hex[:8]}"
        texts = {config: setting_text(value) for config, value in configs.items()}
        create_topic(self.bootstrap, unique, partitions, texts, replication)
        for broker in self.brokers.values():
            if broker.running:
                wait_for_leaders(broker.bootstrap, unique, START_S)
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
        """Write messages; see :meth:`EmbeddedBroker.produce`."""
        produce(self.bootstrap, topic, values, key, partition, headers, timestamp_ms)

    def messages(
        self, topic: str, count: int | None = None, *, timeout_s: float = TIMEOUT_S
    ) -> list[Message]:
        """Return all messages of a topic; see :meth:`EmbeddedBroker.messages`."""
        return read_messages(self.bootstrap, topic, count, timeout_s)

    def __enter__(self) -> EmbeddedCluster:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> AsyncCluster:
        return await AsyncCluster(self).start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await AsyncCluster(self).close()


class AsyncCluster:
    """An :class:`EmbeddedCluster` for coroutines: its methods run in a worker thread and are awaited.

    It works under asyncio (also with pytest-asyncio and anyio), trio and Twisted's reactor.

    :ivar brokers: the brokers by id, with methods to await.
    """

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.brokers = {broker_id: AsyncBroker(broker) for broker_id, broker in cluster.brokers.items()}

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, ``host:port`` with commas between, once started."""
        return self.cluster.bootstrap

    @property
    def data_dir(self) -> str:
        """The directory of the cluster's state and of the brokers' logs."""
        return self.cluster.data_dir

    async def start(self) -> AsyncCluster:
        """Start the brokers; see :meth:`EmbeddedCluster.start`."""
        await run_in_thread(self.cluster.start)
        return self

    async def start_broker(self, broker_id: int) -> AsyncBroker:
        """Start a broker; see :meth:`EmbeddedCluster.start_broker`."""
        await run_in_thread(partial(self.cluster.start_broker, broker_id))
        return self.brokers[broker_id]

    async def restart_broker(self, broker_id: int) -> AsyncBroker:
        """Stop a broker and start it again; see :meth:`EmbeddedCluster.restart_broker`."""
        await run_in_thread(partial(self.cluster.restart_broker, broker_id))
        return self.brokers[broker_id]

    async def expire_session(self, broker_id: int) -> None:
        """End the session of a broker; see :meth:`EmbeddedCluster.expire_session`."""
        await run_in_thread(partial(self.cluster.expire_session, broker_id))

    async def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Give a partition another leader; see :meth:`EmbeddedCluster.move_leader`."""
        await run_in_thread(partial(self.cluster.move_leader, topic, partition, to))

    async def stop(self) -> None:
        """Stop the brokers; see :meth:`EmbeddedCluster.stop`."""
        await run_in_thread(self.cluster.stop)

    async def close(self) -> None:
        """Stop the brokers and remove the temporary directory; see :meth:`EmbeddedCluster.close`."""
        await run_in_thread(self.cluster.close)

    async def topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication: int = 1,
        configs: Mapping[str, SettingValue] = MappingProxyType({}),
    ) -> str:
        """Create a topic of a unique name; see :meth:`EmbeddedCluster.topic`."""
        call = partial(
            self.cluster.topic, name, partitions=partitions, replication=replication, configs=configs
        )
        return await run_in_thread(call)

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
        call = partial(produce, self.bootstrap, topic, values, key, partition, headers, timestamp_ms)
        await run_in_thread(call)

    async def messages(
        self, topic: str, count: int | None = None, *, timeout_s: float = TIMEOUT_S
    ) -> list[Message]:
        """Return all messages of a topic; see :meth:`EmbeddedBroker.messages`."""
        return await run_in_thread(partial(self.cluster.messages, topic, count, timeout_s=timeout_s))
