"""Evening out who has how many partitions while moving few of them: what the assignor ``uniform`` does.

First everybody keeps what it had, then what nobody has goes to whoever has least. What is still uneven is
passed on along a chain of members, each of whom subscribes to a topic that the one before has a partition
of, from one who has much to one who has at least two less. When no such chain is left no assignment is more
even (the theorem of optimal semi-matchings: no cost-reducing path). A chain carries as many partitions as it
can at once.

The chains are looked for no longer than ``MOST_STEPS`` allow, so that a group of very many and very different
subscriptions cannot hold the broker up; what is reached then is valid, and stays.
"""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping

from kafkatx.group.consumer.assignment.partitions import Assignment

MOST_STEPS = 500_000
"""So many members are looked at for one assignment: some 0.1 s."""


class Balance:
    """One assignment under way.

    :param topics: by topic id, how many partitions it has and who subscribes to it.
    """

    def __init__(self, topics: Mapping[uuid.UUID, tuple[int, list[str]]], members: Iterable[str]) -> None:
        self._takers = {topic: tuple(takers) for topic, (_, takers) in topics.items() if takers}
        self._free = {topic: set(range(topics[topic][0])) for topic in self._takers}
        self._held: dict[str, dict[uuid.UUID, set[int]]] = {member: {} for member in members}
        self._load = dict.fromkeys(self._held, 0)
        self._steps = 0

    def keep(self, member: str, wanted: Collection[uuid.UUID], previous: Assignment) -> None:
        """Let a member keep what it had, as far as that is there, free, and still wanted."""
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
        """Give what nobody has to the subscriber with the least, the topics with few subscribers first."""
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
        """The member with the least; loads only grow here, so what is out of date is put in its place."""
        while heap[0][0] != self._load[heap[0][1]]:
            heapq.heapreplace(heap, (self._load[heap[0][1]], heap[0][1]))
        return heap[0][1]

    def even_out(self) -> None:
        """Pass partitions on until nobody has two more than one whom a chain leads to."""
        while self._even_out_once() and self._steps < MOST_STEPS:
            pass

    def _even_out_once(self) -> bool:
        """Let everybody pass on what it can, always the one first who has most; tell whether any could.

        If one with less went first, it might give what it is then given back.
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
        """Find the member with the least that a chain leads to, and move partitions along that chain."""
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
        """How many to move: neither is to be past the mean of all then, or more would move than must."""
        loads = [self._load[giver], *(self._load[one] for one in others)]
        low, up = sum(loads) // len(loads), -(-sum(loads) // len(loads))
        return max(1, min(self._load[giver] - up, low - self._load[taker]))

    def _reachable(self, giver: str) -> dict[str, tuple[str, uuid.UUID]]:
        """Everybody whom a chain leads to: from whom, with which topic. The search is by breadth."""
        came_by: dict[str, tuple[str, uuid.UUID]] = {}
        seen: set[tuple[str, ...]] = set()  # topics with the same subscribers lead to the same
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
        """What everybody has."""
        return {
            member: {topic: frozenset(numbers) for topic, numbers in held.items()}
            for member, held in self._held.items()
        }


def _chain(
    giver: str, taker: str, came_by: Mapping[str, tuple[str, uuid.UUID]]
) -> Iterator[tuple[str, uuid.UUID, str]]:
    """The chain to *taker*, its end first: (who gives, of which topic, to whom)."""
    while taker != giver:
        one, topic = came_by[taker]
        yield one, topic, taker
        taker = one
