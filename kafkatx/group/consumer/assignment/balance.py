"""Balances the number of partitions per member while moving few of them: the assignor ``uniform``. Pure.

First all members keep their partitions, then free partitions go to the members with the fewest. Remaining
imbalance is moved along chains of members, each of which subscribes to a topic of which the previous one has
a partition, from a member with many partitions to one with at least two fewer. When there is no such chain
the assignment is optimal (theorem of optimal semi-matchings: no cost-reducing path). A chain moves as many
partitions as possible at once.

The search for chains ends after ``MOST_STEPS``, so that a group of very many different subscriptions cannot
block the broker; the assignment is valid then, and is used.
"""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping

from kafkatx.group.consumer.assignment.partitions import Assignment

MOST_STEPS = 500_000
"""Maximum number of members visited for one assignment: about 0.1 s."""


class Balance:
    """An assignment in progress.

    :param topics: (number of partitions, subscribers) by topic id.
    """

    def __init__(self, topics: Mapping[uuid.UUID, tuple[int, list[str]]], members: Iterable[str]) -> None:
        self._takers = {topic: tuple(takers) for topic, (_, takers) in topics.items() if takers}
        self._free = {topic: set(range(topics[topic][0])) for topic in self._takers}
        self._held: dict[str, dict[uuid.UUID, set[int]]] = {member: {} for member in members}
        self._load = dict.fromkeys(self._held, 0)
        self._steps = 0

    def keep(self, member: str, wanted: Collection[uuid.UUID], previous: Assignment) -> None:
        """Assign a member its previous partitions that exist, are free, and are still subscribed."""
        for topic, numbers in previous.items():
            if topic in wanted and topic in self._free:
                kept = self._free[topic] & numbers
                self._free[topic] -= kept
                self._add(member, topic, kept)

    def _add(self, member: str, topic: uuid.UUID, numbers: Collection[int]) -> None:
        if numbers:
            self._held[member].setdefault(topic, set()).update(numbers)
            self._load[member] += len(numbers)

    def give_the_rest(self) -> None:
        """Assign free partitions to the subscribers with the fewest, topics with few subscribers first."""
        heaps: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for topic in sorted(self._free, key=lambda topic: len(self._takers[topic])):
            takers = self._takers[topic]
            heap = heaps.get(takers)
            if heap is None:
                heap = heaps[takers] = [(self._load[member], member) for member in takers]
                heapq.heapify(heap)
            for number in sorted(self._free[topic]):
                member = self._least(heap)
                self._add(member, topic, (number,))
                heapq.heapreplace(heap, (self._load[member], member))
            self._free[topic] = set()

    def _least(self, heap: list[tuple[int, str]]) -> str:
        """Return the member with the fewest; loads only grow, so outdated heap entries are pushed again."""
        while heap[0][0] != self._load[heap[0][1]]:
            heapq.heapreplace(heap, (self._load[heap[0][1]], heap[0][1]))
        return heap[0][1]

    def even_out(self) -> None:
        """Move partitions until no member has two more than another that a chain reaches."""
        while self._even_out_once() and self._steps < MOST_STEPS:
            pass

    def _even_out_once(self) -> bool:
        """Move partitions from each member, those with the most first; return False if none could.

        If a member with fewer went first, it might get back the partitions that it has moved.
        """
        heap = [(-load, member) for member, load in self._load.items()]
        heapq.heapify(heap)
        moved = False
        while heap and self._steps < MOST_STEPS:
            load, member = -heap[0][0], heap[0][1]
            if load != self._load[member]:
                heapq.heapreplace(heap, (-self._load[member], member))
            elif load < min(self._load.values()) + 2:
                break
            elif self._pass_on(member):
                moved = True
            else:
                heapq.heappop(heap)
        return moved

    def _pass_on(self, giver: str) -> bool:
        """Find the member with the fewest that a chain reaches, and move partitions along that chain."""
        came_by = self._reachable(giver)
        taker = min(came_by, key=lambda one: (self._load[one], one), default=giver)
        difference = self._load[giver] - self._load[taker]
        if difference < 2:
            return False
        chain = list(_chain(giver, taker, came_by))
        held = min(len(self._held[one][topic]) for one, topic, _ in chain)
        count = min(held, self._surplus(giver, taker, came_by))
        for one, topic, other in chain:
            self._move(one, topic, other, count)
        return True

    def _surplus(self, giver: str, taker: str, others: Iterable[str]) -> int:
        """Return the number to move, so that neither end passes the mean of all: more moves than needed."""
        loads = [self._load[giver], *(self._load[one] for one in others)]
        low, up = sum(loads) // len(loads), -(-sum(loads) // len(loads))
        return max(1, min(self._load[giver] - up, low - self._load[taker]))

    def _reachable(self, giver: str) -> dict[str, tuple[str, uuid.UUID]]:
        """Return the members that a chain reaches, with the previous member and topic; breadth first."""
        came_by: dict[str, tuple[str, uuid.UUID]] = {}
        seen: set[tuple[str, ...]] = set()  # topics with the same subscribers reach the same members
        self._steps += len(self._load)
        least, found = min(self._load.values()), False
        level = [giver]
        while level and not found:
            after: list[str] = []
            for one in level:
                for topic in self._held[one]:
                    takers = self._takers[topic]
                    if takers in seen:
                        continue
                    seen.add(takers)
                    self._steps += len(takers)
                    for other in takers:
                        if other != giver and other not in came_by:
                            came_by[other] = (one, topic)
                            after.append(other)
                            found = found or self._load[other] == least
            level = after
        return came_by

    def _move(self, one: str, topic: uuid.UUID, other: str, count: int) -> None:
        held = self._held[one][topic]
        moving = sorted(held)[-count:]
        held.difference_update(moving)
        if not held:
            del self._held[one][topic]
        self._load[one] -= len(moving)
        self._add(other, topic, moving)

    def result(self) -> dict[str, Assignment]:
        """Return the partitions of each member."""
        return {
            member: {topic: frozenset(numbers) for topic, numbers in held.items()}
            for member, held in self._held.items()
        }


def _chain(
    giver: str, taker: str, came_by: Mapping[str, tuple[str, uuid.UUID]]
) -> Iterator[tuple[str, uuid.UUID, str]]:
    """Return the chain to *taker*, its end first: (giver, topic, taker)."""
    while taker != giver:
        one, topic = came_by[taker]
        yield one, topic, taker
        taker = one
