"""The topics that this broker serves: the coordinator's word, made true in the log store."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.offline import NoLog
from kafkatx.broker.partition import Partition
from kafkatx.config import BrokerConfig, log_config, topic_value
from kafkatx.config import topic as topic_configs
from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import check_topic_name
from kafkatx.types import Topic, TopicPartition

T = TypeVar("T")

GetLog = Callable[[TopicPartition, uuid.UUID, LogConfig], Awaitable[Any]]

MOST_PARTITIONS = 10_000
"""How many partitions one request may create, as with Apache Kafka: each costs files and memory."""


class Topics:
    """Creates, opens, finds and deletes topics.

    A change that is begun is carried through, whether or not the client that asked for it stays.

    :ivar partitions: name -> the partitions by number; what produce and fetch look into.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig, coordinator: Any, store: Any) -> None:
        self._config = config
        self._coordinator = coordinator
        self._store = store
        self.partitions: dict[str, list[Partition]] = {}
        self._creating: dict[str, list[Deferred[None]]] = {}
        self._changing: set[Deferred[Any]] = set()

    async def open(self) -> None:
        """Open every log, and create those that a crash left unmade."""
        await self._store.open(self._log_config)
        known = self._coordinator.state.topics
        for topic in known.values():
            await self._serve(topic, self._find_log)
        for name in self._store.logs:
            if name.topic not in known or name.partition >= len(known[name.topic].partitions):
                self._log.warn(
                    "the log of {partition} belongs to no topic and is left alone: create the topic again"
                    " to put it aside, or remove its directory",
                    partition=name,
                )

    def _log_config(self, topic: str) -> Any:
        known: Topic | None = self._coordinator.state.topics.get(topic)
        return log_config(self._config, known.configs if known else {})

    async def _serve(self, topic: Topic, get_log: GetLog) -> None:
        """Have the logs of all partitions, then serve them.

        :raises OSError: of *get_log*.
        """
        config = log_config(self._config, topic.configs)
        min_insync = topic_value(self._config, topic.configs, topic_configs.MIN_INSYNC_REPLICAS)
        partitions = []
        for number, state in enumerate(topic.partitions):
            log = await get_log(TopicPartition(topic.name, number), topic.topic_id, config)
            partitions.append(Partition(log, state, min_insync))
        for partition in partitions:
            if not partition.offline and partition.topic_partition not in self._store.logs:
                partition.go_offline()  # the log dir failed while others were made
        self.partitions[topic.name] = partitions

    async def _find_log(self, name: TopicPartition, topic_id: uuid.UUID, config: LogConfig) -> Any:
        """The log of a partition that is not new; one that is missing may be in a dir that is offline."""
        lost = name not in self._store.logs and any(one.error is not None for one in self._store.dirs)
        if not lost:
            try:
                log = await self._store.create(name, topic_id, config)
                if config.exposes_flushed and log.flushed_offset < log.log_end_offset:
                    await log.flush()  # what consumers saw before the restart they see after it
                return log
            except OSError as error:
                self._log.error("the log of {partition} cannot be had: {error}", partition=name, error=error)
        return NoLog(name, config)

    def find(self, topic: str, partition: int) -> Partition | None:
        """The partition, or None if there is none."""
        partitions = self.partitions.get(topic)
        return partitions[partition] if partitions and 0 <= partition < len(partitions) else None

    def plan(self, partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
        """Assign replicas to brokers; -1 means the broker's default.

        :raises RequestError: INVALID_PARTITIONS, POLICY_VIOLATION, INVALID_REPLICATION_FACTOR.
        """
        if partitions == -1:
            partitions = self._config.get("num.partitions")
        if replication_factor == -1:
            replication_factor = self._config.get("default.replication.factor")
        if partitions < 1:
            raise RequestError(ErrorCode.INVALID_PARTITIONS, f"{partitions} partitions: at least 1 is needed")
        if partitions > MOST_PARTITIONS:
            raise RequestError(
                ErrorCode.POLICY_VIOLATION, f"{partitions} partitions: at most {MOST_PARTITIONS} at a time"
            )
        brokers = sorted(self._coordinator.state.brokers)
        if not 1 <= replication_factor <= len(brokers):
            raise RequestError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"replication factor {replication_factor}: there are {len(brokers)} brokers",
            )
        return [
            tuple(brokers[(number + replica) % len(brokers)] for replica in range(replication_factor))
            for number in range(partitions)
        ]

    def check_new(self, name: str) -> None:
        """Check that a topic of this name could be created.

        :raises RequestError: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS.
        """
        check_topic_name(name)
        if name in self._coordinator.state.topics:
            raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")

    async def create(
        self,
        name: str,
        assignment: Sequence[Sequence[int]],
        configs: Mapping[str, str] = MappingProxyType({}),
    ) -> Topic:
        """Create a topic and its logs; when this returns it can be written to.

        :raises RequestError: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, KAFKA_STORAGE_ERROR.
        """
        self.check_new(name)
        if name in self._creating:
            await self._created(name)
            raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        self._creating[name] = []
        return await self._carry_through(self._create(name, assignment, configs))

    async def _create(
        self, name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str]
    ) -> Topic:
        try:
            topic: Topic = await self._coordinator.create_topic(name, assignment, configs)
            try:
                await self._serve(topic, self._store.create)
            except OSError as error:
                # a topic without all of its logs could be neither used nor created again
                await self._coordinator.delete_topic(name)
                await self._delete_logs(TopicPartition(name, n) for n in range(len(assignment)))
                raise RequestError(
                    ErrorCode.KAFKA_STORAGE_ERROR, f"the logs of {name} cannot be made: {error}"
                ) from error
        finally:
            for waiting in self._creating.pop(name):
                waiting.callback(None)
        self._log.info("created topic {name} with {count} partitions", name=name, count=len(topic.partitions))
        return topic

    async def ensure(self, name: str) -> None:
        """Create a topic with the defaults unless it is there (``auto.create.topics.enable``).

        :raises RequestError: INVALID_TOPIC_EXCEPTION.
        """
        if name in self._creating:
            await self._created(name)
        elif name not in self._coordinator.state.topics:
            await self.create(name, self.plan(-1, -1))

    def _created(self, name: str) -> Deferred[None]:
        """Fires when the creation of *name* that is under way has ended, well or not."""
        waiting: Deferred[None] = Deferred()
        self._creating[name].append(waiting)
        return waiting

    async def delete(self, name: str) -> None:
        """Delete a topic and its logs.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION.
        """
        await self._carry_through(self._delete(name))

    async def _delete(self, name: str) -> None:
        await self._coordinator.delete_topic(name)
        partitions = self.partitions.pop(name, ())
        for partition in partitions:
            partition.stop_timer()
            partition.wake()
        await self._delete_logs(partition.topic_partition for partition in partitions)
        self._log.info("deleted topic {name}", name=name)

    async def _delete_logs(self, names: Iterable[TopicPartition]) -> None:
        # all are asked for before one is waited for: the topic may be created again meanwhile
        for deleting in [self._store.delete(name) for name in names]:
            await deleting

    def _carry_through(self, work: Coroutine[Any, Any, T]) -> Deferred[T]:
        """Do *work* to its end; cancelling what this returns ends the waiting only."""
        waiting: Deferred[T] = Deferred()
        doing: Deferred[T] = Deferred.fromCoroutine(work)
        self._changing.add(doing)

        def failed(failure: Failure) -> None:
            if waiting.called and not failure.check(RequestError):
                self._log.failure("a change of topics failed, and its client has gone", failure)
            waiting.errback(failure)

        def done(result: Any) -> Any:
            self._changing.discard(doing)
            return result

        doing.addBoth(done)
        doing.addCallbacks(waiting.callback, failed)
        return waiting

    def settled(self) -> Deferred[Any]:
        """Fires when no change of topics is under way any more."""
        return DeferredList(list(self._changing), consumeErrors=True)
