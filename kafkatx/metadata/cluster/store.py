"""The metadata of a cluster of several brokers, which share a tree of nodes.

The facade: it makes the parts and connects them, and touches the tree and the clock through them. All is in
the reactor thread. Any broker changes topics, configs, quotas and ACLs; the one that is elected controller
writes the states of partitions (:mod:`kafkatx.metadata.cluster.control.controller`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from kafkatx.acls import AclBinding
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import ConfigChange, IMetadataStore, ITree
from kafkatx.interfaces.metadata import BrokerLife
from kafkatx.interfaces.nodes import SessionState, TreeError
from kafkatx.metadata.cluster import cluster_nodes
from kafkatx.metadata.cluster.commands import producer_ids
from kafkatx.metadata.cluster.commands.acls import AclCommands
from kafkatx.metadata.cluster.commands.announcements import Announcements
from kafkatx.metadata.cluster.commands.configs import ConfigCommands
from kafkatx.metadata.cluster.commands.isr import IsrCommands
from kafkatx.metadata.cluster.commands.log_dirs import LogDirCommands
from kafkatx.metadata.cluster.commands.restorations import begin_restoration
from kafkatx.metadata.cluster.commands.topics import TopicCommands
from kafkatx.metadata.cluster.commands.transactions import Transactions
from kafkatx.metadata.cluster.connection import Connection
from kafkatx.metadata.cluster.control.controller import Controller
from kafkatx.metadata.cluster.control.election import Election
from kafkatx.metadata.cluster.control.options import ControllerOptions
from kafkatx.metadata.cluster.fence import Fence
from kafkatx.metadata.cluster.registration import Registration
from kafkatx.metadata.cluster.state.change_log import Gap
from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.metadata.cluster.state.view import Listener, View
from kafkatx.metadata.layout.fields import UnreadableNode, id_text
from kafkatx.metadata.layout.producer_ids import first_producer_id
from kafkatx.types import (
    BrokerNode,
    ClusterState,
    ElectionKind,
    IsrChange,
    LogDirRecord,
    LogEnd,
    PartitionState,
    Placement,
    QuotaEntity,
    Topic,
    TopicPartition,
)

CONTROLLER_ELIGIBLE = "kafkatx.controller.eligible"
ATTEMPTS = 5
"""Attempts of a start whose connection is lost."""
CONNECTED_S = 30.0
"""Seconds that each of them waits for the connection."""
SEEN_S = 10.0
"""Seconds for which a registration waits for a controller."""


@attrs.frozen
class ClusterOptions:
    """Settings of a store beside its tree.

    :ivar where: the tree, for messages: ``zookeeper.connect=h:2181/kafka``.
    :ivar controller_eligible: ``kafkatx.controller.eligible``.
    :ivar broker_version: ``kafkatx.zookeeper.broker.version``.
    :ivar controller: the settings of the controller.
    """

    where: str
    controller_eligible: bool = True
    broker_version: int = 5
    controller: ControllerOptions = attrs.field(factory=ControllerOptions)


@implementer(IMetadataStore)
class ClusterMetadataStore:
    """An :class:`~kafkatx.interfaces.IMetadataStore` over a tree.

    :param now_ms: the time of day in ms, for timestamps in nodes.
    :param new_uuid: returns random UUIDs, for the cluster and for topics.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        clock: IReactorTime,
        options: ClusterOptions,
        now_ms: Callable[[], int],
        new_uuid: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        self._tree = tree
        self._options = options
        self._new_uuid = new_uuid
        self._now_ms = now_ms
        self._node: BrokerNode | None = None
        self._loaded_once = False
        self._view = View(tree, clock)
        self._follower = Follower(tree, clock, self._view, self._loaded)
        self._registration = Registration(
            tree, clock, self._view, now_ms, options.broker_version, self._registered
        )
        self._fence = Fence(tree, clock, self._view, self._registration)
        self._election = Election(
            tree,
            self._view,
            options.controller_eligible,
            lambda: self._registration.epoch is not None,
            now_ms,
            self._follower.read_again,
        )
        self._controller = Controller(
            tree, clock, self._view, self._follower, self._random_id, options.controller
        )
        self._transactions = Transactions(tree, clock, self._view)
        self._topics = TopicCommands(tree, self._view, self._transactions, self._random_id)
        self._configs = ConfigCommands(tree, self._transactions)
        self._acls = AclCommands(tree, self._transactions)
        self._log_dirs = LogDirCommands(
            tree, clock, self._transactions, lambda topic_id: topic_id in self.state.topic_names
        )
        self._isr = IsrCommands(tree, self._view, self._follower.read_brokers, self._follower.begin)
        self._announcements = Announcements(tree, self._transactions, self._registration)
        self._connection = Connection(tree, clock, options.where, self._connected, self._disconnected)
        self.lease_remaining_s = self._fence.remaining_s

    @property
    def state(self) -> ClusterState:
        """The cluster's state."""
        return self._view.state

    @property
    def generation(self) -> int:
        """The generation of the tree; 0 before the start."""
        return self._view.image.generation if self._loaded_once else 0

    @property
    def recorded(self) -> LogDirRecord:
        """The record of this broker's log dirs at its start."""
        return self._log_dirs.recorded

    # --- the life of the broker

    def start(self, node: BrokerNode) -> Deferred[None]:
        """Connect, and load the state."""
        return Deferred.fromCoroutine(self._start(node))

    async def _start(self, node: BrokerNode) -> None:
        self._node = node
        for part in (self._follower, self._transactions, self._fence, self._election, self._isr):
            part.broker_id = node.id
        try:
            await self._connection.open()
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    await self._prepare(node.id)
                    await self._follower.first()
                    await self._log_dirs.load()
                    break
                except (TreeError, Gap) as error:
                    if attempt == ATTEMPTS or not await self._view.until(self._is_connected, CONNECTED_S):
                        where = self._options.where
                        raise SettingError(f"{where}: the state cannot be read: {error}") from error
            self._loaded_once = True
        except UnreadableNode as error:
            await self._close()
            raise SettingError(f"{self._options.where}: {error}") from error
        except BaseException:
            await self._close()
            raise

    def _is_connected(self) -> bool:
        return self._tree.state is SessionState.CONNECTED

    async def _prepare(self, broker_id: int) -> None:
        await cluster_nodes.prepare(
            self._tree, self._options.where, broker_id, lambda: id_text(self._random_id())
        )

    def register(
        self, directory_ids: Iterable[str], clean: bool = True, life: BrokerLife | None = None, seen: int = 0
    ) -> Deferred[None]:
        """Create this broker's node, and again after each lost session."""
        return Deferred.fromCoroutine(self._register(tuple(directory_ids), clean, life, seen))

    async def _register(
        self, directory_ids: tuple[str, ...], clean: bool, life: BrokerLife | None, seen: int
    ) -> None:
        node = self._started_node()
        if seen > self.generation:
            await self._restore(seen)
        await self._registration.register(node, directory_ids, clean, life)
        await self._view.until(lambda: not self.state.fenced and self.state.controller_id >= 0, SEEN_S)
        if self.state.controller_id < 0:
            self._log.warn(
                "the cluster has no controller: partitions get no leaders until there is one; set {name}=true"
                " for at least one broker",
                name=CONTROLLER_ELIGIBLE,
            )

    async def _restore(self, seen: int) -> None:
        """Begin the election of leaders by their logs: the tree is older than what this broker has seen.

        :raises SettingError: the tree could not be reached.
        """
        try:
            number = await begin_restoration(self._tree, self._transactions, seen)
        except RequestError as error:
            raise SettingError(f"{self._options.where}: {error}") from error
        if not await self._view.until(lambda: self._view.image.restorations >= number, SEEN_S):
            raise SettingError(f"{self._options.where}: the state cannot be read")

    def _started_node(self) -> BrokerNode:
        if self._node is None:
            raise RuntimeError("the metadata store is not started, or stopped")
        return self._node

    def stop(self) -> Deferred[None]:
        """Close the session, which deletes this broker's nodes. A second call does nothing."""
        if self._node is None:
            return succeed(None)
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        self._node = None
        self._controller.stop()
        self._fence.stop()
        await self._registration.stop()
        await self._close()

    async def _close(self) -> None:
        self._node = None
        self._follower.end()
        self._view.stop()
        await self._connection.close()

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener(delta)`` after each change, in the order of subscription."""
        self._view.subscribe(listener)

    # --- the life of the session

    def _connected(self) -> None:
        self._view.changed()
        if self._loaded_once:
            self._follower.begin()
            self._fence.renew()

    def _disconnected(self, lost: bool) -> None:
        self._follower.end()
        if lost:
            self._fence.evaluate()

    def _loaded(self) -> None:
        """Go on after everything has been read."""
        self._registration.ensure()
        self._fence.evaluate()
        self._election.consider()
        self._controller.consider()

    def _registered(self) -> None:
        self._fence.renew()
        self._fence.evaluate()
        self._election.consider()

    # --- commands

    def create_topic(
        self, name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str]
    ) -> Deferred[Topic]:
        """Create a topic."""
        return Deferred.fromCoroutine(self._topics.create(name, assignment, configs))

    def delete_topic(self, name: str) -> Deferred[None]:
        """Mark a topic for deletion, and wait until it is deleted."""
        return Deferred.fromCoroutine(self._topics.delete(name))

    def add_partitions(self, name: str, count: int, assignment: Sequence[Sequence[int]]) -> Deferred[Topic]:
        """Add partitions to a topic."""
        return Deferred.fromCoroutine(self._topics.add_partitions(name, count, assignment))

    def alter_topic_configs(self, name: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a topic."""
        return Deferred.fromCoroutine(self._configs.alter_topic(name, change))

    def alter_broker_configs(self, broker: str, change: ConfigChange) -> Deferred[None]:
        """Change the dynamic settings of a broker, or of all."""
        return Deferred.fromCoroutine(self._configs.alter_broker(broker, change))

    def alter_group_configs(self, group_id: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a group."""
        return Deferred.fromCoroutine(self._configs.alter_group(group_id, change))

    def alter_client_metrics_configs(self, subscription: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a subscription to metrics of clients."""
        return Deferred.fromCoroutine(self._configs.alter_client_metrics(subscription, change))

    def alter_client_quotas(
        self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]
    ) -> Deferred[None]:
        """Set and remove client quotas."""
        return Deferred.fromCoroutine(self._configs.alter_quotas(changes))

    def alter_scram_credentials(self, changes: Mapping[str, Mapping[str, str | None]]) -> Deferred[None]:
        """Set and remove SCRAM credentials of users."""
        return Deferred.fromCoroutine(self._configs.alter_credentials(changes))

    def alter_acls(self, added: frozenset[AclBinding], removed: frozenset[AclBinding]) -> Deferred[None]:
        """Add ACLs, and remove others."""
        return Deferred.fromCoroutine(self._acls.alter(added, removed))

    def alter_isr(self, changes: Sequence[IsrChange]) -> Deferred[list[PartitionState | ErrorCode]]:
        """Change the in-sync replicas of partitions that this broker leads."""
        return Deferred.fromCoroutine(self._isr.alter(tuple(changes)))

    def elect_leaders(
        self, kind: ElectionKind, partitions: Collection[TopicPartition] | None
    ) -> Deferred[dict[TopicPartition, RequestError | None]]:
        """Elect leaders, if this broker is the controller."""
        return self._controller.elect(kind, partitions)

    def reassign(
        self, changes: Mapping[TopicPartition, Sequence[int] | None]
    ) -> Deferred[dict[TopicPartition, RequestError | None]]:
        """Reassign replicas, if this broker is the controller."""
        return self._controller.reassign(changes)

    def begin_stopping(self) -> Deferred[None]:
        """Tell the cluster that this broker is about to stop."""
        return Deferred.fromCoroutine(self._announcements.begin_stopping(self._started_node()))

    def report_offline(self, replicas: Collection[TopicPartition]) -> Deferred[None]:
        """Tell the cluster that these replicas of this broker are offline."""
        return Deferred.fromCoroutine(
            self._announcements.report_offline(self._started_node(), tuple(replicas))
        )

    def report_log_ends(self, ends: Mapping[TopicPartition, LogEnd]) -> Deferred[None]:
        """Tell the cluster where logs of this broker end."""
        return Deferred.fromCoroutine(self._announcements.report_log_ends(self._started_node(), ends))

    def allocate_producer_ids(self, count: int) -> Deferred[range]:
        """Reserve *count* producer ids."""
        lowest = first_producer_id(self._now_ms() / 1000)
        return Deferred.fromCoroutine(producer_ids.allocate(self._tree, self._transactions, count, lowest))

    def record(
        self,
        log_dirs: Mapping[str, str] | None = None,
        placed: Iterable[Placement] = (),
        gone: Iterable[uuid.UUID] = (),
    ) -> Deferred[None]:
        """Record the log dirs of partitions."""
        return Deferred.fromCoroutine(self._log_dirs.record(log_dirs, placed, gone))

    def _random_id(self) -> uuid.UUID:
        """Return a UUID whose text does not begin with ``-``: commands would take it for an option."""
        while True:
            found = self._new_uuid()
            if not id_text(found).startswith("-"):
                return found
