"""The questions of replication where one broker is the whole cluster: most need no change. Pure.

:class:`LoneBroker` is the base of :class:`kafkatx.metadata.embedded.store.EmbeddedMetadataStore`, which keeps
the state.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import attrs
from twisted.internet.defer import Deferred, succeed

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces.metadata import BrokerLife
from kafkatx.types import ClusterState, ElectionKind, IsrChange, LogEnd, PartitionState, TopicPartition

K = TypeVar("K")
V = TypeVar("V")


def merged(
    every: Mapping[K, Mapping[str, V]], changes: Mapping[K, Mapping[str, V | None]]
) -> Mapping[K, Mapping[str, V]]:
    """Return the values of all keys after some changes, of which None removes one; no key is without any."""
    result = dict(every)
    for key, change in changes.items():
        values = {
            name: value for name, value in {**result.pop(key, {}), **change}.items() if value is not None
        }
        if values:
            result[key] = MappingProxyType(values)
    return MappingProxyType(result)


class LoneBroker:
    """The commands about replicas, for a broker that has all of them.

    :ivar state: the state of the cluster.
    """

    state: ClusterState

    def alter_isr(self, changes: Sequence[IsrChange]) -> Deferred[list[PartitionState | ErrorCode]]:
        """Raise leader epochs; refuse all else: each partition has one replica, which is in sync."""
        raised = {
            change.topic_partition: change.leader_epoch
            for change in changes
            if change.leader_epoch > change.state.leader_epoch
            and isinstance(self._altered(change), PartitionState)
        }
        if not raised:
            return succeed([self._altered(change) for change in changes])
        return self._raise_epochs(raised).addCallback(lambda _: [self._made(change) for change in changes])

    def _made(self, change: IsrChange) -> PartitionState | ErrorCode:
        """Return the outcome of a change after the leader epochs were raised."""
        state = self._partition(change.topic_partition)
        after = attrs.evolve(change.state, leader_epoch=change.next_leader_epoch)
        return self._altered(attrs.evolve(change, state=after) if state == after else change)

    def _altered(self, change: IsrChange) -> PartitionState | ErrorCode:
        state = self._partition(change.topic_partition)
        if state is None or change.topic_id not in self.state.topic_names:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return state if (state, state.isr) == (change.state, change.isr) else ErrorCode.INVALID_UPDATE_VERSION

    def elect_leaders(
        self, kind: ElectionKind, partitions: Collection[TopicPartition] | None
    ) -> Deferred[dict[TopicPartition, RequestError | None]]:
        """Answer that no partition can have another leader: this broker has the only replicas."""
        if partitions is None:
            partitions = self.state.offline.get(self.state.controller_id, frozenset())
        return succeed({one: self._unelected(kind, one) for one in partitions})

    def _unelected(self, kind: ElectionKind, one: TopicPartition) -> RequestError:
        if self._partition(one) is None:
            return _unknown(one)
        if self.state.has_live(self.state.controller_id, one):
            return RequestError(
                ErrorCode.ELECTION_NOT_NEEDED, f"{one}: the only broker of the cluster leads it."
            )
        code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        if kind is ElectionKind.PREFERRED:
            code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        return RequestError(code, f"{one}: its log dir has failed, and there is no other replica.")

    def reassign(
        self, changes: Mapping[TopicPartition, Sequence[int] | None]
    ) -> Deferred[dict[TopicPartition, RequestError | None]]:
        """Accept the replicas that each partition has; refuse others, and the end of what never began."""
        return succeed({one: self._reassigned(one, replicas) for one, replicas in changes.items()})

    def _reassigned(self, one: TopicPartition, replicas: Sequence[int] | None) -> RequestError | None:
        state = self._partition(one)
        if state is None:
            return _unknown(one)
        if replicas is None:
            return RequestError(
                ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{one}: its replicas are not being reassigned."
            )
        if tuple(replicas) != state.replicas:
            return RequestError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{one}: the cluster has one broker, {self.state.controller_id}; it has no others.",
            )
        return None

    def register(
        self, directory_ids: Iterable[str], clean: bool = True, life: BrokerLife | None = None, seen: int = 0
    ) -> Deferred[None]:
        """Do nothing: there are no other brokers to tell."""
        return succeed(None)

    def begin_stopping(self) -> Deferred[None]:
        """Do nothing: there are no other brokers to tell."""
        return succeed(None)

    def report_offline(self, replicas: Collection[TopicPartition]) -> Deferred[None]:
        """Show these replicas as offline, until the next start."""
        broker_id = self.state.controller_id
        known = self.state.offline.get(broker_id, frozenset())
        if not known.issuperset(replicas):
            offline = MappingProxyType({broker_id: known.union(replicas)})
            self._replace(attrs.evolve(self.state, offline=offline))
        return succeed(None)

    def report_log_ends(self, ends: Mapping[TopicPartition, LogEnd]) -> Deferred[None]:
        """Do nothing: each partition has one log."""
        return succeed(None)

    def _raise_epochs(self, raised: Mapping[TopicPartition, int]) -> Deferred[None]:
        raise NotImplementedError

    def _replace(
        self, state: ClusterState, changed: Iterable[str] = (), deleted: Iterable[uuid.UUID] = ()
    ) -> None:
        raise NotImplementedError

    def _partition(self, one: TopicPartition) -> PartitionState | None:
        topic = self.state.topics.get(one.topic)
        if topic is None or not 0 <= one.partition < len(topic.partitions):
            return None
        return topic.partitions[one.partition]


def _unknown(one: TopicPartition) -> RequestError:
    return RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {one}.")


def led(assignment: Sequence[Sequence[int]]) -> tuple[PartitionState, ...]:
    """Return new partitions: the first replica leads, and all are in sync."""
    return tuple(
        PartitionState(leader=replicas[0], leader_epoch=0, replicas=tuple(replicas), isr=tuple(replicas))
        for replicas in assignment
    )
