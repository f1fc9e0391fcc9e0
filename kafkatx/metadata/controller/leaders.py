"""The election of the leader of one partition, and its in-sync replicas after that. Pure.

:mod:`kafkatx.metadata.controller.reconcile` has the table of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from kafkatx.metadata.controller.isr import TopicRules, is_stale, next_eligible, without_lost
from kafkatx.types import NO_LEADER, ClusterState, PartitionState, TopicPartition

MORE_EPOCHS = 1000
"""Leader epochs that are left out if not all logs are known: those of a broker that is away may be later."""


class Replicas:
    """The replicas of a cluster that can lead.

    :ivar epochs: the broker epochs of the brokers that are just live: not stopping, with all replicas, and
        with all the records that they ever had.
    """

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.epochs = {
            each.id: each.epoch
            for each in state.brokers.values()
            if each.clean and not each.stopping and not state.offline.get(each.id)
        }
        self._steady = frozenset(self.epochs)
        self._lost_epoch = max(state.lost_epochs.values(), default=-1)
        self._lost_epoch = max(self._lost_epoch, state.restored_at)

    def is_settled(self, partition: PartitionState) -> bool:
        """Return True if a partition certainly needs no write; quick, for the most of them."""
        epoch = self.epochs.get(partition.leader)
        return (
            epoch is not None
            and partition.revision > epoch
            and partition.revision > self._lost_epoch
            and self._steady.issuperset(partition.isr)
            and not partition.eligible
            and not partition.adding
            and not partition.removing
        )

    def is_stale(self, partition: PartitionState) -> bool:
        """Return True if all brokers that could lead a partition by its state have logs of an earlier life.

        No write but an unclean election may follow: a later state would trust them.
        """
        if not self.state.stale_epochs:
            return False
        members = (*partition.isr, *partition.eligible)
        return bool(members) and all(is_stale(each, partition, self.state) for each in members)

    def able(self, brokers: Iterable[int], one: TopicPartition) -> tuple[int, ...]:
        """Return those brokers that are live and whose replica is not offline.

        :return: in the given order, without those that are stopping if there are others.
        """
        live = tuple(each for each in brokers if self.state.has_live(each, one))
        staying = tuple(each for each in live if not self.state.brokers[each].stopping)
        return staying or live


def next_state(
    partition: PartitionState, one: TopicPartition, replicas: Replicas, rules: Callable[[], TopicRules]
) -> PartitionState | None:
    """Return the state that a partition needs; None if it is as it should be, or waits for a replica."""
    if partition.revision <= replicas.state.restored_at:
        return _of_nobody(partition)
    if partition.partition_epoch >= 0 and not partition.isr:
        return elected_longest(partition, one, replicas, partition.replicas)
    if partition.partition_epoch < 0:
        isr = replicas.able(partition.replicas, one)
        return (
            attrs.evolve(partition, leader=isr[0], leader_epoch=0, isr=isr, partition_epoch=0)
            if isr
            else None
        )
    if replicas.is_stale(partition):
        return elected_unclean(partition, one, replicas) if rules().unclean else None
    known = without_lost(partition, replicas.state)
    members = replicas.able((each for each in known.isr if each in partition.replicas), one)
    if members:
        leader = partition.leader
        if leader not in members:
            leader = next(each for each in partition.replicas if each in members)
        return _changed(partition, known, leader, members, replicas, rules)
    eligible = replicas.able((each for each in partition.replicas if each in known.eligible), one)
    if eligible:
        return _changed(partition, known, eligible[0], eligible[:1], replicas, rules)
    if rules().unclean and (unclean := elected_unclean(partition, one, replicas)):
        return unclean
    return _changed(partition, known, NO_LEADER, known.isr, replicas, rules)


def _of_nobody(partition: PartitionState) -> PartitionState:
    """Return a state that no broker leads or follows: the one from before is of an older copy of the tree."""
    return attrs.evolve(
        partition,
        leader=NO_LEADER,
        leader_epoch=partition.leader_epoch + 1,
        isr=(),
        partition_epoch=partition.partition_epoch + 1,
        revision=0,
        eligible=(),
        recovering=False,
    )


def elected_longest(
    partition: PartitionState,
    one: TopicPartition,
    replicas: Replicas,
    needed: Iterable[int],
    more_epochs: int = 1,
) -> PartitionState | None:
    """Return the state of a partition that the longest log leads, in a later epoch than all logs know.

    :param needed: brokers that must have told where their logs end.
    :param more_epochs: how much later.
    :return: None if one of them has not told that.
    """
    ends = {
        broker: end
        for broker in replicas.able(partition.replicas, one)
        if (end := replicas.state.log_ends.get(broker, {}).get(one)) is not None
        and end.asked == partition.leader_epoch
    }
    if not ends or not ends.keys() >= set(needed):
        return None
    leader = max(ends, key=lambda broker: (ends[broker].epoch, ends[broker].offset))
    return attrs.evolve(
        partition,
        leader=leader,
        leader_epoch=max(partition.leader_epoch, *(end.latest for end in ends.values())) + more_epochs,
        isr=(leader,),
        partition_epoch=partition.partition_epoch + 1,
        revision=0,
    )


def elected_unclean(
    partition: PartitionState, one: TopicPartition, replicas: Replicas
) -> PartitionState | None:
    """Return the state of a partition that a replica leads although it is not in sync; None: none is live.

    The other replicas are not eligible any more: what they have beyond the new leader's log is given up.
    """
    if not partition.isr:
        return elected_longest(partition, one, replicas, (), MORE_EPOCHS)
    live = replicas.able(partition.replicas, one)
    if not live:
        return None
    return attrs.evolve(
        partition,
        leader=live[0],
        leader_epoch=partition.leader_epoch + 1,
        isr=live[:1],
        partition_epoch=partition.partition_epoch + 1,
        revision=0,
        eligible=(),
        recovering=True,
    )


def _changed(
    old: PartitionState,
    known: PartitionState,
    leader: int,
    isr: tuple[int, ...],
    replicas: Replicas,
    rules: Callable[[], TopicRules],
) -> PartitionState | None:
    """Return the state with another leader or other in-sync replicas; None if all is as it was.

    :param known: the old state without brokers that may have lost records.
    """
    node = replicas.state.brokers.get(leader)
    same_leader = leader == old.leader and (node is None or old.revision > node.epoch)
    if leader == NO_LEADER or (same_leader and isr == known.isr):
        eligible = known.eligible
    else:
        eligible = next_eligible(known, isr, rules().min_insync)
    if same_leader and (isr, eligible) == (old.isr, old.eligible):
        return None
    return attrs.evolve(
        old,
        leader=leader,
        leader_epoch=old.leader_epoch + (not same_leader),
        isr=isr,
        partition_epoch=old.partition_epoch + 1,
        revision=0,
        eligible=eligible,
    )
