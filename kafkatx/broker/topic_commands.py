"""Changes of topics that clients ask for: creation, deletion, more partitions, configs.

It changes the cluster's metadata; :mod:`kafkatx.broker.replica.topics` follows, on every broker, with logs
and roles. In a cluster of one broker a change whose logs cannot be made is taken back; in a larger one the
partition is offline where its log is missing, and the topic stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from kafkatx.broker.changes import Changes
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.requests.assignments import plan_topic
from kafkatx.config import BrokerConfig, log_config
from kafkatx.config.table import groups as g
from kafkatx.config.table.broker import (
    KAFKATX_AUDIT_TOPIC,
    SCHEMAS_TOPIC,
    SCHEMAS_TOPIC_REPLICATION_FACTOR,
)
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import ConfigChange, ILogStore, IMetadataStore
from kafkatx.names import CONSUMER_OFFSETS, TRANSACTION_STATE, check_topic_name, colliding_topic
from kafkatx.types import Topic, TopicPartition

SCHEMAS_CONFIGS = {"cleanup.policy": "compact", "max.message.bytes": str(4 << 20)}
"""The configs of the schema registry's topic: a schema of 1 MB is larger as JSON within JSON."""


class TopicCommands:
    """Creates, changes and deletes topics.

    A change that has begun is carried through, also if its client disconnects. A command is finished when
    the metadata show the change and this broker has followed it; other brokers follow a moment later.
    """

    _log = Logger()

    def __init__(
        self, config: BrokerConfig, metadata: IMetadataStore, store: ILogStore, topics: Topics
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._store = store
        self._topics = topics
        self._creating: dict[str, list[Deferred[None]]] = {}
        self._changes = Changes()
        self._locks: dict[str, DeferredLock] = {}  # no topic is deleted while partitions are added to it

    def use(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._config = config

    @property
    def _is_alone(self) -> bool:
        """True in a cluster of one broker, where each command ends with the logs that it needs."""
        return self._metadata.lease_remaining_s is None

    # --- creation

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
        other = colliding_topic(name, self._metadata.state.topics) or colliding_topic(name, self._creating)
        if other is not None:
            why = f"Topic '{name}' collides with existing topic: {other}: names of metrics have _ for a dot"
            raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, why)

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
                await self._topics.opened(name)
            except OSError as error:
                if self._is_alone:
                    # a topic without all of its logs could be neither used nor created again
                    await self._metadata.delete_topic(name)
                    await self._topics.removed(name)
                    raise RequestError(
                        ErrorCode.KAFKA_STORAGE_ERROR, f"the logs of {name} cannot be created: {error}"
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
        elif name not in self._metadata.state.topics:
            await self.create(name, *self._defaults(name))

    def _defaults(self, name: str) -> tuple[list[tuple[int, ...]], Mapping[str, str]]:
        """Return the default assignment and configs; topics of the brokers' own have settings of their own.

        The audit topic has the broker's time, which shows the clocks of those that announce.

        The others have at most as many replicas as there are live brokers: groups, transactions and schemas
        need them in a cluster of any size, and the default of their replication factors is 3.
        """
        config = self._config
        if name == config[KAFKATX_AUDIT_TOPIC]:
            return self.plan(-1, -1), {"message.timestamp.type": "LogAppendTime"}
        live = len(self._metadata.state.brokers)
        if name == config[SCHEMAS_TOPIC]:
            replicas = min(config[SCHEMAS_TOPIC_REPLICATION_FACTOR], live)
            return self.plan(1, replicas), SCHEMAS_CONFIGS
        if name == TRANSACTION_STATE:
            replicas = min(config[g.TRANSACTION_STATE_LOG_REPLICATION_FACTOR], live)
            configs = {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(min(config[g.TRANSACTION_STATE_LOG_MIN_ISR], replicas)),
                "segment.bytes": str(config[g.TRANSACTION_STATE_LOG_SEGMENT_BYTES]),
                "unclean.leader.election.enable": "false",
            }
            return self.plan(config[g.TRANSACTION_STATE_LOG_NUM_PARTITIONS], replicas), configs
        if name != CONSUMER_OFFSETS:
            return self.plan(-1, -1), {}
        replicas = min(config[g.OFFSETS_TOPIC_REPLICATION_FACTOR], live)
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

    # --- deletion

    async def delete(self, name: str) -> None:
        """Delete a topic and its logs.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION.
        """
        await self._changes.carry_through(self._delete(name))

    async def _delete(self, name: str) -> None:
        lock = await self._locked(name)
        try:
            await self._metadata.delete_topic(name)
        finally:
            self._unlock(name, lock)
        await self._topics.removed(name)

    # --- more partitions

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
        lock = await self._locked(name)
        try:
            topic = self._metadata.state.topics.get(name)
            if topic is None:
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'.")
            if self._is_alone:
                await self._grow_alone(topic, count, assignment)
            else:
                await self._metadata.add_partitions(name, count, assignment)
        finally:
            self._unlock(name, lock)
        with suppress(OSError):  # the partition is offline here, as the log says
            await self._topics.opened(name)
        self._log.info("topic {name} has {count} partitions now", name=name, count=count + len(assignment))

    async def _locked(self, name: str) -> DeferredLock:
        """Wait until no other deletion or growth of a topic is under way; :meth:`_unlock` follows."""
        lock = self._locks.setdefault(name, DeferredLock())
        await lock.acquire()
        return lock

    def _unlock(self, name: str, lock: DeferredLock) -> None:
        lock.release()
        if not lock.locked and self._locks.get(name) is lock:
            del self._locks[name]

    async def _grow_alone(self, topic: Topic, count: int, assignment: Sequence[Sequence[int]]) -> None:
        """Create the logs first: a crash before the change of the metadata leaves the old number."""
        names = [TopicPartition(topic.name, count + number) for number in range(len(assignment))]
        if count != len(topic.partitions):
            names = []  # the metadata will refuse the change
        config = log_config(self._config, topic.configs)
        try:
            for name in names:
                await self._store.create(name, topic.topic_id, config)
            await self._metadata.add_partitions(topic.name, count, assignment)
        except (OSError, RequestError) as error:
            for deleting in [self._store.delete(name) for name in names]:
                await deleting
            if isinstance(error, RequestError):
                raise
            raise RequestError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"the logs of {topic.name} cannot be created: {error}"
            ) from error

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
        """Change the configs of a topic; when this returns its logs here use them.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, or as *change* does.
        """
        await self._changes.carry_through(self._alter_configs(name, change))

    async def _alter_configs(self, name: str, change: ConfigChange) -> None:
        await self._metadata.alter_topic_configs(name, change)

    def settled(self) -> Deferred[None]:
        """Wait until no change of topics is in progress."""
        return self._changes.settled()
