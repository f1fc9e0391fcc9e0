"""One run of the simulation of mirrors: steps by chance from a seed, and then rest."""

from __future__ import annotations

import gc
import hashlib

from attrs import frozen

from tests.simulation.mirror.chances import MirrorChances
from tests.simulation.mirror.world import MirrorWorld, uncontrolled
from tests.simulation.replication.machine import ordered
from tests.simulation.replication.run import Failed
from tests.simulation.transactions import Violation

STEPS = 100
REST_S = 25.0
"""Seconds without a fault within which a cluster must come to rest."""


@frozen
class Result:
    """The results of a run.

    :ivar digest: of the history: the same for the same seed.
    :ivar records: the records that the source has had.
    :ivar losses: how often the source has lost some.
    :ivar promoted: True if the topic was promoted.
    """

    digest: str
    records: int
    losses: int
    promoted: bool


def run(seed: int, steps: int = STEPS) -> Result:
    """Run a cluster and its source.

    :raises Failed: an invariant does not hold, or the cluster does not come to rest.
    """
    world = MirrorWorld(seed)
    chances = MirrorChances(world)
    violation = None
    gc.disable()  # coroutines of dead processes are not ended in the middle
    try:
        with ordered(), uncontrolled(), world:
            chances.begin()
            for _ in range(steps):
                chances.step()
            chances.calm()
            _rest(world, chances)
    except Exception as error:
        violation = error
    finally:
        history = world.history
        result = Result(
            hashlib.sha256("\n".join(history).encode()).hexdigest(),
            len(world.source.had),
            world.source.losses,
            world.checks.promoted_end is not None,
        )
        gc.enable()
        del world, chances
    if violation is not None:
        raise Failed(seed, steps, violation, history, "tests.simulation.mirror")
    return result


def _rest(world: MirrorWorld, chances: MirrorChances) -> None:
    """Wait until all replicas are in sync and have what they must.

    :raises Violation: the cluster does not come to rest.
    """
    end_s = world.now_s + REST_S
    while True:
        world.advance(1.0)
        chances.settle()
        try:
            world.checks.check_rest()
            break
        except (Violation, KeyError):
            if world.now_s > end_s:
                raise
    world.tell("at rest")
