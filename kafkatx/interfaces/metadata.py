"""The interface of the metadata store: the cluster's state, and changes of it.

A Deferred of a change must not be cancelled: the change may be made nevertheless.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

    from kafkatx.acls import AclBinding
    from kafkatx.errors import ErrorCode, RequestError
    from kafkatx.nodes import BrokerProcess
    from kafkatx.types import (
        BrokerNode,
        ClusterDelta,
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

ConfigChange: TypeAlias = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Returns new configs for the current ones; may raise RequestError.

It is pure: a store may call it more than once, and off the reactor thread.
"""


class BrokerLife(Protocol):
    """The life of this process: who it is, and whether its logs are those of the broker's last life.

    :ivar lives: the random text of this life by ``directory.id``, for the log dirs that have recorded it.
    :ivar ended: the same for the end of this life, when the logs are closed; empty before.
    """

    @property
    def lives(self) -> Mapping[str, str]:
        """See above."""

    @property
    def ended(self) -> Mapping[str, str]:
        """See above."""

    def process(self) -> BrokerProcess:
        """Return this process, with the locks that it holds now."""

    def begin(self, lives: Mapping[str, str], closed: Collection[str]) -> Deferred[bool]:
        """Compare the log dirs with the broker's last registered life, and record this life in them.

        It is called before each registration. If the logs do not continue that life, the broker trusts none
        of them from then on.

        :param lives: the last registered life by ``directory.id``.
        :param closed: the dirs whose logs were closed at the end of that life.
        :return: fires with True, on the disk, if the logs continue the last life, or there was none.
        """


