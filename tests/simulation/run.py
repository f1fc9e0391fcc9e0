"""One run of the simulation: steps by chance from a seed, and then rest."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Sequence

from tests.simulation.chances import Chances
from tests.simulation.process import TIMEOUT_S
from tests.simulation.transactions import Violation
from tests.simulation.world import World

STEPS = 150
REST_S = 90.0
"""Seconds without a fault within which a cluster must come to rest. Commands may take 60 s."""
SHOWN_LINES = 150


class Failed(AssertionError):
    """A run has found a violation.

    :ivar seed: the seed of the run.
    :ivar history: what has happened, a line each.
    """

    def __init__(self, seed: int, steps: int, violation: Exception, history: Sequence[str]) -> None:
        lines = [*history[-SHOWN_LINES:], f"VIOLATION: {violation}"]
        if len(history) > SHOWN_LINES:
            lines.insert(0, f"... {len(history) - SHOWN_LINES} lines before")
        command = f"python -m tests.simulation --seed {seed} --steps {steps}"
        lines.append(f"alone, and with its whole history: {command}")
        super().__init__("\n".join(lines))
        self.seed = seed
        self.violation = violation
        self.history = history


def run(seed: int, steps: int = STEPS) -> str:
    """Run a cluster; return a digest of its history, which is the same for the same seed.

    :raises Failed: an invariant does not hold, or the cluster does not come to rest.
    """
    history, violation = _run(seed, steps)
    gc.collect()  # now, and not in the next run
    if violation is not None:
        raise Failed(seed, steps, violation, history)
    return hashlib.sha256("\n".join(history).encode()).hexdigest()


def _run(seed: int, steps: int) -> tuple[list[str], Exception | None]:
    world = World(seed)
    try:
        with world:
            chances = Chances(world)
            for _ in range(steps):
                chances.step()
            chances.calm()
            _rest(world, chances)
    except Exception as error:
        return world.history, error
    return world.history, None


def _rest(world: World, chances: Chances) -> None:
    """Wait until nothing happens for two time-outs; check the cluster then.

    :raises Violation: it is not at rest, or a command has no outcome.
    """
    end_s = world.now_s + REST_S
    quiet_s = world.now_s
    lines = len(world.history)
    while chances.commands or world.now_s - quiet_s < 2 * TIMEOUT_S:
        if world.now_s > end_s:
            left = f"commands {sorted(chances.commands)}" if chances.commands else "changes"
            raise Violation(f"after {REST_S} s without a fault there are still {left}")
        world.advance(1.0)
        if len(world.history) > lines:
            lines, quiet_s = len(world.history), world.now_s
    world.stores.check_rest(list(world.processes.values()))
    world.tell("at rest")
