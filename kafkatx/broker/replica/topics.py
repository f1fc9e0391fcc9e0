"""The topics that this broker serves: changes of the cluster's metadata, and the logs that follow them.

It touches the cluster's metadata and the log store. :mod:`kafkatx.broker.replica.manager` writes to the
partitions; handlers look them up here.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from kafkatx.broker.changes import Changes
from kafkatx.broker.replica.assignments import MOST_REPLICAS, plan_topic
from kafkatx.broker.replica.flushes import FlushScheduler
from kafkatx.broker.replica.offline_log import OfflineLog
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.placements import Placements
from kafkatx.config import BrokerConfig, log_config, topic_value
from kafkatx.config.log_config import LogConfig
from kafkatx.config.table import groups as g
from kafkatx.config.table import topic as topic_configs
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import ConfigChange, ILogStore, IMetadataStore, IPartitionLog
from kafkatx.names import CONSUMER_OFFSETS, check_topic_name
from kafkatx.types import Topic, TopicPartition

RoleListener = Callable[[Partition, bool], None]
"""Takes a partition, and True if this broker leads it now."""

GetLog = Callable[[TopicPartition, uuid.UUID, LogConfig], Awaitable[IPartitionLog]]


class Topics:
    """Creates, opens, finds, changes and deletes topics.

    A change that has begun is carried through, also if its client disconnects.

    :ivar partitions: the partitions of each topic by number, for produce and fetch.
    :ivar placements: the record of which log dir has which partition.
    :ivar role_listeners: called with a partition and True when this broker begins to lead it, or leads it in
        another leader epoch: its log is open, or offline. With False when this broker leads it no more, or
        its topic is deleted.
    """

    _log = Logger()

    def __init__(
        self, config: BrokerConfig, metadata: IMetadataStore, store: ILogStore, flushes: FlushScheduler
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._store = store
        self._flushes = flushes
        self.placements = Placements(config, metadata, store)
        self.partitions: dict[str, list[Partition]] = {}
        self.role_listeners: list[RoleListener] = []
        self._creating: dict[str, list[Deferred[None]]] = {}
        self._changes = Changes()
        self._growing = DeferredLock()  # no topic is deleted while partitions are added to one

    async def open(self) -> None:
        """Open every log, and create those that are missing after a crash.

        :raises StateLost: the logs do not belong to the cluster's topics.
        """
        await self._store.open(self._log_config, self.placements.expected())
        for topic in self._metadata.state.topics.values():
            await self._serve(topic, self._find_log)
        self.placements.say_missing()
        await self.placements.opened()
        for name in self._store.logs:
            if self.find(*name) is None:  # a store that keeps what it does not expect
                self._log.warn(
                    "the log of {partition} belongs to no topic and is left alone: create the topic again"
                    " to put it aside, or remove it",
                    partition=name,
                )

    def _log_config(self, topic: str) -> LogConfig:
        known: Topic | None = self._metadata.state.topics.get(topic)
        return log_config(self._config, known.configs if known else {})

    async def _serve(self, topic: Topic, get_log: GetLog) -> None:
        """Get the logs of all partitions, then serve them.

        :raises OSError: as *get_log* does.
        """
        brokers = self._config
        config, min_insync = self._settings(topic)
        partitions = []
        for number, state in enumerate(topic.partitions):
            log = await get_log(TopicPartition(topic.name, number), topic.topic_id, config)
            partitions.append(Partition(log, state, min_insync))
        self.partitions[topic.name] = self._still_there(partitions)
        latest = self._metadata.state.topics.get(topic.name, topic)
        if latest.configs is not topic.configs or self._config is not brokers:
            self._configure(latest)  # they were changed while the logs were created
        self._tell_roles(partitions, True)

    def _tell_roles(self, partitions: Iterable[Partition], leading: bool) -> None:
        for partition in partitions:
            for listener in self.role_listeners:
                listener(partition, leading)

    def _still_there(self, partitions: list[Partition]) -> list[Partition]:
        """Take new partitions offline whose log dirs have failed meanwhile; return them all."""
        for partition in partitions:
            if not partition.offline and partition.topic_partition not in self._store.logs:
                partition.go_offline()
        return partitions

    async def _find_log(self, name: TopicPartition, topic_id: uuid.UUID, config: LogConfig) -> IPartitionLog:
        """Return the log of an existing partition; an offline one if it is lost or cannot be used."""
        reason = self._store.unavailable.get(name)
        if reason is not None:
            return OfflineLog(name, config, reason)
        if not self.placements.is_lost(name, topic_id):
            try:
                log = await self._store.create(name, topic_id, config)
                if config.exposes_flushed and log.flushed_offset < log.log_end_offset:
                    await log.flush()  # consumers see after a restart what they saw before it
                return log
            except OSError as error:
                self._log.error(
                    "the log of {partition} cannot be opened: {error}", partition=name, error=error
                )
        return OfflineLog(name, config)

    def find(self, topic: str, partition: int) -> Partition | None:
        """Return a partition, or None if there is none."""
        partitions = self.partitions.get(topic)
        return partitions[partition] if partitions and 0 <= partition < len(partitions) else None

    def plan(self, partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
        """Assign the replicas of a new topic to brokers; -1 means the broker's default.

        :raises RequestError: as :func:`plan_topic`.
        """
        return plan_topic(self._config, self._metadata.state, partitions, replication_factor)

    def check_new(self, name: str) -> None:
        """Check that a topic of this name can be created.

        :raises RequestError: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS.
        """
        check_topic_name(name)
        if name in self._metadata.state.topics:
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
        return await self._changes.carry_through(self._create(name, assignment, configs))

    async def _create(
        self, name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str]
    ) -> Topic:
        try:
            topic: Topic = await self._metadata.create_topic(name, assignment, configs)
            try:
                await self._serve(topic, self._store.create)
            except OSError as error:
                # a topic without all of its logs could be neither used nor created again
                await self._metadata.delete_topic(name)
                await self._delete_logs(TopicPartition(name, n) for n in range(len(assignment)))
                raise RequestError(
                    ErrorCode.KAFKA_STORAGE_ERROR, f"the logs of {name} cannot be created: {error}"
                ) from error
        finally:
            for waiting in self._creating.pop(name):
                waiting.callback(None)
        self.placements.changed()
        self._log.info("created topic {name} with {count} partitions", name=name, count=len(topic.partitions))
        return topic

    async def ensure(self, name: str) -> None:
        """Create a topic with the defaults unless it is there (``auto.create.topics.enable``).

        :raises RequestError: INVALID_TOPIC_EXCEPTION.
        """
        if name in self._creating:
            await self._created(name)
        elif name not in self._metadata.state.topics:
            await self.create(name, *self._defaults(name))

    def _defaults(self, name: str) -> tuple[list[tuple[int, ...]], Mapping[str, str]]:
        """Return the default assignment and configs; ``__consumer_offsets`` has settings of its own."""
        if name != CONSUMER_OFFSETS:
            return self.plan(-1, -1), {}
        config = self._config
        replicas = min(config[g.OFFSETS_TOPIC_REPLICATION_FACTOR], MOST_REPLICAS)
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config[g.OFFSETS_TOPIC_SEGMENT_BYTES]),
        }
        return self.plan(config[g.OFFSETS_TOPIC_NUM_PARTITIONS], replicas), configs

    def is_creating(self, name: str) -> bool:
        """Return True while this broker creates a topic."""
        return name in self._creating

    def _created(self, name: str) -> Deferred[None]:
        """Wait until the creation of *name* in progress has succeeded or failed."""
        waiting: Deferred[None] = Deferred()
        self._creating[name].append(waiting)
        return waiting

    async def delete(self, name: str) -> None:
        """Delete a topic and its logs.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION.
        """
        await self._changes.carry_through(self._delete(name))

    async def _delete(self, name: str) -> None:
        await self._growing.acquire()
        try:
            await self._metadata.delete_topic(name)
        finally:
            self._growing.release()
        partitions = self.partitions.pop(name, ())
        segments = sum(len(partition.log.segments) for partition in partitions)
        size = sum(partition.log.size_bytes for partition in partitions)
        for partition in partitions:
            partition.stop_timer()
            partition.wake()
        self._tell_roles(partitions, False)
        await self._delete_logs(partition.topic_partition for partition in partitions)
        self._log.info(
            "deleted topic {name} by DeleteTopics: {count} partitions, {segments} segments, {size} bytes",
            name=name,
            count=len(partitions),
            segments=segments,
            size=size,
        )

    async def _delete_logs(self, names: Iterable[TopicPartition]) -> None:
        # all deletions begin before one is awaited: the topic may be created again meanwhile
        for deleting in [self._store.delete(name) for name in names]:
            await deleting

    async def add_partitions(self, name: str, count: int, assignment: Sequence[Sequence[int]]) -> None:
        """Add partitions to a topic; when this returns they can be written to.

        :param count: the number of partitions that it has.
        :param assignment: the replicas of each new partition, the leader first.
        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR; INVALID_PARTITIONS: it has
            another number of partitions by now.
        """
        if name in self._creating:
            await self._created(name)
        await self._changes.carry_through(self._add_partitions(name, count, assignment))

    async def _add_partitions(self, name: str, count: int, assignment: Sequence[Sequence[int]]) -> None:
        await self._growing.acquire()
        try:
            topic = self._metadata.state.topics.get(name)
            if topic is None:
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'.")
            await self._grow(topic, count, assignment)
        finally:
            self._growing.release()
        self._log.info("topic {name} has {count} partitions now", name=name, count=count + len(assignment))

    async def _grow(self, topic: Topic, count: int, assignment: Sequence[Sequence[int]]) -> None:
        """Create the logs first: a crash before the change of the metadata leaves the old number."""
        names = [TopicPartition(topic.name, count + number) for number in range(len(assignment))]
        if count != len(topic.partitions):
            names = []  # the metadata will refuse the change
        config = log_config(self._config, topic.configs)
        try:
            logs = [await self._store.create(name, topic.topic_id, config) for name in names]
            topic = await self._metadata.add_partitions(topic.name, count, assignment)
        except (OSError, RequestError) as error:
            await self._delete_logs(names)
            if isinstance(error, RequestError):
                raise
            raise RequestError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"the logs of {topic.name} cannot be created: {error}"
            ) from error
        added = [Partition(log, state) for log, state in zip(logs, topic.partitions[count:], strict=True)]
        self.partitions[topic.name] += self._still_there(added)
        self.placements.changed()
        self._configure(topic)
        self._tell_roles(added, True)

    # --- configs

    def check_configs(self, configs: Mapping[str, str]) -> None:
        """Check that a topic could have these configs, each of which is valid.

        :raises RequestError: INVALID_CONFIG: they contradict each other, or name an unknown plugin.
        """
        config = log_config(self._config, configs)
        try:
            self._store.check(config)
        except SettingError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None
        if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
            raise RequestError(
                ErrorCode.INVALID_CONFIG,
                f"min.compaction.lag.ms={config.min_compaction_lag_ms} must not be above"
                f" max.compaction.lag.ms={config.max_compaction_lag_ms}",
            )

    async def alter_configs(self, name: str, change: ConfigChange) -> None:
        """Change the configs of a topic; when this returns its logs use them.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, or as *change* does.
        """
        await self._changes.carry_through(self._alter_configs(name, change))

    async def _alter_configs(self, name: str, change: ConfigChange) -> None:
        await self._metadata.alter_topic_configs(name, change)
        self._configure(self._metadata.state.topics[name])

    def use(self, config: BrokerConfig) -> None:
        """Use other settings of the broker: many are defaults of the topics' configs."""
        self._config = config
        alike: dict[frozenset[tuple[str, str]], tuple[LogConfig, int]] = {}
        for topic in self._metadata.state.topics.values():
            key = frozenset(topic.configs.items())
            if key not in alike:  # of ten thousand topics most have the same configs
                alike[key] = self._settings(topic)
            self._apply(topic.name, *alike[key])

    def _configure(self, topic: Topic) -> None:
        """Apply a topic's configs to its logs."""
        self._apply(topic.name, *self._settings(topic))

    def _settings(self, topic: Topic) -> tuple[LogConfig, int]:
        """Return a topic's configs for its logs, and its min.insync.replicas."""
        config = log_config(self._config, topic.configs)
        return config, topic_value(self._config, topic.configs, topic_configs.MIN_INSYNC_REPLICAS)

    def _apply(self, name: str, config: LogConfig, min_insync: int) -> None:
        for partition in self.partitions.get(name, ()):
            partition.min_insync_replicas = min_insync
            if partition.log.config != config:
                partition.reconfigure(config)
                self._flushes.reschedule(partition)

    def settled(self) -> Deferred[None]:
        """Wait until no change of topics is in progress."""
        return self._changes.settled()