class IMetadataStore(Interface):
    """The cluster's state (live brokers, topics, partitions, leaders, configs), and notification of changes.

    Factory: ``factory(config, workers, durable, reactor)``: a ``config.BrokerConfig``, :data:`Workers`, True
    if the state must outlive the process, as the records of the broker's store do (``ILogStore.durable``),
    and the broker's reactor.
    Reads use :attr:`state`, an immutable value in memory. Changes return Deferreds, which fire after the
    change is durable and :attr:`state` includes it.
    """

    state: ClusterState = Attribute("The current state; replaced as a whole.")
    recorded: LogDirRecord = Attribute("The record of this broker's log dirs at its start.")
    generation: int = Attribute(
        "Increases with each durable change; 0 if an older state cannot come back. The log dirs note it: a "
        "start with a lower one is refused, or heals the state of a cluster (register)."
    )

    lease_remaining_s: Callable[[], float] | None = Attribute(
        "Returns for how many seconds no other broker can lead this one's partitions; 0 or less: the broker "
        "must write nothing. None if there are no other brokers. State.fenced says the same, a moment later."
    )

    def start(node: BrokerNode) -> Deferred[None]:
        """Load the state. In a cluster of several brokers this one is fenced until :meth:`register`.

        :return: fires with None; fails with StateLost if the state is missing or damaged although there is
            data that belongs to it; with SettingError if the store cannot be reached or used.
        """

    def register(
        directory_ids: Iterable[str], clean: bool = True, life: BrokerLife | None = None, seen: int = 0
    ) -> Deferred[None]:
        """Announce that this broker serves: its logs are open, and it can be given partitions to lead.

        After a lost session the store registers the broker again by itself.

        :param directory_ids: ``directory.id`` of each log dir in use. By them the past life of this broker,
            which may still be registered, is told from another broker with the same id.
        :param clean: False if the logs may lack records that this broker has acknowledged: its machine went
            down before it had stopped in order. It leaves the in-sync replicas of each partition that have
            another member.
        :param life: this process, and the past of its logs. A past life that is still registered is replaced
            at once only if this process has its locks. If the logs do not continue the life that was
            registered last, no state from before counts this broker as in sync. None: nothing is known.
        :param seen: the highest generation that the log dirs have noted. One above :attr:`generation` shows
            that an older copy of the state was put back: no partition is led until its replicas have told
            where their logs end, and then by the longest.
        :return: fires with None; fails with SettingError, which names it, if another broker has this id, or
            another process is this broker.
        """

    def begin_stopping() -> Deferred[None]:
        """Tell the cluster that this broker is about to stop: it should lead nothing (KIP-107's shutdown).

        It stays registered, and goes on to act on the partitions that it leads. ``BrokerNode.stopping`` is
        True for all brokers then, also after a lost session.

        :return: fires with None, at once if it is not registered; fails with RequestError REQUEST_TIMED_OUT
            if the cluster could not be told in time.
        """

    def report_offline(replicas: Collection[TopicPartition]) -> Deferred[None]:
        """Tell the cluster that log dirs of this broker have failed.

        The replicas are added to those that were reported before; ``ClusterState.offline`` has them until
        this broker starts again. Each registration tells them, so this may be called before the first.

        :return: as :meth:`begin_stopping`.
        """

    def report_log_ends(ends: Mapping[TopicPartition, LogEnd]) -> Deferred[None]:
        """Tell the cluster where logs of this broker end, in place of what was told before.

        They are those of partitions whose states have no in-sync replicas. A new registration forgets them.

        :return: as :meth:`begin_stopping`.
        """

    def subscribe(listener: Callable[[ClusterDelta], None]) -> None:
        """Call ``listener(delta)`` in the reactor thread after each change of :attr:`state`."""

    def create_topic(
        name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str]
    ) -> Deferred[Topic]:
        """Create a topic. In a cluster, a partition whose replicas are all away has no leader yet.

        :param assignment: for each partition the broker ids of its replicas, the leader first.
        :param configs: config values by name, already validated.
        :return: fires with the topic; fails with RequestError TOPIC_ALREADY_EXISTS.
        """

    def delete_topic(name: str) -> Deferred[None]:
        """Delete a topic. Its id is in :attr:`recorded` ``.deleted`` until :meth:`record` gets it as gone.

        :return: fires with None; fails with RequestError UNKNOWN_TOPIC_OR_PARTITION.
        """

    def add_partitions(name: str, count: int, assignment: Sequence[Sequence[int]]) -> Deferred[Topic]:
        """Add partitions to a topic that has *count* of them. After a crash all of them exist, or none.

        :param assignment: for each new partition the broker ids of its replicas, the leader first.
        :return: fires with the changed topic; fails with RequestError UNKNOWN_TOPIC_OR_PARTITION, or
            INVALID_PARTITIONS if the number of partitions is not *count*: another change came first.
        """

    def alter_topic_configs(name: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a topic. Concurrent changes are made one after the other, and none is lost.

        :return: fires with None; fails with RequestError UNKNOWN_TOPIC_OR_PARTITION, or with the error that
            *change* raises: then nothing is changed.
        """

    def alter_broker_configs(broker: str, change: ConfigChange) -> Deferred[None]:
        """Change the dynamic settings of a broker.

        :param broker: the broker's id as text, or ``types.ALL_BROKERS`` for the defaults of all brokers.
        :return: as :meth:`alter_topic_configs`.
        """

    def alter_group_configs(group_id: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a group, which need not exist.

        :return: as :meth:`alter_topic_configs`.
        """

    def alter_client_metrics_configs(subscription: str, change: ConfigChange) -> Deferred[None]:
        """Change the configs of a subscription to metrics of clients; without configs it does not exist.

        :return: as :meth:`alter_topic_configs`.
        """

    def alter_client_quotas(changes: Mapping[QuotaEntity, Mapping[str, float | None]]) -> Deferred[None]:
        """Set and remove client quotas. After a crash all of the changes are made, or none.

        :param changes: for each entity the quotas' values by name, already validated; None removes a quota,
            which need not exist.
        :return: fires with None.
        """

    def alter_scram_credentials(changes: Mapping[str, Mapping[str, str | None]]) -> Deferred[None]:
        """Set and remove SCRAM credentials of users. After a crash all of the changes are made, or none.

        :param changes: for each user Kafka's text of the credentials by mechanism; None removes one, which
            need not exist.
        :return: fires with None; fails with RequestError INVALID_REQUEST if a name cannot be a user's.
        """

    def alter_acls(added: frozenset[AclBinding], removed: frozenset[AclBinding]) -> Deferred[None]:
        """Add ACLs, and then remove others. After a crash all of the changes are made, or none.

        ACLs to add may be there already, those to remove need not be there.

        :return: fires with None; fails with RequestError INVALID_REQUEST if the store cannot hold one.
        """

    def alter_isr(changes: Sequence[IsrChange]) -> Deferred[list[PartitionState | ErrorCode]]:
        """Change the in-sync replicas of partitions that this broker leads; one bad change spoils no other.

        A change may raise the leader epoch as well; this broker leads in that from then on.

        Each change is refused if its members are not those that the leader has counted: the transaction
        checks the incarnation of every member. If the connection is lost before the reply comes, the outcome
        is read when it is back; so the Deferred may fire late, but what it says is certain.

        :return: fires with an outcome for each change, in order: the new state, which :attr:`state` shows
            by then; or INVALID_UPDATE_VERSION: the state is another by now, or is not led by this broker;
            INELIGIBLE_REPLICA: a member is dead, has registered again, or is no replica; or a new member is
            stopping or offline; UNKNOWN_TOPIC_ID: the topic is gone; REQUEST_TIMED_OUT: nothing was changed,
            since other changes came first again and again; UNKNOWN_SERVER_ERROR: the server refuses it.
            Fails with CancelledError if the store stops.
        """

    def elect_leaders(
        kind: ElectionKind, partitions: Collection[TopicPartition] | None
    ) -> Deferred[dict[TopicPartition, RequestError | None]]:
        """Elect leaders of partitions; only the controller can.

        :param partitions: None: all that need such an election.
        :return: fires with an entry for each partition: None: it has such a leader by now. With None for all
            partitions there are no entries for those that need no election. Fails with RequestError
            NOT_CONTROLLER.
        """

    def reassign(
        changes: Mapping[TopicPartition, Sequence[int] | None],
    ) -> Deferred[dict[TopicPartition, RequestError | None]]:
        """Begin reassignments of replicas, or cancel them (KIP-455); only the controller can.

        :param changes: the new replicas of each partition, the preferred leader first; None cancels.
        :return: fires with an entry for each partition: None: the reassignment has begun, or is cancelled.
            Fails with RequestError NOT_CONTROLLER.
        """

    def allocate_producer_ids(count: int) -> Deferred[range]:
        """Reserve producer ids.

        :return: fires with *count* ids that no broker of the cluster has used or will use.
        """

    def record(
        log_dirs: Mapping[str, str] | None, placed: Iterable[Placement], gone: Iterable[uuid.UUID]
    ) -> Deferred[None]:
        """Record the locations of this broker's logs.

        :param log_dirs: the paths of the log dirs in use, by ``directory.id``; None: unchanged.
        :param placed: new placements; those of partitions that do not exist any more are ignored.
        :param gone: ids of deleted topics of which no directory is left.
        :return: fires with None when it is durable.
        """

    def stop() -> Deferred[None]:
        """Give up the registration and release all resources; fires with None."""
