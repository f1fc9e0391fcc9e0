"""One run of the simulation: steps by chance from a seed, and then rest."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Sequence

from attrs import frozen

from tests.simulation.replication.chances.chances import Chances
from tests.simulation.replication.machine import ordered
from tests.simulation.replication.world import World
from tests.simulation.transactions import Violation

STEPS = 120
REST_S = 60.0
"""Seconds without a fault within which a cluster must come to rest."""
SHOWN_LINES = 150


class Failed(AssertionError):
    """A run has found a violation.

    :ivar seed: the seed of the run.
    :ivar history: what has happened, a line each.
    """

    def __init__(
        self,
        seed: int,
        steps: int,
        violation: Exception,
        history: Sequence[str],
        module: str = "tests.simulation.replication",
    ) -> None:
        lines = [*history[-SHOWN_LINES:], f"VIOLATION: {violation}"]
        if len(history) > SHOWN_LINES:
            lines.insert(0, f"... {len(history) - SHOWN_LINES} lines before")
        command = f"python -m {module} --seed {seed} --steps {steps}"
        lines.append(f"alone, and with its whole history: {command}")
        super().__init__("\n".join(lines))
        self.seed = seed
        self.violation = violation
        self.history = history


@frozen
class Result:
    """The results of a run.

    :ivar digest: of the history: the same for the same seed.
    :ivar acknowledged: batches that clients were told that all replicas have.
    :ivar committed: offsets that were committed.
    :ivar losses: how often committed records were given up, where that is allowed.
    """

    digest: str
    acknowledged: int
    committed: int
    losses: int


def run(seed: int, steps: int = STEPS) -> Result:
    """Run a cluster.

    :raises Failed: an invariant does not hold, or the cluster does not come to rest.
    """
    world = World(seed)
    violation = None
    gc.disable()  # coroutines of dead processes are not ended in the middle
    try:
        with ordered(), world:
            chances = Chances(world)
            chances.begin()
            for _ in range(steps):
                chances.step()
            chances.calm()
            chances.restart_one()
            _rest(world)
    except Exception as error:
        violation = error
    finally:
        history = world.history
        truths = world.truth.partitions.values()
        result = Result(
            hashlib.sha256("\n".join(history).encode()).hexdigest(),
            sum(getattr(client, "acknowledged", 0) for client in world.clients.last),
            sum(truth.end for truth in truths),
            sum(truth.losses for truth in truths),
        )
        gc.enable()
        del world
    if violation is not None:
        raise Failed(seed, steps, violation, history)
    return result


def _rest(world: World) -> None:
    """Wait until clients have ended, and all replicas are in sync and equal.

    :raises Violation: the cluster does not come to rest.
    """
    world.advance(2.0)
    world.clients.ending = True
    end_s = world.now_s + REST_S
    while True:
        world.advance(1.0)
        try:
            if world.clients.running:
                raise Violation(
                    f"after {REST_S} s without a fault, clients still wait: {[*world.clients.running]}"
                )
            world.checks.check_rest()
            break
        except Violation:
            if world.now_s > end_s:
                raise
    world.tell("at rest")
