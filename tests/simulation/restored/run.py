"""One run: load, a copy of the tree, faults, the end of all brokers, the copy put back, and rest."""

from __future__ import annotations

import gc

from tests.simulation.replication.chances.operators import Operators
from tests.simulation.replication.machine import SESSION_S, Machine, ordered
from tests.simulation.replication.run import Failed
from tests.simulation.restored.world import TOPICS, RestoredWorld
from tests.simulation.transactions import Violation

REST_S = 40.0
NOTED_S = 1.5
"""Seconds after which brokers have noted a change of the cluster's state."""
FAULTS = 6


def run(seed: int) -> int:
    """Run a cluster; return the number of records that were acknowledged.

    :raises Failed: an acknowledged record is lost, or the cluster does not come to rest.
    """
    world = RestoredWorld(seed)
    gc.disable()
    try:
        with ordered(), world:
            _before(world)
            _end_all(world)
            world.put_back()
            _start_all(world)
            world.produce(4, 6.0)
            world.advance(8.0)
            _rest(world)
        return len(world.acknowledged)
    except Exception as error:
        raise Failed(seed, 0, error, world.history, "tests.simulation.restored") from None
    finally:
        gc.enable()


def _before(world: RestoredWorld) -> None:
    """Make topics and load; copy the tree; make changes that the copy does not know."""
    world.advance(3.0)
    for name in TOPICS:
        Operators(world).create(name)
    world.advance(1.0)
    world.produce(4, 60.0)
    world.advance(world.random.random() * 2)
    if world.lagging is not None:
        _bounce(world, world.lagging)
    world.copy_tree()
    store = next(life for life in world.lives() if life.ready).store
    store.alter_broker_configs("", lambda configs: {**configs, "log.cleaner.threads": "1"})
    world.advance(NOTED_S)
    if world.lagging is not None:
        world.lagging.life.kill(True, power=False)
        world.advance(SESSION_S + 3)
        return
    for _ in range(FAULTS):
        _fault(world, world.random.choice(list(world.machines.values())))
        world.produce(1, 60.0)


def _bounce(world: RestoredWorld, machine: Machine) -> None:
    """Restart a broker: it leads nothing then, and is in sync again."""
    machine.life.kill(True, power=False)
    world.advance(SESSION_S + 1.5)
    machine.start(world.now_s)
    world.advance(4.0)


def _fault(world: RestoredWorld, machine: Machine) -> None:
    """End a broker, let the others go on for a while, and start it again, or leave it dead for now."""
    _end(world, machine)
    world.advance(world.random.choice((0.5, SESSION_S + 1.5, SESSION_S + 3)))
    dead = [one for one in world.machines.values() if not one.life.alive]
    for one in dead:
        if one is not machine or len(dead) > 1 or world.random.random() < 0.6:
            one.start(world.now_s)
    world.advance(world.random.choice((0.2, 1.0, 3.0)))


def _end(world: RestoredWorld, machine: Machine) -> None:
    if not machine.life.alive:
        return
    if world.random.random() < 0.5:
        machine.life.stop()
        world.advance(1.0)
    if machine.life.alive:
        world.tell(f"{machine.life.name} is killed")
        machine.life.kill(True, power=False)


def _end_all(world: RestoredWorld) -> None:
    world.advance(NOTED_S)
    for machine in sorted(world.machines.values(), key=lambda one: world.random.random()):
        _end(world, machine)
        world.advance(world.random.choice((0.0, 0.5, SESSION_S + 1)))
    world.advance(2 * SESSION_S)


def _start_all(world: RestoredWorld) -> None:
    order = sorted(world.machines.values(), key=lambda one: (one is not world.lagging, world.random.random()))
    for machine in order:
        machine.start(world.now_s)
        world.advance(world.random.choice((0.0, 0.1, 2.0, 5.0)))


def _rest(world: RestoredWorld) -> None:
    """Wait until the cluster is at rest.

    :raises Violation: it does not come to rest, or records are lost.
    """
    end_s = world.now_s + REST_S
    world.clients.ending = True
    while True:
        world.advance(1.0)
        try:
            world.check_rest()
            return
        except Violation:
            if world.now_s > end_s:
                raise
