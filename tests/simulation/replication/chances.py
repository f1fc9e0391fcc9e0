"""The events of the simulated cluster, by chance: faults of processes, machines and networks, and operators.

What clients do by themselves is in :mod:`.clients`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.errors import KafkaTXError
from kafkatx.interfaces.nodes import Delete, Operation, Outcome
from kafkatx.metadata.layout import paths
from kafkatx.types import ElectionKind, TopicPartition
from tests.simulation.replication.clients import KEPT, delete_records
from tests.simulation.replication.machine import SESSION_S, Life, MachineLogStore
from tests.simulation.replication.network import LATENCY_S
from tests.simulation.replication.truth import PartitionTruth
from tests.simulation.replication.world import World
from tests.simulation.transactions import Violation
from tests.simulation.world import describe

DELAYS_S = (LATENCY_S, LATENCY_S, 0.002, 0.02, 0.2, 0.8)
STEPS_S = (0.0, 0.001, 0.01, 0.05, 0.1, 0.3, 0.8, SESSION_S * 1.2)
Event = Callable[[], object]


class Chances:
    """Makes one thing after the other happen."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random
        self._commands = 0
        self._deletions = 0
        self._events: list[Event] = [event for event, weight in self._weights() for _ in range(weight)]

    def _weights(self) -> tuple[tuple[Event, int], ...]:
        return (
            (self._nothing, 6),
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
            (self._delete_records, 2),
            (self._retain, 2),
            (self._elect, 2),
            (self._reassign, 2),
            (self._delete_topic, 1),
            (self._create_topic, 2),
            (self._recreate_topic, 1),
            (self._alter_min_insync, 1),
        )

    def begin(self) -> None:
        """Wait for the brokers, create the topics, and start the clients."""
        world = self._world
        world.advance(3.0)
        for name in world.plan.topics:
            self._create(name)
        world.advance(1.0)
        world.clients.begin(3, 2, 1)

    def step(self) -> None:
        """Make one event, and advance the time by chance."""
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
        if failed:
            world.advance(SESSION_S * 2)
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

    # --- choices

    def _nothing(self) -> None:
        pass

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

    # --- clients and operators

    def _command(self, life: Life, text: str, command: Deferred[Any]) -> None:
        self._commands += 1
        number, world = self._commands, self._world
        world.tell(f"{life.name} is told to {text} (command {number})")

        def done(result: object) -> None:
            if world.over or not life.alive:
                return
            if isinstance(result, Failure):
                world.tell(f"command {number}: {result.getErrorMessage()}")
                if not result.check(KafkaTXError, OSError):
                    world.failed(result)
            else:
                world.tell(f"command {number}: {result}")

        command.addBoth(done)

    def _create(self, name: str) -> None:
        life = self._able()
        if life is not None:
            plan = self._world.plan.topics[name]
            assignment = [
                self._random.sample(self._world.plan.brokers, plan.replicas) for _ in range(plan.partitions)
            ]
            self._command(
                life, f"create {name}: {assignment}", life.store.create_topic(name, assignment, plan.configs)
            )

    def _create_topic(self) -> None:
        life = self._able()
        missing = [name for name in self._world.plan.topics if life and name not in life.store.state.topics]
        if missing:
            self._create(self._random.choice(missing))

    def _delete_topic(self) -> None:
        life = self._able()
        if life is not None and self._random.random() < 0.5:
            name = self._topic()
            if name != KEPT:
                self._command(life, f"delete {name}", life.store.delete_topic(name))

    def _recreate_topic(self) -> None:
        """Delete a topic, and create one of its name as soon as that is done."""
        life, name = self._able(), self._topic()
        if life is not None and name != KEPT:
            deleting = life.store.delete_topic(name)
            deleting.addCallback(lambda _: self._create(name))
            self._command(life, f"delete {name}, and create it again", deleting)

    def _delete_records(self) -> None:
        truth = self._world.clients.partition()
        if truth is not None and truth.end > truth.deleted_to:
            offset = self._random.randint(truth.deleted_to, truth.end)
            self._deletions += 1
            self._world.tell(f"a client deletes {truth.name} below {offset}")
            self._world.clients.run(
                f"deletion {self._deletions}", delete_records(self._world.clients, truth, offset)
            )
            if self._random.random() < 0.2:
                self._world.advance(0.004)
                leader = self._world.machines.get(truth.state.leader)
                if leader is not None and leader.life.alive:
                    self._world.tell(f"{leader.life.name} is killed")
                    leader.life.kill(True)

    def _retain(self) -> None:
        """Delete old segments of a broker."""
        life = self._able()
        if life is not None:
            self._world.tell(f"{life.name} deletes old segments")
            for log in life.broker.store.logs.values():
                if log.topic_partition.topic[0] == "t":
                    log.retain(life.now_ms())

    def _partition(self) -> TopicPartition | None:
        truth = self._world.clients.partition()
        return truth.name if truth is not None else None

    def _elect(self) -> None:
        life, name = self._world.controller(), self._partition()
        if life is not None and life.runs and name is not None:
            kind = self._random.choice((ElectionKind.PREFERRED, ElectionKind.PREFERRED, ElectionKind.UNCLEAN))
            if kind is ElectionKind.UNCLEAN and not self._world.plan.unclean(name.topic):
                kind = ElectionKind.PREFERRED
            self._command(life, f"elect {kind.name} {name}", life.store.elect_leaders(kind, [name]))

    def _reassign(self) -> None:
        life, name = self._world.controller(), self._partition()
        if life is not None and life.runs and name is not None:
            replicas = len(self._world.truth.partitions[name].replicas)
            count = self._random.choice((replicas, replicas, 2, 3))
            target = self._random.choice(
                (
                    None,
                    self._random.sample(self._world.plan.brokers, min(count, len(self._world.plan.brokers))),
                )
            )
            self._command(life, f"reassign {name}: {target}", life.store.reassign({name: target}))

    def _alter_min_insync(self) -> None:
        life = self._able()
        if life is not None:
            name, value = self._topic(), self._random.choice(("1", "2"))
            self._command(
                life,
                f"set min.insync.replicas={value} of {name}",
                life.store.alter_topic_configs(
                    name, lambda configs: {**configs, "min.insync.replicas": value}
                ),
            )
