"""The metadata of a cluster of one broker: its state in this process, kept in SQLite.

The database is used in the worker ``metadata`` only. :attr:`EmbeddedMetadataStore.state` is replaced and
listeners are called in the reactor thread, after the change is on the disk.
:mod:`kafkatx.metadata.embedded.location` finds the file, :mod:`kafkatx.metadata.embedded.database` reads and
writes it.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.acls import AclBinding, with_changes
from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as b
from kafkatx.config.table import log as log_table
from kafkatx.errors import StateLost
from kafkatx.interfaces import ConfigChange, IMetadataStore, Workers
from kafkatx.metadata.embedded.alone import LoneBroker, led, merged
from kafkatx.metadata.embedded.ids import kafka_id
from kafkatx.metadata.embedded.location import find_file, put_aside, refuse_shared
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.types import (
    BrokerNode,
    ClusterDelta,
    ClusterState,
    LogDirRecord,
    Placement,
    QuotaEntity,
    Topic,
    TopicPartition,
)

if TYPE_CHECKING:
    from kafkatx.metadata.embedded.database import ClusterDatabase, Loaded

T = TypeVar("T")
R = TypeVar("R")

Listener = Callable[[ClusterDelta], None]


@attrs.frozen
class _Change(Generic[T, R]):
    """Work for the worker, the function that applies its result to the state, and the caller's Deferred."""

    work: Callable[[], T]
    show: Callable[[T], R]
    result: Deferred[R]
    alone: bool


_AnyChange: TypeAlias = _Change[Any, Any]


