"""The partitions of this broker: their logs and their roles follow the cluster's state.

It touches the cluster's metadata, by their deltas, the log store and the clock it is handed.
:mod:`kafkatx.broker.topic_commands` changes topics for clients, :mod:`kafkatx.broker.replica.manager` writes
to the partitions; handlers look them up here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.flushes import FlushScheduler
from kafkatx.broker.replica.isr import IsrManager
from kafkatx.broker.replica.logs.log_opener import LogOpener
from kafkatx.broker.replica.logs.log_starts import LogStarts
from kafkatx.broker.replica.logs.offline_log import OfflineLog
from kafkatx.broker.replica.logs.placements import Placements
from kafkatx.broker.replica.logs.topic_settings import TopicSettings, mirror_of
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import was_moved
from kafkatx.config import BrokerConfig
from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode
from kafkatx.interfaces import ILogStore, IMetadataStore, IPartitionLog
from kafkatx.types import NO_LEADER, ClusterDelta, PartitionState, Topic, TopicPartition

RoleListener = Callable[[Partition, bool], None]
"""Takes a partition, and True if this broker leads it now."""

ReplicaListener = Callable[[Partition], None]
"""Takes a partition whose role, leader, epoch or mirror has changed, or that was opened or removed."""


class Topics:
    """The topics that have a partition on this broker.

    A delta of the cluster's state is applied at once as far as roles, configs and deletions go. Missing logs
    are made one after the other; until its log is there a partition is not found. The log of a replica that a
    reassignment was seen to remove is removed. Another partition that is not this broker's any more stays
    here, without a role, until the next start puts its log aside.

    :ivar partitions: the partitions of each topic by number, for produce and fetch; None for those that are
        not here. A list may be shorter than the topic.
    :ivar broker_id: the id of this broker.
    :ivar placements: the record of which log dir has which partition.
    :ivar before_roles: called before roles change: it writes what requests have staged in the old ones.
    :ivar role_listeners: called with a partition and True when this broker begins to lead it, or leads it in
        another leader epoch: its log is open, or offline. With False when this broker leads it no more, or
        its topic is deleted.
    :ivar replica_listeners: called with a partition after every change of its role, leader or leader epoch,
        or of its topic's mirror, and when it is opened or removed, or its log dir fails: then it has no role.
    :ivar isr: asks for changes of the in-sync replicas.
    :ivar opened: waits for the logs of a new topic (:meth:`LogOpener.opened`).
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        store: ILogStore,
        flushes: FlushScheduler,
        clock: IReactorTime,
    ) -> None:
        self._settings = TopicSettings(config)
        self._metadata = metadata
        self._store = store
        self._flushes = flushes
        self.broker_id: int = config.get("broker.id")
        self.placements = Placements(config, metadata, store)
        self.partitions: dict[str, list[Partition | None]] = {}
        self.before_roles: Callable[[], object] | None = None
        self.role_listeners: list[RoleListener] = []
        self.isr = IsrManager(config, metadata, clock, LogStarts(store))
        self.replica_listeners: list[ReplicaListener] = [self.isr.follow]
        self._ids: dict[str, uuid.UUID] = {}
        self._removing: dict[str, list[Deferred[Any]]] = {}
        self._is_open = False
        self._opener = LogOpener(metadata, store, clock, self.placements, self._settings, self)
        self.opened = self._opener.opened
        metadata.subscribe(self._follow)

    # --- looking up

    def find(self, topic: str, partition: int) -> Partition | None:
        """Return a partition, or None if this broker does not have it; see :meth:`absent`."""
        partitions = self.partitions.get(topic)
        return partitions[partition] if partitions and 0 <= partition < len(partitions) else None

    def of(self, topic: str) -> list[Partition]:
        """Return the partitions of a topic that are here."""
        return [partition for partition in self.partitions.get(topic, ()) if partition is not None]

    def absent(self, topic: str, partition: int) -> ErrorCode:
        """Return the error for a partition that is not here: another broker has it, or it does not exist."""
        known: Topic | None = self._metadata.state.topics.get(topic)
        if known is None or not 0 <= partition < len(known.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    # --- the start

    async def open(self) -> None:
        """Open every log, and create those that are missing after a crash.

        :raises StateLost: the logs do not belong to the cluster's topics.
        """
        before = self._metadata.state
        await self._store.open(self._log_config, self.placements.expected())
        await self._opener.open_existing()
        await self.placements.opened()
        for log_name in self._store.logs:
            if self.find(*log_name) is None:  # a store that keeps what it does not expect
                self._log.warn(
                    "the log of {partition} belongs to no topic and is left alone: create the topic again"
                    " to put it aside, or remove it",
                    partition=log_name,
                )
        self._is_open = True
        after = self._metadata.state
        if after is not before:  # it has changed meanwhile
            for name in before.topics.keys() | after.topics.keys():
                self._look_at(name)

    def distrust(self) -> None:
        """Trust no high watermark of before: the machine went down, and logs may lack what they had.

        A log that was cut and written anew may even be as it was before the cut.
        """
        for name in self.partitions:
            for partition in self.of(name):
                partition.distrust()

    def _log_config(self, topic: str) -> LogConfig:
        known: Topic | None = self._metadata.state.topics.get(topic)
        return self._settings.of(known)[0] if known else self._settings.default()

    # --- following the state

    def _follow(self, delta: ClusterDelta) -> None:
        """Apply a change of the state: deletions, roles and configs at once, new logs soon."""
        if not self._is_open:
            return  # open() looks at everything in the end
        before, after = delta.before, delta.after
        was, now = before.brokers.get(self.broker_id), after.brokers.get(self.broker_id)
        everything = (before.fenced, before.restored_at) != (
            after.fenced,
            after.restored_at,
        ) or was is not now
        if self.before_roles is not None and (everything or delta.topics):
            self.before_roles()
        for name in delta.topics:
            self._look_at(name, delta.deleted)
        if before.brokers is not after.brokers or before.offline is not after.offline:
            self.isr.brokers_changed()
        if everything:
            topics = self._metadata.state.topics  # it may be later than the delta's
            for topic in [topics[name] for name in self._ids if name in topics]:
                self._apply_roles(topic)

    def _look_at(self, name: str, deleted: Collection[uuid.UUID] = ()) -> None:
        """Compare the partitions that are here with a topic's state, and do what is missing.

        :param deleted: ids of topics that clients have deleted.
        """
        topic: Topic | None = self._metadata.state.topics.get(name)
        topic_id = self._ids.get(name)
        if topic_id is not None and (topic is None or topic.topic_id != topic_id):
            self._remove(name, topic_id in deleted)
        if topic is not None:
            mirrors = self._use_mirror(topic)
            self._apply_roles(topic)
            self._configure(topic)
            for partition in mirrors:
                self.tell(partition)
            if self.missing(topic) is not None:
                self._opener.open_soon(name)

    def _use_mirror(self, topic: Topic) -> list[Partition]:
        """Apply the record of the mirror that a topic is; return the partitions that had another one."""
        mirror = mirror_of(topic)
        return [one for one in self.of(topic.name) if one.mirror != mirror and one.use_mirror(mirror)]

    def _apply_roles(self, topic: Topic) -> None:
        led, roles, applied, moved = [], [], [], []
        for partition, state in zip(self.partitions.get(topic.name, ()), topic.partitions, strict=False):
            if partition is None:
                continue
            acts = self._acts(partition.log, state)
            before, role, leadership = partition.state, partition.role, partition.leadership
            if state is before and acts == partition.acts:
                continue
            applied.append(partition)
            if partition.apply(state, acts):
                led.append(partition)
            if partition.role != role or partition.leadership is not leadership:
                roles.append(partition)
            if was_moved(self.broker_id, before, state):
                moved.append(partition)
        for partition in led:
            partition.fail_commits(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for partition in applied:
            partition.change_ended()
        for partition in led:
            partition.wake()
            self._tell(partition)
        for partition in roles:
            self.tell(partition)
        for partition in moved:
            self._remove_moved(topic, partition)

    def tell(self, partition: Partition) -> None:
        """Tell the listeners that a partition has another role, leader, epoch or mirror."""
        for listener in self.replica_listeners:
            listener(partition)

    def _tell(self, partition: Partition) -> None:
        for listener in self.role_listeners:
            listener(partition, partition.leads)

    def _acts(self, log: IPartitionLog, state: PartitionState) -> bool:
        """Return True if this broker may lead a partition now, or follow, as the state says."""
        if state.leader == self.broker_id:
            return self._metadata.state.leads(self.broker_id, state) and not self._is_ahead(log, state)
        follows = state.leader != NO_LEADER and self.broker_id in state.replicas
        follows = follows and state.revision > self._metadata.state.restored_at
        return follows and not self._is_ahead(log, state)

    def _is_ahead(self, log: IPartitionLog, state: PartitionState) -> bool:
        """Return True if a log has records of a later epoch than the state's; then this broker has no role.

        Another copy of the state, or another leader, was ahead. Following would cut these records off. A
        cluster of one broker trusts the log, whose epochs never go back.
        """
        if self._metadata.lease_remaining_s is None or isinstance(log, OfflineLog):
            return False
        latest: int = log.latest_epoch
        if latest <= state.leader_epoch:
            return False
        if self._is_open:  # else the start tells it, and has leaders elected anew
            self._log.error(
                "this broker does not serve {partition}: its log has records of leader epoch {latest}, but"
                " the cluster's state is at epoch {epoch}: it is an older copy. Start this broker again, and"
                " leaders are elected by what the logs have",
                partition=log.topic_partition,
                latest=latest,
                epoch=state.leader_epoch,
            )
        return True

    def ahead(self) -> TopicPartition | None:
        """Return a partition whose log has records of a later epoch than the state's; None if there is none.

        An older copy of the state was put back.
        """
        for name in self.partitions:
            for one in self.of(name):
                if self._is_ahead(one.log, one.state):
                    return one.topic_partition
        return None

    # --- logs

    def missing(self, topic: Topic, first: int = 0) -> int | None:
        """Return the number of the first partition, from *first* on, that should be here and is not."""
        here = self.partitions.get(topic.name, ())
        for number in range(first, len(topic.partitions)):
            if self.broker_id in topic.partitions[number].replicas and (
                number >= len(here) or here[number] is None
            ):
                return number
        return None

    def add(self, asked: Topic, number: int, log: IPartitionLog) -> None:
        """Serve a partition whose log was opened, or remove the log if the topic was deleted meanwhile."""
        topic: Topic | None = self._metadata.state.topics.get(asked.name)
        if topic is None or topic.topic_id != asked.topic_id:
            self._delete_logs(asked.name, [log.topic_partition])
            return
        config, min_insync = self._settings.of(topic)
        if log.config != config:
            log.configure(config)  # it was changed while the log was opened
        state = topic.partitions[number]
        partition = Partition(
            log,
            state,
            self.isr,
            self._acts(log, state),
            min_insync,
            self._store.high_watermark(log.topic_partition),
            mirror_of(topic),
        )
        if not partition.offline and log.topic_partition not in self._store.logs:
            partition.go_offline()  # its log dir has failed meanwhile
        here = self.partitions.setdefault(topic.name, [])
        self._ids[topic.name] = topic.topic_id
        here += [None] * (number + 1 - len(here))
        here[number] = partition
        if partition.leads:
            self._tell(partition)
        self.tell(partition)

    def _remove(self, name: str, is_deleted: bool) -> None:
        """Remove the partitions of a topic that is gone, and their logs if a client has deleted it."""
        del self._ids[name]
        self._opener.forget(name)
        partitions = [partition for partition in self.partitions.pop(name) if partition is not None]
        segments = sum(len(partition.log.segments) for partition in partitions)
        size = sum(partition.log.size_bytes for partition in partitions)
        for partition in partitions:
            led = partition.leads
            partition.stop_timer()
            partition.resign()
            partition.fail_commits(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            partition.wake()
            if led:
                self._tell(partition)
            self.tell(partition)
        if not is_deleted:
            self._log.warn(
                "topic {name} is gone from the cluster's state, but no client was seen to delete it: its logs"
                " stay where they are, {count} partitions, {size} bytes; the next start puts them aside",
                name=name,
                count=len(partitions),
                size=size,
            )
            return
        self._delete_logs(name, [partition.topic_partition for partition in partitions])
        self._log.info(
            "deleted topic {name} by DeleteTopics: {count} partitions, {segments} segments, {size} bytes",
            name=name,
            count=len(partitions),
            segments=segments,
            size=size,
        )

    def _remove_moved(self, topic: Topic, partition: Partition) -> None:
        """Remove the replica that a reassignment has moved to other brokers, and its log."""
        name = partition.topic_partition
        self.partitions[topic.name][name.partition] = None
        partition.stop_timer()
        partition.resign()
        self.placements.removed(topic.topic_id, name.partition)
        self._delete_logs(topic.name, [name])
        self._log.info("a reassignment has moved {partition} away: its log is removed", partition=name)

    def _delete_logs(self, topic: str, names: Iterable[TopicPartition]) -> None:
        # all deletions begin before one is awaited: the topic may be created again meanwhile
        removing: Deferred[Any] = DeferredList(
            [self._store.delete(name) for name in names], consumeErrors=True
        )
        under_way = self._removing.setdefault(topic, [])
        under_way.append(removing)

        def done(results: list[tuple[bool, object]]) -> None:
            under_way.remove(removing)
            if not under_way and self._removing.get(topic) is under_way:
                del self._removing[topic]
            for _, result in results:
                if not isinstance(result, Failure):
                    continue
                if result.check(OSError):  # the log dir is offline, and has said so
                    self._log.error(
                        "a log of {topic} was not removed: {error}; the next start puts it aside",
                        topic=topic,
                        error=result.value,
                    )
                else:
                    self._log.failure("removing a log of {topic} failed", result, topic=topic)

        removing.addCallback(done)

    def removed(self, name: str) -> Deferred[None]:
        """Wait until the logs of a deleted topic are removed, or renamed for their removal."""
        return DeferredList(self._removing.get(name, ())).addCallback(lambda _: None)

    def settled(self) -> Deferred[None]:
        """Wait until no log is being opened; after this nothing follows the state any more."""
        self._is_open = False
        self.isr.stop()
        return self._opener.settled()

    # --- configs

    def use(self, config: BrokerConfig) -> None:
        """Use other settings of the broker: many are defaults of the topics' configs."""
        self._settings.use(config)
        for topic in self._metadata.state.topics.values():
            self._configure(topic)

    def _configure(self, topic: Topic) -> None:
        """Apply a topic's configs to its logs."""
        if topic.name in self.partitions:
            self._apply(topic.name, *self._settings.of(topic))

    def _apply(self, name: str, config: LogConfig, min_insync: int) -> None:
        for partition in self.of(name):
            partition.use_min_insync(min_insync)
            if partition.log.config != config:
                partition.reconfigure(config)
                self._flushes.reschedule(partition)
