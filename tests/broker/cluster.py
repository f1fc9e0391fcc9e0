"""A broker that is one of three, and the metadata store of its tests: the test says what the cluster does.

:class:`FakeMetadataStore` keeps a state in memory. It carries commands out at once, as a cluster would whose
controller gives each partition its first live replica, unless the test holds them back.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from kafkatx.acls import AclBinding, with_changes
from kafkatx.config import BrokerConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ConfigChange, IMetadataStore
from kafkatx.interfaces.metadata import BrokerLife
from kafkatx.metadata.embedded.alone import merged
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.types import (
    NO_LEADER,
    BrokerNode,
    ClusterDelta,
    ClusterState,
    LogDirRecord,
    LogEnd,
    PartitionState,
    Placement,
    QuotaEntity,
    Topic,
    TopicPartition,
)
from tests.broker.cluster_replicas import FakeReplicas, frozen, new_state
from tests.broker.running import BrokerTestCase

BROKER_ID = 1
"""The id of the broker under test."""

CLUSTER_ID = "dGhlIHRlc3QgY2x1c3Rlcg"

Listener = Callable[[ClusterDelta], None]


def make_node(broker_id: int, epoch: int = -1) -> BrokerNode:
    """Return the node of a broker: host ``b1``, port 9101, rack ``rack 1`` for broker 1."""
    return BrokerNode(broker_id, f"b{broker_id}", 9100 + broker_id, f"rack {broker_id}", epoch)


@attrs.define
class Command:
    """One call of a method that changes the cluster.

    :ivar done: what the caller waits for.
    :ivar carry_out: makes the change and fires :attr:`done`.
    """

    name: str
    args: tuple[Any, ...]
    done: Deferred[Any]
    carry_out: Callable[[], None]


@implementer(IMetadataStore)
class FakeMetadataStore(FakeReplicas):
    """The metadata of a cluster, as broker 1 sees it.

    Broker epochs and revisions come from one counter, as with ZooKeeper. The brokers 2 and 3 are registered
    from the beginning.

    :ivar commands: every command so far.
    :ivar holding: True: commands wait until the test calls their ``carry_out``, or fires ``done`` itself.
    :ivar remaining_s: the lease; a test sets it.
    :ivar registered: the directory ids of each call of :meth:`register`; ``seen`` has the generations.
    :ivar log_ends: what each call of :meth:`report_log_ends` has told.
    """

    def __init__(self, broker_ids: Sequence[int] = (1, 2, 3), broker_id: int = BROKER_ID) -> None:
        self.revision = 0
        others = [make_node(one, self.count()) for one in broker_ids if one != broker_id]
        self.state = ClusterState(CLUSTER_ID, -1, fenced=True)
        self._before = ClusterState(
            CLUSTER_ID, 2, MappingProxyType({node.id: node for node in others}), fenced=True
        )
        self.recorded = LogDirRecord()
        self.generation = 0
        self.remaining_s = 10.0
        self.lease_remaining_s: Callable[[], float] | None = lambda: self.remaining_s
        self.commands: list[Command] = []
        self.holding = False
        self.registered: list[tuple[str, ...]] = []
        self.seen: list[int] = []
        self.log_ends: list[Mapping[TopicPartition, LogEnd]] = []
        self.next_producer_id = 0
        self._broker_id = broker_id
        self._node = make_node(broker_id)
        self._listeners: list[Listener] = []
        self._last_topic_id = 0x1000

    def count(self) -> int:
        """Return the next position in the order of all changes."""
        self.revision += 1
        return self.revision

    # --- what the test does

    def show(self, state: ClusterState, *, deleted: bool = True) -> None:
        """Replace the state and tell the listeners; the changed topics are those that are not the same.

        :param deleted: True if clients have deleted the topics that are gone.
        """
        before, self.state = self.state, state
        names = before.topics.keys() | state.topics.keys()
        changed = frozenset(n for n in names if before.topics.get(n) is not state.topics.get(n))
        if self.state.topics is not before.topics:
            by_id = {topic.topic_id: name for name, topic in state.topics.items()}
            self.state = attrs.evolve(state, topic_names=MappingProxyType(by_id))
        gone = before.topic_names.keys() - self.state.topic_names.keys() if deleted else ()
        for listener in tuple(self._listeners):
            listener(ClusterDelta(before, self.state, changed, frozenset(gone)))

    def change(self, **changes: Any) -> None:
        """Show the state with other attributes; mappings may be dicts."""
        self.show(attrs.evolve(self.state, **frozen(changes)))

    def put(self, *topics: Topic) -> None:
        """Show the state with these topics, new or instead of those of the same names."""
        self.change(topics={**self.state.topics, **{topic.name: topic for topic in topics}})

    def remove(self, *names: str) -> None:
        """Show the state without these topics."""
        self.change(topics={name: one for name, one in self.state.topics.items() if name not in names})

    def make_topic(
        self, name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str] | None = None
    ) -> Topic:
        """Return a topic with an id of its own, which is not shown; its first live replicas lead."""
        self._last_topic_id += 1
        return Topic(
            name,
            uuid.UUID(int=self._last_topic_id),
            tuple(self.elected(new_state(one)) for one in assignment),
            MappingProxyType(dict(configs or {})),
            name in INTERNAL_TOPICS,
        )

    def elected(self, partition: PartitionState) -> PartitionState:
        """Return the next state of a partition: its first live replica leads, in the next epoch.

        All live replicas of a new partition are in sync; of another one, the leader only.
        """
        live = tuple(one for one in partition.replicas if one in self.state.brokers)
        isr = live if partition.partition_epoch < 0 else live[:1]
        return attrs.evolve(
            partition,
            leader=live[0] if live else NO_LEADER,
            leader_epoch=partition.leader_epoch + 1,
            isr=isr or partition.isr,
            partition_epoch=partition.partition_epoch + 1,
            revision=self.count(),
        )

    def lead(self, topic: str, partition: int, leader: int, leader_epoch: int | None = None) -> None:
        """Show another leader (``NO_LEADER``: none) of a partition, in the next epoch unless one is given."""
        known = self.state.topics[topic]
        partitions = list(known.partitions)
        old = partitions[partition]
        partitions[partition] = attrs.evolve(
            old,
            leader=leader,
            leader_epoch=old.leader_epoch + 1 if leader_epoch is None else leader_epoch,
            replicas=old.replicas if leader in (*old.replicas, NO_LEADER) else (leader,),
            isr=(leader,) if leader != NO_LEADER else old.isr,
            partition_epoch=old.partition_epoch + 1,
            revision=self.count(),
        )
        self.put(attrs.evolve(known, partitions=tuple(partitions)))

    def fence(self, fenced: bool = True) -> None:
        """Show that this broker may act on nothing, or that it may again."""
        self.change(fenced=fenced)

    def join(self, broker_id: int) -> None:
        """Show a broker that registers, again or for the first time; its partitions are not given to it."""
        node = make_node(broker_id, self.count())
        self.change(brokers={**self.state.brokers, broker_id: node})

    def leave(self, broker_id: int) -> None:
        """Show that a broker is gone; what it led has no leader any more."""
        brokers = {one: node for one, node in self.state.brokers.items() if one != broker_id}
        self.change(brokers=brokers)
        for name, topic in self.state.topics.items():
            for number, partition in enumerate(topic.partitions):
                if partition.leader == broker_id:
                    self.lead(name, number, NO_LEADER)

    # --- IMetadataStore

    def start(self, node: BrokerNode) -> Deferred[None]:
        """Show what there was before; this broker is fenced and not among the brokers."""
        self._node = node
        self.show(attrs.evolve(self._before, topics=self._before.topics))
        return succeed(None)

    def prepare(self, *topics: Topic, **changes: Any) -> None:
        """Set what :meth:`start` shows: topics from before, and attributes of the state."""
        known = MappingProxyType({topic.name: topic for topic in topics})
        self._before = attrs.evolve(self._before, topics=known, **changes)

    def register(
        self, directory_ids: Iterable[str], clean: bool = True, life: BrokerLife | None = None, seen: int = 0
    ) -> Deferred[None]:
        """Show this broker, and then the new leaders of the partitions that it is a replica of."""
        self.registered.append(tuple(directory_ids))
        self.seen.append(seen)
        node = attrs.evolve(self._node, epoch=self.count(), clean=clean)
        self.change(brokers={**self.state.brokers, node.id: node}, fenced=False)
        given = {
            name: attrs.evolve(
                topic,
                partitions=tuple(
                    self.elected(one) if one.leader in (NO_LEADER, node.id) else one
                    for one in topic.partitions
                ),
            )
            for name, topic in self.state.topics.items()
            if any(node.id in one.replicas for one in topic.partitions)
        }
        if given:
            self.put(*given.values())
        return succeed(None)

    def report_log_ends(self, ends: Mapping[TopicPartition, LogEnd]) -> Deferred[None]:
        """Note what is told."""
        self.log_ends.append(dict(ends))
        return succeed(None)

    def subscribe(self, listener: Listener) -> None:
        """See IMetadataStore."""
        self._listeners.append(listener)

    def create_topic(
        self, name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str]
    ) -> Deferred[Topic]:
        """See IMetadataStore."""

        def carry_out() -> Topic:
            if name in self.state.topics:
                raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS)
            self.put(self.make_topic(name, assignment, configs))
            return self.state.topics[name]

        return self._command("create_topic", (name, assignment, configs), carry_out)

    def delete_topic(self, name: str) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            self._known(name)
            self.remove(name)

        return self._command("delete_topic", (name,), carry_out)

    def add_partitions(self, name: str, count: int, assignment: Sequence[Sequence[int]]) -> Deferred[Topic]:
        """See IMetadataStore."""

        def carry_out() -> Topic:
            topic = self._known(name)
            if len(topic.partitions) != count:
                raise RequestError(ErrorCode.INVALID_PARTITIONS)
            added = self.make_topic(name, assignment).partitions
            self.put(attrs.evolve(topic, partitions=(*topic.partitions, *added), version=topic.version + 1))
            return self.state.topics[name]

        return self._command("add_partitions", (name, count, assignment), carry_out)

    def alter_topic_configs(self, name: str, change: ConfigChange) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            topic = self._known(name)
            self.put(attrs.evolve(topic, configs=MappingProxyType(dict(change(topic.configs)))))

        return self._command("alter_topic_configs", (name, change), carry_out)

    def alter_broker_configs(self, broker: str, change: ConfigChange) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            self.change(broker_configs=_altered(self.state.broker_configs, broker, change))

        return self._command("alter_broker_configs", (broker, change), carry_out)

    def alter_group_configs(self, group_id: str, change: ConfigChange) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            self.change(group_configs=_altered(self.state.group_configs, group_id, change))

        return self._command("alter_group_configs", (group_id, change), carry_out)

    def alter_client_metrics_configs(self, subscription: str, change: ConfigChange) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            before = self.state.client_metrics_configs
            self.change(client_metrics_configs=_altered(before, subscription, change))

        return self._command("alter_client_metrics_configs", (subscription, change), carry_out)

    def alter_client_quotas(
        self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]
    ) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            every = dict(self.state.client_quotas)
            for entity, change in changes.items():
                merged = {**every.pop(entity, {}), **change}
                quotas = {name: value for name, value in merged.items() if value is not None}
                if quotas:
                    every[entity] = quotas
            self.change(client_quotas=every)

        return self._command("alter_client_quotas", (changes,), carry_out)

    def alter_scram_credentials(self, changes: Mapping[str, Mapping[str, str | None]]) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            self.change(scram_credentials=merged(self.state.scram_credentials, changes))

        return self._command("alter_scram_credentials", (changes,), carry_out)

    def alter_acls(self, added: frozenset[AclBinding], removed: frozenset[AclBinding]) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            self.change(acls=with_changes(self.state.acls, added, removed))

        return self._command("alter_acls", (added, removed), carry_out)

    def allocate_producer_ids(self, count: int) -> Deferred[range]:
        """See IMetadataStore."""

        def carry_out() -> range:
            first, self.next_producer_id = self.next_producer_id, self.next_producer_id + count
            return range(first, first + count)

        return self._command("allocate_producer_ids", (count,), carry_out)

    def record(
        self, log_dirs: Mapping[str, str] | None, placed: Iterable[Placement], gone: Iterable[uuid.UUID]
    ) -> Deferred[None]:
        """See IMetadataStore; :attr:`recorded` is what was there at the start, and does not change."""
        args = (log_dirs, tuple(placed), tuple(gone))
        return self._command("record", args, lambda: None)

    def stop(self) -> Deferred[None]:
        """See IMetadataStore."""
        self._listeners.clear()
        return succeed(None)

    def _known(self, name: str) -> Topic:
        topic: Topic | None = self.state.topics.get(name)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic

    def _command(self, name: str, args: tuple[Any, ...], carry_out: Callable[[], Any]) -> Deferred[Any]:
        done: Deferred[Any] = Deferred()

        def work() -> None:
            try:
                result = carry_out()
            except RequestError as error:
                done.errback(error)
            else:
                done.callback(result)

        self.commands.append(Command(name, args, done, work))
        if not self.holding:
            work()
        return done


def _altered(
    every: Mapping[str, Mapping[str, str]], whose: str, change: ConfigChange
) -> dict[str, Mapping[str, str]]:
    """Return all configs with those of one entity changed; entities without configs are left out."""
    altered = {**every, whose: change(every.get(whose, {}))}
    return {name: configs for name, configs in altered.items() if configs}


class ClusterTestCase(BrokerTestCase):
    """A test case whose broker is number 1 of three; ``self.metadata`` is what it knows of the cluster."""

    settings: ClassVar[Mapping[str, str]] = {"broker.id": str(BROKER_ID)}
    node = make_node(BROKER_ID)
    metadata: FakeMetadataStore

    def make_metadata(self, config: BrokerConfig, workers: Any) -> IMetadataStore:
        """Return the cluster's metadata; a test that calls this itself keeps the store it has."""
        if not hasattr(self, "metadata"):
            self.metadata = FakeMetadataStore()
            self.prepare(self.metadata)
        return self.metadata

    def prepare(self, metadata: FakeMetadataStore) -> None:
        """Show what there was before the broker starts; tests override it."""
