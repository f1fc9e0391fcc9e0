"""The sticky assignment where members subscribe to different topics: as even as single moves make it.

As ``AbstractStickyAssignor.GeneralAssignmentBuilder`` does it, without racks: keep what is valid, give the
rest to whoever has least, then move partitions from those who have at least two more than another subscriber.
Every move makes it more even, so it ends; Apache Kafka's also makes moves that do not, and then compares and
may take all back. A partition goes to subscribers of its topic only; Apache Kafka's may go back to one who
had it by an older generation and does not subscribe to it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkatx.clientcore.group.assignors.assignor import Assignments, Member, PartitionCounts
from kafkatx.clientcore.group.assignors.claims import ResolvedClaims
from kafkatx.types import TopicPartition


class GeneralAssignment:
    """One assignment under way."""

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
        """Do it."""
        revoked = self._keep_owned()
        new = [at for at in self._all if at not in self._owner]
        for at in new:
            self._assign_partition(at, self._least_loaded(at.topic))
        if not revoked:  # perhaps nobody need give up anything
            self._balance(new)
        self._balance(self._all)
        return {member: list(held) for member, held in self._held.items()}

    def _keep_owned(self) -> bool:
        """Let everybody keep what it subscribes to; tell whether somebody has what it does not."""
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
        """Move what makes it more even, until nothing does."""
        movable = [at for at in movable if len(self._subscribers[at.topic]) > 1]
        moved = True
        while moved:
            moved = False
            for at in movable:
                moved = self._move_if_better(at) or moved

    def _move_if_better(self, at: TopicPartition) -> bool:
        """Move a partition to whoever had it by an older generation, else to whoever has least."""
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
        """Move it; or, where one of the same topic has come the other way, send that one back instead."""
        giver = self._owner[at]
        back = self._moves.came_from(to, giver, at.topic)
        at = back if back is not None else at
        del self._held[giver][at]
        self._assign_partition(at, to)
        self._moves.note(at, giver, to)


class _Moves:
    """Which partitions have moved, from whom to whom: each from where it first was to where it is now."""

    def __init__(self) -> None:
        self._by_pair: dict[tuple[str, str, str], dict[TopicPartition, None]] = {}
        self._pairs: dict[TopicPartition, tuple[str, str, str]] = {}

    def came_from(self, giver: str, taker: str, topic: str) -> TopicPartition | None:
        """A partition of a topic that has moved from one to the other, the lowest; None if there is none."""
        return min(self._by_pair.get((giver, taker, topic), ()), default=None)

    def note(self, at: TopicPartition, giver: str, taker: str) -> None:
        """It has moved."""
        known = self._pairs.pop(at, None)
        if known is not None:
            del self._by_pair[known][at]
            giver = known[0]
        if giver != taker:
            self._pairs[at] = pair = (giver, taker, at.topic)
            self._by_pair.setdefault(pair, {})[at] = None
