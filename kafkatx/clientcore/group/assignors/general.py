"""The sticky assignment for members with different subscriptions: as even as single moves can make it.

It follows ``AbstractStickyAssignor.GeneralAssignmentBuilder``, without racks: keep valid partitions, assign
the rest to the members with fewest, then move partitions from members that have at least two more than
another subscriber. Every move makes the assignment more even, so this terminates. Apache Kafka's also makes
moves that do not, compares the results, and may undo them all. Partitions are only assigned to subscribers of
their topic; Apache Kafka's may return one to its owner of an older generation that has unsubscribed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkatx.clientcore.group.assignors.assignor import Assignments, Member, PartitionCounts
from kafkatx.clientcore.group.assignors.claims import ResolvedClaims
from kafkatx.types import TopicPartition


class GeneralAssignment:
    """One assignment in progress."""

    def __init__(
        self, members: Mapping[str, Member], claims: ResolvedClaims, partitions: PartitionCounts
    ) -> None:
        self._members = members
        self._claims = claims
        self._subscribers = {
            topic: [member for member in sorted(members) if topic in members[member].topics]
            for topic in partitions
        }
        topics = sorted(partitions, key=lambda topic: (len(self._subscribers[topic]), topic))
        self._all = [
            TopicPartition(topic, number)
            for topic in topics
            if self._subscribers[topic]
            for number in range(partitions[topic])
        ]
        self._held: dict[str, dict[TopicPartition, None]] = {member: {} for member in members}
        self._owner: dict[TopicPartition, str] = {}
        self._moves = _Moves()

    def assign(self) -> Assignments:
        """Return the assignment."""
        revoked = self._keep_owned()
        new = [at for at in self._all if at not in self._owner]
        for at in new:
            self._assign_partition(at, self._least_loaded(at.topic))
        if not revoked:  # try first to balance with unowned partitions only
            self._balance(new)
        self._balance(self._all)
        return {member: list(held) for member, held in self._held.items()}

    def _keep_owned(self) -> bool:
        """Keep each member's partitions of topics that it subscribes to; return True if one has others."""
        revoked = False
        for member, held in self._claims.held.items():
            for at in held:
                if at.topic in self._members[member].topics:
                    self._assign_partition(at, member)
                else:
                    revoked = True
        return revoked

    def _assign_partition(self, at: TopicPartition, member: str) -> None:
        self._held[member][at] = None
        self._owner[at] = member

    def _least_loaded(self, topic: str) -> str:
        return min(self._subscribers[topic], key=lambda member: (len(self._held[member]), member))

    def _balance(self, movable: Iterable[TopicPartition]) -> None:
        """Move partitions until no move makes the assignment more even."""
        movable = [at for at in movable if len(self._subscribers[at.topic]) > 1]
        moved = True
        while moved:
            moved = False
            for at in movable:
                moved = self._move_if_better(at) or moved

    def _move_if_better(self, at: TopicPartition) -> bool:
        """Move a partition to its owner of an older generation, or else to the least loaded member."""
        enough = len(self._held[self._owner[at]]) - 1
        before = self._claims.older.get(at)
        if before in self._subscribers[at.topic] and len(self._held[before]) < enough:
            self._move(at, before)
            return True
        least = self._least_loaded(at.topic)
        if len(self._held[least]) < enough:
            self._move(at, least)
            return True
        return False

    def _move(self, at: TopicPartition, to: str) -> None:
        """Move a partition; if one of its topic has moved the opposite way, move that one back instead."""
        giver = self._owner[at]
        back = self._moves.came_from(to, giver, at.topic)
        at = back if back is not None else at
        del self._held[giver][at]
        self._assign_partition(at, to)
        self._moves.note(at, giver, to)


class _Moves:
    """The partitions that were moved: from the first owner to the current one."""

    def __init__(self) -> None:
        self._by_pair: dict[tuple[str, str, str], dict[TopicPartition, None]] = {}
        self._pairs: dict[TopicPartition, tuple[str, str, str]] = {}

    def came_from(self, giver: str, taker: str, topic: str) -> TopicPartition | None:
        """Return the lowest partition of a topic that was moved from *giver* to *taker*; None if none was."""
        return min(self._by_pair.get((giver, taker, topic), ()), default=None)

    def note(self, at: TopicPartition, giver: str, taker: str) -> None:
        """Record a move."""
        known = self._pairs.pop(at, None)
        if known is not None:
            del self._by_pair[known][at]
            giver = known[0]
        if giver != taker:
            self._pairs[at] = pair = (giver, taker, at.topic)
            self._by_pair.setdefault(pair, {})[at] = None
