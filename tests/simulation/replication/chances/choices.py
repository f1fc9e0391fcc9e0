"""The choices of what an event is about: a broker, a topic, a partition. It touches nothing."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.replication.machine import Life
from tests.simulation.replication.truth import PartitionTruth
from tests.simulation.replication.world import World

Event = Callable[[], object]
Weights = tuple[tuple[Event, int], ...]
"""Events, and how often each happens beside the others."""


class Choices:
    """Chooses what an event is about."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random

    def _life(self) -> Life:
        return self._random.choice(self._world.lives())

    def _victim(self) -> Life:
        """Return a life, often that of the controller or of a leader."""
        chance = self._random.random()
        if chance < 0.25:
            return self._world.controller() or self._life()
        truth = self._truth()
        if chance < 0.6 and truth is not None and truth.state.leader in self._world.machines:
            return self._world.machines[truth.state.leader].life
        return self._life()

    def _truth(self) -> PartitionTruth | None:
        found = list(self._world.truth.partitions.values())
        return self._random.choice(found) if found else None

    def _topic(self) -> str:
        return self._random.choice(list(self._world.plan.topics))

    def _able(self) -> Life | None:
        """Return a life that takes commands."""
        able = [life for life in self._world.lives() if life.ready and life.runs]
        return self._random.choice(able) if able else None
