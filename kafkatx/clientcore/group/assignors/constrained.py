"""The sticky assignment for members with equal subscriptions: exact quotas, few moves.

It follows ``AbstractStickyAssignor.ConstrainedAssignmentBuilder``, without racks. That class orders members
with more than their quota by a hash table; here they are ordered by member id.
"""

from __future__ import annotations

from collections import deque

from kafkatx.clientcore.group.assignors.assignor import Assignments, PartitionCounts
from kafkatx.clientcore.group.assignors.claims import ResolvedClaims
from kafkatx.types import TopicPartition


class ConstrainedAssignment:
    """One assignment in progress. Members get ``low`` partitions each, and ``extra`` of them one more."""

    def __init__(self, claims: ResolvedClaims, partitions: PartitionCounts) -> None:
        self._claims = claims
        self._partitions = partitions
        self._low, self._extra = divmod(sum(partitions.values()), len(claims.held))
        self._assigned: Assignments = {member: [] for member in claims.held}
        self._revoked: dict[TopicPartition, str] = {}
        self._below: list[str] = []
        """Members with less than ``low`` partitions."""
        self._at_low: list[str] = []
        """Members with ``low`` partitions, which may get one more."""
        self.transferring: dict[TopicPartition, str] = {}
        """Assigned partitions that another member may still own, with their new owners."""

    def assign(self) -> Assignments:
        """Return the assignment; sets :attr:`transferring`."""
        self._keep_owned()
        self._distribute()
        return self._assigned

    def _keep_owned(self) -> None:
        """Keep each member's partitions, up to its quota."""
        large = 0
        for member in sorted(self._claims.held):
            held = sorted(self._claims.held[member], key=lambda at: (at.partition, at.topic))
            quota = self._low
            if len(held) > self._low and large < self._extra:
                quota += 1
                large += 1
            elif len(held) < self._low:
                self._below.append(member)
            else:
                self._at_low.append(member)
            self._assigned[member] = held[:quota]
            self._revoked.update(dict.fromkeys(held[quota:], member))

    def _distribute(self) -> None:
        """Assign the other partitions: round robin to members below ``low``, then one more each to others."""
        kept = {at for held in self._assigned.values() for at in held}
        below, at_low = deque(self._below), deque(self._at_low)
        for topic in sorted(self._partitions):
            for number in range(self._partitions[topic]):
                at = TopicPartition(topic, number)
                if at in kept:
                    continue
                member = below.popleft() if below else at_low.popleft()
                self._assign_partition(at, member)
                if len(self._assigned[member]) < self._low:
                    below.append(member)
                elif len(self._assigned[member]) == self._low:
                    at_low.append(member)

    def _assign_partition(self, at: TopicPartition, member: str) -> None:
        self._assigned[member].append(at)
        if self._revoked.get(at, member) != member or at in self._claims.disputed:
            self.transferring[at] = member
