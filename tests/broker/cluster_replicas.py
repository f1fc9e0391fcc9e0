"""The part of :class:`~tests.broker.cluster.FakeMetadataStore` about several replicas of a partition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import (
    NO_LEADER,
    ClusterState,
    ElectionKind,
    IsrChange,
    PartitionState,
    Topic,
    TopicPartition,
)


class FakeReplicas:
    """Changes of in-sync replicas, and of brokers that stop or lose a log dir.

    Elections and reassignments are refused (NOT_CONTROLLER): a test that needs another answer holds them.
    """

    state: ClusterState
    _broker_id: int

    def count(self) -> int:
        """Return the next position in the order of all changes."""
        raise NotImplementedError

    def change(self, **changes: Any) -> None:
        """Show the state with other attributes."""
        raise NotImplementedError

    def put(self, *topics: Topic) -> None:
        """Show the state with these topics."""
        raise NotImplementedError

    def _command(self, name: str, args: tuple[Any, ...], carry_out: Callable[[], Any]) -> Deferred[Any]:
        raise NotImplementedError

    # --- what the test does

    def replicate(
        self,
        topic: str,
        partition: int = 0,
        *,
        leader: int | None = None,
        isr: Sequence[int] | None = None,
        eligible: Sequence[int] = (),
        recovering: bool = False,
        **changes: Any,
    ) -> PartitionState:
        """Show another state of a partition, as the controller writes it.

        :param leader: the leader; another one than now leads in the next leader epoch.
        :param isr: the in-sync replicas; None: as they are.
        :param changes: other attributes of the state: ``replicas``, ``adding``, ``leader_epoch``, ...
        """
        old = self.state.topics[topic].partitions[partition]
        if leader is not None and leader != old.leader:
            changes = {"leader": leader, "leader_epoch": old.leader_epoch + 1, **changes}
        members = old.isr if isr is None else tuple(isr)
        return self._put_state(
            TopicPartition(topic, partition),
            attrs.evolve(old, isr=members, eligible=tuple(eligible), recovering=recovering, **changes),
        )

    def begin_to_stop(self, broker_id: int) -> None:
        """Show that a broker is about to stop."""
        node = attrs.evolve(self.state.brokers[broker_id], stopping=True)
        self.change(brokers={**self.state.brokers, broker_id: node})

    def fail_replicas(self, broker_id: int, *replicas: TopicPartition) -> None:
        """Show that replicas of a broker are offline, and no others of it."""
        self.change(offline={**self.state.offline, broker_id: frozenset(replicas)})

    def _put_state(self, one: TopicPartition, state: PartitionState) -> PartitionState:
        """Show a state with the next partition epoch."""
        topic = self.state.topics[one.topic]
        partitions = list(topic.partitions)
        partitions[one.partition] = attrs.evolve(
            state,
            partition_epoch=partitions[one.partition].partition_epoch + 1,
            revision=self.count(),
        )
        self.put(attrs.evolve(topic, partitions=tuple(partitions)))
        return partitions[one.partition]

    # --- IMetadataStore

    def alter_isr(self, changes: Sequence[IsrChange]) -> Deferred[list[PartitionState | ErrorCode]]:
        """Make each change that fits the state; see IMetadataStore."""
        return self._command("alter_isr", (tuple(changes),), lambda: [self._alter(one) for one in changes])

    def _alter(self, change: IsrChange) -> PartitionState | ErrorCode:
        topic = self.state.topics.get(change.topic_partition.topic)
        if topic is None or topic.topic_id != change.topic_id:
            return ErrorCode.UNKNOWN_TOPIC_ID
        state = topic.partitions[change.topic_partition.partition]
        if state.partition_epoch != change.state.partition_epoch or state.leader != self._broker_id:
            return ErrorCode.INVALID_UPDATE_VERSION
        for member in change.isr:
            node = self.state.brokers.get(member)
            if node is None or member not in state.replicas:
                return ErrorCode.INELIGIBLE_REPLICA
            if member == self._broker_id:
                continue
            joins = member not in state.isr
            counted = change.epochs.get(member, -1)
            if (counted != node.epoch and (joins or counted >= 0)) or (
                joins and (node.stopping or not self.state.has_live(member, change.topic_partition))
            ):
                return ErrorCode.INELIGIBLE_REPLICA
        eligible: tuple[int, ...] = ()
        if len(change.isr) < change.min_insync:
            kept = {*state.eligible, *state.isr}.difference(change.isr)
            eligible = tuple(one for one in state.replicas if one in kept)
        return self._put_state(
            change.topic_partition,
            attrs.evolve(
                state,
                leader_epoch=change.next_leader_epoch,
                isr=tuple(change.isr),
                eligible=eligible,
                recovering=False,
            ),
        )

    def elect_leaders(
        self, kind: ElectionKind, partitions: Collection[TopicPartition] | None
    ) -> Deferred[dict[TopicPartition, RequestError | None]]:
        """See IMetadataStore; refused, since broker 2 is the controller."""
        return self._command("elect_leaders", (kind, partitions), self._refuse)

    def reassign(
        self, changes: Mapping[TopicPartition, Sequence[int] | None]
    ) -> Deferred[dict[TopicPartition, RequestError | None]]:
        """See IMetadataStore; refused, since broker 2 is the controller."""
        return self._command("reassign", (changes,), self._refuse)

    def _refuse(self) -> None:
        raise RequestError(ErrorCode.NOT_CONTROLLER)

    def begin_stopping(self) -> Deferred[None]:
        """See IMetadataStore."""
        return self._command("begin_stopping", (), lambda: self.begin_to_stop(self._broker_id))

    def report_offline(self, replicas: Collection[TopicPartition]) -> Deferred[None]:
        """See IMetadataStore."""

        def carry_out() -> None:
            known = self.state.offline.get(self._broker_id, frozenset())
            self.fail_replicas(self._broker_id, *known.union(replicas))

        return self._command("report_offline", (tuple(replicas),), carry_out)


def new_state(replicas: Sequence[int]) -> PartitionState:
    """Return the state of a partition before its first leader is elected."""
    return PartitionState(NO_LEADER, -1, tuple(replicas), (), -1)


def frozen(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes of a state, with mappings that cannot be changed in place of dicts."""
    return {name: MappingProxyType(one) if isinstance(one, dict) else one for name, one in changes.items()}
