"""The sticky assignment where all members subscribe to the same topics: exact quotas, few moves.

As ``AbstractStickyAssignor.ConstrainedAssignmentBuilder`` does it, without racks. Its order of members where
they hold more than their share is that of a hash table; here it is that of their ids.
"""

from __future__ import annotations

from collections import deque

from kafkatx.clientcore.group.assignors.assignor import Assignments, PartitionCounts
from kafkatx.clientcore.group.assignors.claims import ResolvedClaims
from kafkatx.types import TopicPartition


class ConstrainedAssignment:
    """One assignment under way. Everybody gets ``low`` partitions, and ``extra`` members one more."""

    def __init__(self, claims: ResolvedClaims, partitions: PartitionCounts) -> None:
        self._claims = claims
        self._partitions = partitions
        self._low, self._extra = divmod(sum(partitions.values()), len(claims.held))
        self._assigned: Assignments = {member: [] for member in claims.held}
        self._revoked: dict[TopicPartition, str] = {}
        self._below: list[str] = []
        """Who has less than ``low``."""
        self._at_low: list[str] = []
        """Who has ``low``, and may get one more."""
        self.transferring: dict[TopicPartition, str] = {}
        """Partitions that another member may still have, with those who are to get them."""

    def assign(self) -> Assignments:
        """Do it; afterwards :attr:`transferring` is known."""
        self._keep_owned()
        self._distribute()
        return self._assigned

    def _keep_owned(self) -> None:
        """Let everybody keep what it has, up to its quota."""
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
        """Deal out what nobody has: first to those who have too little, in turn, then one more to others."""
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
