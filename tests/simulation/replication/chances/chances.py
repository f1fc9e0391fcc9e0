"""The scheduler of the simulated cluster: one event after the other, by chance.

:mod:`.faults` and :mod:`.operators` have the events; what clients do by themselves is in
:mod:`tests.simulation.replication.clients`. Every second seed is directed: its run has one of
:mod:`.scenarios`, which it makes again and again among the other events.
"""

from __future__ import annotations

from functools import partial

from tests.simulation.replication.chances.choices import Choices, Event
from tests.simulation.replication.chances.faults import Faults
from tests.simulation.replication.chances.operators import Operators
from tests.simulation.replication.chances.scenarios import SCENARIOS, Scenarios
from tests.simulation.replication.machine import SESSION_S, Life
from tests.simulation.replication.network import LATENCY_S
from tests.simulation.replication.world import World
from tests.simulation.transactions import Violation

STEPS_S = (0.0, 0.001, 0.01, 0.05, 0.1, 0.3, 0.8, SESSION_S * 1.2)
OFTEN = 0.15
"""The part of the steps of a directed run that are its scenario."""


class Chances(Choices):
    """Makes one thing after the other happen.

    :ivar directed: the scenario of a directed run.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._operators = Operators(world)
        weights = ((self._nothing, 6), *Faults(world).weights(), *self._operators.weights())
        self.directed: Event | None = None
        name = world.plan.scenario
        if name is not None:
            self.directed = partial(Scenarios(world, self._operators).run, SCENARIOS[name])
            weights += self._operators.more_weights()
        self._events: list[Event] = [event for event, weight in weights for _ in range(weight)]

    def _nothing(self) -> None:
        pass

    def begin(self) -> None:
        """Wait for the brokers, create the topics, and start the clients."""
        world = self._world
        world.advance(3.0)
        for name in world.plan.topics:
            self._operators.create(name)
        world.advance(1.0)
        world.clients.begin(3, 2, 1)

    def step(self) -> None:
        """Make one event, and advance the time by chance."""
        if self.directed is not None and self._random.random() < OFTEN:
            self.directed()
        else:
            self._random.choice(self._events)()
        self._world.check(self._world.lives())
        self._world.advance(self._random.choice(STEPS_S) * self._random.random())

    def calm(self) -> None:
        """End all faults, and start all brokers that are dead."""
        world = self._world
        world.tell("all faults end")
        world.calm = True
        names = [*(machine.name for machine in world.machines.values()), world.clients.machine]
        for source in names:
            for target in names:
                world.network.way(source, target).delay_s = LATENCY_S
                world.network.release(source, target)
        failed = [life for life in world.lives() if life.alive and life.has_failed()]
        for machine in world.machines.values():
            life = machine.life
            life.slow_disk_s = 0.0
            if life.alive and life.frozen:
                life.thaw(False)
            if life.alive and not (life.stopping or life.refused):
                link = life.tree.link
                link.requests.delay_s = link.replies.delay_s = 0.0
                link.release()
                link.heal()
            else:
                if life.alive:
                    life.kill(False)
                machine.start(world.now_s)
        failed = [life for life in failed if life.alive]
        if failed or any(truth.stale for truth in world.truth.partitions.values()):
            world.advance(SESSION_S * 2)
            self._operators.decide()
            for life in failed:
                self._check_moved(life)
                life.kill(False)
                life.home.start(world.now_s)

    def _check_moved(self, life: Life) -> None:
        """Check that a broker leads nothing on its failed log dir that another member can lead.

        :raises Violation: it does.
        """
        for name, truth in self._world.truth.partitions.items():
            log = life.home.disk.logs.get(name)
            leads = truth.state.leader == life.broker_id and len(truth.state.isr) > 1
            if leads and log is not None and log.topic_id == truth.topic_id and log.error is not None:
                raise Violation(f"{life.name} still leads {name}, whose log dir has failed: {truth.state}")

    def restart_one(self) -> None:
        """Kill one broker and start it at once: it does not wait for the end of its past session.

        :raises Violation: it does.
        """
        life = self._life()
        self._world.advance(1.0)
        if life.ready:
            self._world.tell(f"{life.name} is killed, and started again at once")
            life.kill(True)
            life = life.home.start(self._world.now_s)
            self._world.advance(1.0)
            if not life.ready:
                raise Violation(f"{life.name} has not started within 1 s, though nothing else fails")