@implementer(IMetadataStore)
class EmbeddedMetadataStore(LoneBroker):
    """An :class:`~kafkatx.interfaces.IMetadataStore` for one broker.

    :param durable: False keeps the state in memory only; it ends with the process.
    :param new_uuid: returns random UUIDs, for the cluster and for topics.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        workers: Workers,
        durable: bool = True,
        reactor: object = None,
        new_uuid: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        self.state = ClusterState(cluster_id="", controller_id=-1)
        self.lease_remaining_s = None
        self._memory = not durable
        self._log_dirs = config[log_table.LOG_DIRS]
        self._anew = config[b.KAFKATX_START_ANEW]
        self.recorded = LogDirRecord()
        self._worker = workers("metadata")
        self._new_uuid = new_uuid
        self._listeners: list[Listener] = []
        # the contents of the state's mappings: a dict is copied ten times faster than a mapping proxy
        self._topics: dict[str, Topic] = {}
        self._names: dict[uuid.UUID, str] = {}
        self._database: ClusterDatabase | None = None  # used in the worker
        self._waiting: deque[_AnyChange] = deque()
        self._is_working = False

    def start(self, node: BrokerNode) -> Deferred[None]:
        """Open the database and register this broker in it.

        :return: fails with StateLost where the database is damaged, or missing beside partitions'
            directories; with SettingError where it cannot be used, is in use, or is another broker's.
        """

        def show(loaded: Loaded) -> None:
            alone = ClusterState(
                loaded.cluster_id,
                node.id,
                MappingProxyType({node.id: node}),
                broker_configs=MappingProxyType(loaded.broker_configs),
                group_configs=MappingProxyType(loaded.group_configs),
                client_metrics_configs=MappingProxyType(loaded.client_metrics_configs),
                client_quotas=MappingProxyType(loaded.client_quotas),
                scram_credentials=MappingProxyType(loaded.scram_credentials),
                acls=loaded.acls,
            )
            names = {topic.topic_id: name for name, topic in loaded.topics.items()}
            self.recorded = loaded.recorded
            self._show(alone, loaded.topics, names, *loaded.topics)

        return self._run(lambda: self._open(node.id), show, alone=True)

    def _open(self, broker_id: int) -> Loaded:
        # SQLite is imported here, in the worker: it takes milliseconds of the start
        from kafkatx.metadata.embedded.database import ClusterDatabase
        from kafkatx.metadata.sqlite.database import IN_MEMORY, DatabaseDamaged

        if self._database is not None:
            raise RuntimeError("the metadata store is started already")
        if not self._memory:
            refuse_shared(self._log_dirs)
        path = IN_MEMORY if self._memory else find_file(self._log_dirs, self._anew)
        try:
            return self._register(ClusterDatabase(path), broker_id)
        except DatabaseDamaged as error:
            if not self._anew:
                raise StateLost(str(error), self._log_dirs) from error
            self._log.error("{error}; it is put aside as {aside}", error=error, aside=put_aside(path))
            return self._register(ClusterDatabase(path), broker_id)

    def _register(self, database: ClusterDatabase, broker_id: int) -> Loaded:
        try:
            loaded = database.register(broker_id, kafka_id(self._random_id()))
        except BaseException:
            database.close()
            raise
        self._database = database
        return loaded

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener(delta)`` after each change, in the order of subscription."""
        self._listeners.append(listener)

    def create_topic(
        self, name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str]
    ) -> Deferred[Topic]:
        """Create a topic; all its replicas are in sync, its leaders' epoch is 0."""
        topic = Topic(
            name=name,
            topic_id=self._random_id(),
            partitions=led(assignment),
            configs=MappingProxyType(dict(configs)),
            internal=name in INTERNAL_TOPICS,
        )

        def show(_: None) -> Topic:
            topics, names = self._topics.copy(), self._names.copy()
            topics[name] = topic
            names[topic.topic_id] = name
            self._show(self.state, topics, names, name)
            return topic

        return self._run(lambda: self._opened().create_topic(topic), show)

    def add_partitions(self, name: str, count: int, assignment: Sequence[Sequence[int]]) -> Deferred[Topic]:
        """Add partitions to a topic; all their replicas are in sync, their leaders' epoch is 0."""
        added = led(assignment)

        def show(_: None) -> Topic:
            old = self._topics[name]
            return self._show_topic(attrs.evolve(old, partitions=(*old.partitions, *added)))

        return self._run(lambda: self._opened().add_partitions(name, count, added), show)

    def alter_topic_configs(self, name: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a topic."""

        def show(configs: Mapping[str, str]) -> None:
            self._show_topic(attrs.evolve(self._topics[name], configs=configs))

        return self._run(lambda: self._opened().alter_topic_configs(name, change), show)

    def alter_broker_configs(self, broker: str, change: ConfigChange) -> Deferred[None]:
        """Change the dynamic settings of a broker, or of all."""
        return self._alter("broker_configs", broker, change)

    def alter_group_configs(self, group_id: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a group."""
        return self._alter("group_configs", group_id, change)

    def alter_client_metrics_configs(self, subscription: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a subscription to metrics of clients."""
        return self._alter("client_metrics_configs", subscription, change)

    def _alter(self, which: str, name: str, change: ConfigChange) -> Deferred[None]:
        """Change configs in the database, and then in the attribute *which* of the state."""

        def show(configs: Mapping[str, str]) -> None:
            every = {one: each for one, each in getattr(self.state, which).items() if one != name}
            every |= {name: configs} if configs else {}
            self._replace(attrs.evolve(self.state, **dict[str, Any]({which: MappingProxyType(every)})))

        return self._run(lambda: getattr(self._opened(), f"alter_{which}")(name, change), show)

    def _raise_epochs(self, raised: Mapping[TopicPartition, int]) -> Deferred[None]:
        """Raise the leader epochs of some partitions, whose topics may be deleted meanwhile."""

        def show(_: None) -> None:
            topics = self._topics.copy()
            for one, leader_epoch in raised.items():
                topic = topics.get(one.topic)
                if topic is not None:
                    partitions = list(topic.partitions)
                    state = partitions[one.partition]
                    leader_epoch = max(leader_epoch, state.leader_epoch)
                    partitions[one.partition] = attrs.evolve(state, leader_epoch=leader_epoch)
                    topics[one.topic] = attrs.evolve(topic, partitions=tuple(partitions))
            self._show(self.state, topics, self._names, *{one.topic for one in raised})

        return self._run(lambda: self._opened().raise_leader_epochs(raised), show)

    def delete_topic(self, name: str) -> Deferred[None]:
        """Delete a topic."""

        def show(_: None) -> None:
            topics, names = self._topics.copy(), self._names.copy()
            topic_id = topics.pop(name).topic_id
            del names[topic_id]
            self._show(self.state, topics, names, name, deleted=(topic_id,))

        return self._run(lambda: self._opened().delete_topic(name), show)

    def alter_client_quotas(
        self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]
    ) -> Deferred[None]:
        """Set and remove client quotas."""

        def show(_: None) -> None:
            quotas = merged(self.state.client_quotas, changes)
            self._replace(attrs.evolve(self.state, client_quotas=quotas))

        return self._run(lambda: self._opened().alter_client_quotas(changes), show)

    def alter_scram_credentials(self, changes: Mapping[str, Mapping[str, str | None]]) -> Deferred[None]:
        """Set and remove SCRAM credentials of users."""

        def show(_: None) -> None:
            credentials = merged(self.state.scram_credentials, changes)
            self._replace(attrs.evolve(self.state, scram_credentials=credentials))

        return self._run(lambda: self._opened().alter_scram_credentials(changes), show)

    def alter_acls(self, added: frozenset[AclBinding], removed: frozenset[AclBinding]) -> Deferred[None]:
        """Add ACLs, and remove others."""

        def show(_: None) -> None:
            self._replace(attrs.evolve(self.state, acls=with_changes(self.state.acls, added, removed)))

        return self._run(lambda: self._opened().alter_acls(added, removed), show)

    def allocate_producer_ids(self, count: int) -> Deferred[range]:
        """Reserve *count* producer ids."""
        return self._run(lambda: self._opened().allocate_producer_ids(count), lambda ids: ids)

    @property
    def generation(self) -> int:
        """The generation of the last durable change; 0 before the start."""
        database = self._database
        return 0 if database is None else database.generation

    def record(
        self,
        log_dirs: Mapping[str, str] | None = None,
        placed: Iterable[Placement] = (),
        gone: Iterable[uuid.UUID] = (),
    ) -> Deferred[None]:
        """Record the log dirs of partitions."""
        return self._run(lambda: self._opened().record(log_dirs, placed, gone), lambda _: None)

    def stop(self) -> Deferred[None]:
        """Close the database after the pending changes. A second call does nothing."""

        def close() -> None:
            database, self._database = self._database, None
            if database is not None:
                database.close()

        return self._run(close, lambda _: None, alone=True)

    def _opened(self) -> ClusterDatabase:
        if self._database is None:
            raise RuntimeError("the metadata store is not started, or stopped")
        return self._database

    def _random_id(self) -> uuid.UUID:
        """Return a UUID whose text does not begin with ``-``: commands would take it for an option.

        It is never 0 or 1, which mean something else to Kafka: random UUIDs have other version bits.
        """
        while True:
            found = self._new_uuid()
            if not kafka_id(found).startswith("-"):
                return found

    def _run(self, work: Callable[[], T], show: Callable[[T], R], alone: bool = False) -> Deferred[R]:
        """Call *work* in the worker, then *show* with its result here; fire with what *show* returned.

        Changes that wait together are made in one transaction. Cancelling ends the waiting only: the change
        is made and shown.

        :param alone: True for work that does not change the open database.
        """
        result: Deferred[R] = Deferred()
        self._waiting.append(_Change(work, show, result, alone))
        if not self._is_working:
            self._begin()
        return result

    def _begin(self) -> None:
        """Give the worker the first waiting change, and those that can be made together with it."""
        batch = [self._waiting.popleft()]
        while self._waiting and not (batch[0].alone or self._waiting[0].alone):
            batch.append(self._waiting.popleft())
        self._is_working = True
        self._worker(partial(self._work, batch)).addBoth(self._worked, batch).addErrback(self._lost)

    def _work(self, batch: list[_AnyChange]) -> list[tuple[object, Exception | None]]:
        """Make the changes; called in the worker."""
        if len(batch) == 1:
            return [(batch[0].work(), None)]
        return self._opened().together([change.work for change in batch])

    def _worked(
        self, outcome: list[tuple[object, Exception | None]] | Failure, batch: list[_AnyChange]
    ) -> None:
        """Show the results of the worker, in the order of the changes."""
        for number, change in enumerate(batch):
            try:
                value, error = (None, outcome.value) if isinstance(outcome, Failure) else outcome[number]
                if error is not None:
                    raise error
                shown = change.show(value)
            except BaseException:
                change.result.errback(Failure())
            else:
                change.result.callback(shown)
        self._is_working = False
        if self._waiting:
            self._begin()

    def _lost(self, failure: Failure) -> None:
        self._log.failure("a callback of the cluster's metadata failed", failure)

    def _show_topic(self, topic: Topic) -> Topic:
        """Replace an existing topic in the state."""
        topics = self._topics.copy()
        topics[topic.name] = topic
        self._show(self.state, topics, self._names, topic.name)
        return topic

    def _show(
        self,
        state: ClusterState,
        topics: dict[str, Topic],
        names: dict[uuid.UUID, str],
        *changed: str,
        deleted: Iterable[uuid.UUID] = (),
    ) -> None:
        """Replace the state; the caller does not change the dicts any more."""
        self._topics, self._names = topics, names
        self._replace(
            attrs.evolve(state, topics=MappingProxyType(topics), topic_names=MappingProxyType(names)),
            changed,
            deleted,
        )

    def _replace(
        self, state: ClusterState, changed: Iterable[str] = (), deleted: Iterable[uuid.UUID] = ()
    ) -> None:
        delta = ClusterDelta(self.state, state, frozenset(changed), frozenset(deleted))
        self.state = state
        for listener in tuple(self._listeners):
            try:
                listener(delta)
            except Exception:
                # the change is made: the other listeners and the caller must be told
                self._log.failure("a listener of the cluster's state failed")
