"""The part of the cluster that a partition must know. Pure.

:class:`kafkatx.broker.replica.isr.IsrManager` provides it.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from kafkatx.broker.replica.leadership import Replicas
from kafkatx.types import TopicPartition

PartitionT_contra = TypeVar("PartitionT_contra", contravariant=True)


class Cluster(Protocol[PartitionT_contra]):
    """The live brokers, this broker's lease, and the way to other in-sync replicas.

    :ivar broker_id: the id of this broker.
    :ivar lag_s: ``replica.lag.time.max.ms`` in seconds.
    """

    broker_id: int
    lag_s: float

    def now_s(self) -> float:
        """Return the time of the monotonic clock."""

    def has_lease(self) -> bool:
        """Return True if no other broker can lead this one's partitions now."""

    def epoch_of(self, broker_id: int) -> int | None:
        """Return the broker epoch of a live broker, None for others."""

    def replicas_of(self, name: TopicPartition) -> Replicas:
        """Return what the cluster says of the replicas of a partition."""

    def look_at(self, partition: PartitionT_contra) -> None:
        """Ask for other in-sync replicas of a partition soon, if they must change."""

    def log_start_moved(self, partition: PartitionT_contra) -> None:
        """Write the log start of a partition that this broker follows to the disk soon."""
