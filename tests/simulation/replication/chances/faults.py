"""The faults of processes, machines, disks, and their connections to the tree and to each other."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred

from kafkatx.interfaces.nodes import Delete, Operation, Outcome
from kafkatx.metadata.layout import paths
from tests.simulation.replication.chances.choices import Choices, Weights
from tests.simulation.replication.machine import MachineLogStore
from tests.simulation.replication.network import LATENCY_S
from tests.simulation.world import describe

DELAYS_S = (LATENCY_S, LATENCY_S, 0.002, 0.02, 0.2, 0.8)


class Faults(Choices):
    """Makes faults."""

    def weights(self) -> Weights:
        """Return all faults."""
        return (
            (self._kill, 4),
            (self._power, 2),
            (self._stop, 2),
            (self._restart, 12),
            (self._freeze, 3),
            (self._thaw, 6),
            (self._cut_tree, 3),
            (self._hold_tree, 2),
            (self._doubt, 3),
            (self._delay_tree, 2),
            (self._heal_tree, 8),
            (self._hold_way, 3),
            (self._release_ways, 6),
            (self._delay_ways, 4),
            (self._break, 4),
            (self._slow_disk, 1),
            (self._fail_dir, 1),
            (self._depose, 1),
        )

    # --- processes and machines

    def _kill(self) -> None:
        life = self._victim()
        if life.alive:
            self._world.tell(f"{life.name} is killed")
            life.kill(self._random.random() < 0.5)

    def _power(self) -> None:
        """A machine, or each of them, loses its power."""
        lives = self._world.lives() if self._random.random() < 0.1 else [self._victim()]
        for life in lives:
            machine = life.home
            if life.alive:
                life.kill(self._random.random() < 0.5, power=False)
            lost = machine.lose_power(self._random)
            self._world.tell(
                f"the machine of {life.name} loses its power, and records of {[*map(str, lost)]}"
            )
            self._world.truth.lose(machine.broker_id)
            if self._random.random() < 0.4:
                machine.start(self._world.now_s)  # before its past session ends

    def _stop(self) -> None:
        life = self._victim()
        if life.runs and life.ready:
            self._world.tell(f"{life.name} is told to stop")
            life.stop()

    def _restart(self) -> None:
        dead = [each for each in self._world.machines.values() if not each.life.alive or each.life.refused]
        if dead:
            machine = self._random.choice(dead)
            if machine.life.alive:
                machine.life.kill(False)
            machine.start(self._world.now_s)

    def _freeze(self) -> None:
        life = self._victim()
        if life.runs:
            self._world.tell(f"{life.name} is frozen")
            life.freeze()

    def _thaw(self) -> None:
        for life in self._world.lives():
            if life.alive and life.frozen:
                timers_first = self._random.random() < 0.5
                self._world.tell(f"{life.name} goes on{', with its timers' if timers_first else ''}")
                life.thaw(timers_first)
                return

    def _slow_disk(self) -> None:
        life = self._life()
        life.slow_disk_s = self._random.choice((0.0, 0.01, 0.3, 1.0))
        self._world.tell(f"the disk of {life.name} takes {life.slow_disk_s} s")

    def _fail_dir(self) -> None:
        life = self._victim()
        store = life.broker.store
        if life.runs and life.ready and isinstance(store, MachineLogStore) and not store.failed:
            self._world.tell(f"a log dir of {life.name} fails")
            store.fail()

    # --- the tree

    def _cut_tree(self) -> None:
        life = self._victim()
        if life.runs and life.tree.link.up:
            apply = self._random.random() < 0.5
            self._world.tell(
                f"{life.name} is cut off from the tree; requests under way are {'made' if apply else 'lost'}"
            )
            life.tree.link.cut(apply)

    def _hold_tree(self) -> None:
        life = self._victim()
        if life.runs:
            requests = self._random.random() < 0.5
            self._world.tell(
                f"{'requests of' if requests else 'replies to'} {life.name} are held on the way to the tree"
            )
            (life.tree.link.hold_requests if requests else life.tree.link.hold_replies)()

    def _doubt(self) -> None:
        """Make the next transaction of a life, cut it off before the reply, and connect it soon."""
        life = self._victim()
        if not life.runs or not life.tree.link.up or "multi" in vars(life.tree):
            return
        world, link, multi = self._world, life.tree.link, life.tree.multi
        world.tell(f"{life.name} is cut off at its next transaction")

        def cut(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            made = multi(operations)
            if describe(operations):  # not only the renewal of a lease
                del life.tree.multi
                world.clock.callLater(0, doubt)  # a connection is not lost within a call of the tree
            return made

        def doubt() -> None:
            if life.runs and link.up and not link.requests.held:
                world.tell(f"{life.name} is cut off for a moment with a transaction under way")
                link.cut(apply_requests=True)
                world.clock.callLater(0.2, heal)

        def heal() -> None:
            if life.alive:
                link.heal()

        life.tree.multi = cut  # type: ignore[method-assign]

    def _delay_tree(self) -> None:
        life = self._life()
        if life.alive:
            link = life.tree.link
            link.requests.delay_s = self._random.choice((0.0, 0.001, 0.1, 0.6))
            link.replies.delay_s = self._random.choice((0.0, 0.001, 0.1, 0.6))
            self._world.tell(
                f"the tree is slow for {life.name}: {link.requests.delay_s} s there,"
                f" {link.replies.delay_s} s back"
            )

    def _heal_tree(self) -> None:
        for life in self._world.lives():
            link = life.tree.link
            if life.runs and (not link.up or link.requests.held or link.replies.held):
                self._world.tell(f"{life.name} has the tree again")
                link.release()
                link.heal()
                return

    def _depose(self) -> None:
        """An operator deletes ``/controller``, and so has another one elected."""
        if paths.CONTROLLER in self._world.server.nodes:
            self._world.server.operate(Delete(paths.CONTROLLER))

    # --- the network

    def _two(self) -> tuple[str, str]:
        names = [machine.name for machine in self._world.machines.values()]
        source = self._random.choice(names)
        names.append(self._world.clients.machine)
        names.remove(source)
        return source, self._random.choice(names)

    def _hold_way(self) -> None:
        one, other = self._two()
        ways = self._random.choice(([(one, other)], [(other, one)], [(one, other), (other, one)]))
        for way in ways:
            self._world.tell(f"nothing gets from {way[0]} to {way[1]}")
            self._world.network.hold(*way)

    def _release_ways(self) -> None:
        network = self._world.network
        held = network.held()
        if held:
            way = self._random.choice(held)
            self._world.tell(f"all gets from {way[0]} to {way[1]} again")
            network.release(*way)

    def _delay_ways(self) -> None:
        one, other = self._two()
        delay_s = self._random.choice(DELAYS_S)
        self._world.network.way(one, other).delay_s = delay_s
        self._world.tell(f"from {one} to {other} takes {delay_s} s")

    def _break(self) -> None:
        one, other = self._two()
        count = self._world.network.break_between(one, other, self._random)
        self._world.tell(f"{count} connections from {one} to {other} break")
