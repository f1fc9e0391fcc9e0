"""Leader epochs of mirrors: raised, so that a log can take what its source has written in later ones.

It touches the cluster's metadata. The batches of a mirror keep the leader epochs of their source, by which
followers compare logs. So a leader takes no batch of a later epoch than its own: it raises its own first, by
the same transaction that changes in-sync replicas. It leads on, and followers and clients hear of the epoch
as of any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from twisted.internet.defer import Deferred

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import IsrChange, PartitionState, Topic

T = TypeVar("T")


class LeaderEpochs:
    """Raises the leader epochs of partitions that this broker leads.

    :param broker_id: the id of this broker.
    """

    def __init__(self, metadata: IMetadataStore, broker_id: int) -> None:
        self._metadata = metadata
        self._broker_id = broker_id

    async def raise_to(self, wanted: Mapping[Partition, int]) -> dict[Partition, ErrorCode]:
        """Lead partitions in these epochs from now on, or in later ones.

        Cancelling it does not affect a change that is under way.

        :return: why an epoch was not raised, for the partitions where it was not.
        """
        changes = [
            (partition, change)
            for partition, leader_epoch in wanted.items()
            if partition.leader_epoch < leader_epoch
            for change in (self._change(partition, leader_epoch),)
            if change is not None
        ]
        if not changes:
            return {}
        outcomes = await shielded(self._metadata.alter_isr([change for _, change in changes]))
        return {
            partition: ErrorCode.of(outcome)
            for (partition, _), outcome in zip(changes, outcomes, strict=True)
            if not isinstance(outcome, PartitionState)
        }

    def _change(self, partition: Partition, leader_epoch: int) -> IsrChange | None:
        name, leadership = partition.topic_partition, partition.leadership
        topic: Topic | None = self._metadata.state.topics.get(name.topic)
        if topic is None:
            return None
        followers = {} if leadership is None else leadership.followers
        isr = partition.state.isr
        epochs = {one: followers[one].broker_epoch for one in isr if one in followers}
        return IsrChange(
            topic.topic_id, name, partition.state, isr, epochs, partition.min_insync, leader_epoch
        )


def shielded(result: Deferred[T]) -> Deferred[T]:
    """Return a Deferred with the result of another one, which cancelling does not affect."""
    waiting: Deferred[T] = Deferred()

    def ended(found: object) -> None:
        if not waiting.called:
            waiting.callback(found)  # type: ignore[arg-type]

    result.addBoth(ended)
    return waiting
