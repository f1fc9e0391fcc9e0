"""Directed scenarios: schedules that blind chance makes too seldom, each for some of the rules.

A scenario looks into the brokers to find the moment of a race, as an adversary would, and makes it; what it
is about is chance. It gives up silently where the faults of the run are in its way. A correct cluster stands
each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred

from kafkatx.broker.replica.leadership import Leadership
from kafkatx.interfaces.nodes import Operation, Outcome
from kafkatx.metadata.layout import paths
from kafkatx.types import ElectionKind, TopicPartition
from tests.simulation.replication.chances.choices import Choices
from tests.simulation.replication.chances.operators import Operators
from tests.simulation.replication.clients.group import KEPT
from tests.simulation.replication.machine import Life
from tests.simulation.replication.truth import PartitionTruth
from tests.simulation.replication.world import World


class Scenarios(Choices):
    """Makes races."""

    def __init__(self, world: World, operators: Operators) -> None:
        super().__init__(world)
        self._operators = operators

    def run(self, scenario: Callable[[Scenarios], None]) -> None:
        """Make a scenario; mostly after a moment of rest, in which the faults before it have ended."""
        if self._random.random() < 0.8:
            self._rest()
        scenario(self)

    def _rest(self) -> None:
        world = self._world
        world.tell("a moment of rest")
        for way in world.network.held():
            world.network.release(*way)
        for machine in world.machines.values():
            life = machine.life
            if life.alive and (life.refused or life.stopping):
                life.kill(False)
            if not life.alive:
                life = machine.start(world.now_s)
            if life.frozen:
                life.thaw(False)
            link = life.tree.link
            vars(life.tree).pop("multi", None)
            link.requests.delay_s = link.replies.delay_s = life.slow_disk_s = 0.0
            link.release()
            link.heal()
        world.advance(2.0)

    # --- parts

    def _until(self, condition: Callable[[], bool], seconds: float, step_s: float = 0.02) -> bool:
        """Advance until a condition holds; return False if that took too long."""
        end_s = self._world.now_s + seconds
        while not condition():
            if self._world.now_s >= end_s:
                return False
            self._world.advance(step_s)
        return True

    def _led(self) -> tuple[PartitionTruth, Life, list[Life]] | None:
        """Return a partition, its leader, and the other members; all run, and there are two others."""
        found = [each for name, each in self._world.truth.partitions.items() if name.topic[0] == "t"]
        self._random.shuffle(found)
        for truth in found:
            members = [self._world.machines[each].life for each in truth.state.isr]
            leads = [each for each in members if each.broker_id == truth.state.leader]
            others = [each for each in members if each.broker_id != truth.state.leader]
            if leads and len(others) > 1 and all(each.runs and each.ready for each in members):
                self._random.shuffle(others)
                return truth, leads[0], others
        return None

    def _leadership(self, life: Life, truth: PartitionTruth) -> Leadership | None:
        partition = life.broker.topics.find(*truth.name)
        return partition.leadership if partition is not None else None

    def _asks(self, life: Life, truth: PartitionTruth, member: Life, joins: bool) -> bool:
        """Return True while a leader asks for in-sync replicas with, or without, a broker."""
        leadership = self._leadership(life, truth)
        asked = leadership.asked if leadership is not None else None
        return asked is not None and (member.broker_id in asked.isr) is joins

    def _hold(self, source: Life, *targets: Life) -> None:
        for target in targets:
            self._world.tell(f"nothing gets from {source.machine} to {target.machine}")
            self._world.network.hold(source.machine, target.machine)

    def _release(self, source: Life, *targets: Life) -> None:
        for target in targets:
            self._world.tell(f"all gets from {source.machine} to {target.machine} again")
            self._world.network.release(source.machine, target.machine)

    def _lead(self, truth: PartitionTruth, leader: Life) -> bool:
        """Make a member the leader as an operator does; return False if that does not succeed soon."""
        controller = self._world.controller()
        if controller is None or not controller.runs or not controller.ready:
            return False
        rest = [each for each in truth.replicas if each != leader.broker_id]
        replicas = [leader.broker_id, *rest]
        command = self._operators.command
        reassigned = controller.store.reassign({truth.name: replicas})
        command(controller, f"reassign {truth.name}: {replicas}", reassigned)
        self._until(lambda: list(truth.replicas) == replicas, 0.3, 0.01)
        elected = controller.store.elect_leaders(ElectionKind.PREFERRED, [truth.name])
        command(controller, f"elect PREFERRED {truth.name}", elected)
        return self._until(lambda: truth.state.leader == leader.broker_id, 0.3, 0.005)

    def _hold_at_write(self, life: Life, truth: PartitionTruth) -> Callable[[], bool]:
        """Hold the requests of a life when it next writes a state; return what tells if that has come."""
        tree, multi, held = life.tree, life.tree.multi, [False]
        if "multi" in vars(tree):
            return lambda: False

        def write(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            if any(each.path == paths.state(*truth.name) for each in operations):
                del life.tree.multi
                held[0] = True
                self._world.tell(f"a change of {truth.name} by {life.name} is held on the way to the tree")
                tree.link.hold_requests()
            return multi(operations)

        tree.multi = write  # type: ignore[method-assign]
        return lambda: held[0]

    def _let_go(self, life: Life) -> None:
        vars(life.tree).pop("multi", None)
        if life.runs:
            self._world.tell(f"requests of {life.name} get to the tree again")
            life.tree.link.release()

    def _make(self, name: str, replicas: Sequence[int], life: Life) -> bool:
        """Delete a topic, and make one of its name with one partition; return False if that fails."""
        world, command = self._world, self._operators.command
        before = world.truth.partitions.get(self._first(name))
        if before is not None:
            command(life, f"delete {name}", life.store.delete_topic(name))
            if not self._until(lambda: self._first(name) not in world.truth.partitions, 0.5, 0.005):
                return False
            self._until(lambda: name not in life.store.state.topics, 0.2, 0.005)
        making = life.store.create_topic(name, [list(replicas)], world.plan.topics[name].configs)
        command(life, f"create {name}: {replicas}", making)
        return self._until(
            lambda: (
                self._first(name) in world.truth.partitions
                and world.truth.partitions[self._first(name)].state.leader >= 0
            ),
            0.5,
            0.005,
        )

    def _first(self, name: str) -> TopicPartition:
        return TopicPartition(name, 0)

    # --- scenarios

    def old_reply(self) -> None:
        """An answer to a fetch is late: its reader was cut by another leader meanwhile, and leads (6)."""
        found = self._led()
        if found is None:
            return
        truth, leader, (one, other, *_) = found
        self._hold(leader, other)
        self._world.advance(0.1 + 0.3 * self._random.random())
        self._hold(leader, one)
        self._world.advance(0.05 + 0.3 * self._random.random())
        if self._lead(truth, other):
            self._world.advance(0.02 + 0.1 * self._random.random())
            if self._random.random() < 0.5:
                self._lead(truth, one)
        self._release(leader, one)
        self._world.advance(0.05)
        self._release(leader, other)

    def stale_join(self) -> None:
        """A replica loses its log when its joining is under way (8)."""
        found = self._led()
        if found is None:
            return
        truth, leader, (follower, *_) = found
        self._hold(follower, leader)
        self._until(lambda: follower.broker_id not in truth.state.isr, 5.0)
        held = self._hold_at_write(leader, truth)
        self._release(follower, leader)
        if self._until(held, 2.0, 0.005) and self._asks(leader, truth, follower, True) and follower.runs:
            machine = follower.home
            follower.kill(False, power=False)
            lost = machine.lose_power(self._random)
            self._world.tell(f"{machine.name} loses its power, and records of {[*map(str, lost)]}")
            self._world.truth.lose(machine.broker_id)
            life = machine.start(self._world.now_s)
            self._until(lambda: life.ready, 1.0)
        self._let_go(leader)
        self._world.advance(0.1)

    def late_answer(self) -> None:
        """A leader hears late that a change of its in-sync replicas failed: the next is under way (11)."""
        found = self._led()
        controller = self._world.controller()
        if found is None or controller is None:
            return
        truth, leader, (leaving, joining, *_) = found
        if controller is leader:
            return
        self._operators.alter(controller, truth.name.topic, "min.insync.replicas", "1")
        self._hold(joining, leader)
        self._until(lambda: joining.broker_id not in truth.state.isr, 5.0)
        link = leader.tree.link
        link.requests.delay_s = link.replies.delay_s = 0.3
        self._world.tell(f"the tree is slow for {leader.name}: 0.3 s there, 0.3 s back")
        self._hold(leaving, leader)
        if self._until(lambda: self._asks(leader, truth, leaving, False), 5.0, 0.005) and leaving.runs:
            self._world.tell(f"{leaving.name} is told to stop")
            leaving.stop()
            self._release(joining, leader)
            if self._until(lambda: self._asks(leader, truth, joining, True), 2.0, 0.005):
                self._hold(joining, leader)
                self._hold(leader, joining)
                self._world.advance(1.5)
        link.requests.delay_s = link.replies.delay_s = 0.0
        self._release(joining, leader)
        self._release(leaving, leader)
        self._release(leader, joining)

    def deleted_topic(self) -> None:
        """A change of in-sync replicas reaches the tree when another topic has the name (21)."""
        able = self._able_to_make()
        if able is None:
            return
        name, life, (leader, one, other, *_) = able
        if not self._make(name, [leader.broker_id, one.broker_id, other.broker_id], life):
            return
        truth = self._world.truth.partitions[self._first(name)]
        self._hold(one, leader)
        held = self._hold_at_write(leader, truth)
        if self._until(held, 5.0):
            self._make(name, [one.broker_id, other.broker_id, leader.broker_id], life)
        self._let_go(leader)
        self._release(one, leader)
        self._world.advance(0.2)

    def recreated_topic(self) -> None:
        """A broker is cut off while a topic is deleted and made again (21)."""
        able = self._able_to_make()
        if able is None:
            return
        name, life, (one, *rest) = able
        one.tree.link.cut(False)
        self._world.tell(f"{one.name} is cut off from the tree")
        self._world.advance(0.05)
        self._make(name, [each.broker_id for each in (*rest[:2], one)], life)
        one.tree.link.heal()
        self._world.advance(0.5)

    def _able_to_make(self) -> tuple[str, Life, list[Life]] | None:
        """Return a topic to make anew, the controller, and others that run, in any order."""
        names = [each for each in self._world.plan.topics if each != KEPT]
        controller = self._world.controller()
        if not names or controller is None or not (controller.runs and controller.ready):
            return None
        lives = [each for each in self._world.lives() if each.runs and each.ready and each.tree.link.up]
        others = [each for each in lives if each is not controller]
        if len(lives) < 3 or not others:
            return None
        self._random.shuffle(others)
        return self._random.choice(names), controller, [others[0], controller, *others[1:]]

    def parked_writers(self) -> None:
        """Writers wait for a commit, and another leader commits other records at their offsets (24)."""
        found = self._led()
        if found is None:
            return
        truth, leader, others = found
        self._hold(leader, *others)
        self._world.advance(0.1 + 0.3 * self._random.random())
        self._lead(truth, others[0])
        self._release(leader, *others)
        self._world.advance(0.5 * self._random.random())
        if self._random.random() < 0.5:
            self._lead(truth, leader)

    def fewer_needed(self) -> None:
        """``min.insync.replicas`` is lowered while there are eligible replicas (5, KIP-966)."""
        found = self._led()
        life = self._able()
        if found is None or life is None:
            return
        truth, leader, others = found
        self._operators.alter(life, truth.name.topic, "min.insync.replicas", "2")
        for other in others:
            self._hold(other, leader)
        if self._until(lambda: bool(truth.state.eligible), 6.0):
            self._world.advance(0.3)
            able = self._able()
            if able is not None:
                self._operators.alter(able, truth.name.topic, "min.insync.replicas", "1")
                self._world.advance(0.2)
        for other in others:
            self._release(other, leader)

    def lost_epochs(self) -> None:
        """Each of two leaders, one after the other, has records of an epoch that the other lacks (2)."""
        found = self._led()
        if found is None:
            return
        truth, leader, (one, other, *_) = found
        self._hold(leader, one, other)
        self._hold(one, leader, other)
        self._world.advance(0.1 + 0.2 * self._random.random())
        if self._lead(truth, one):
            self._world.advance(0.1 + 0.3 * self._random.random())
            self._lead(truth, leader)
        self._release(leader, one, other)
        self._release(one, leader, other)
        self._world.advance(0.5)

    def lost_reply(self) -> None:
        """A leader never gets the reply to a change: a replica has joined, and copies no more (10)."""
        found = self._led()
        if found is None:
            return
        truth, leader, (follower, *_) = found
        self._hold(follower, leader)
        self._until(lambda: follower.broker_id not in truth.state.isr, 5.0)
        held = self._hold_at_write(leader, truth)
        self._release(follower, leader)
        if self._until(held, 2.0, 0.005) and self._asks(leader, truth, follower, True):
            self._hold(follower, leader)
            self._hold(leader, follower)
            self._world.tell(f"{leader.name} is cut off from the tree; requests under way are made")
            leader.tree.link.cut(apply_requests=True)
            self._world.advance(0.3 + 0.4 * self._random.random())
            if leader.alive:
                leader.tree.link.heal()
            self._release(leader, follower)
        self._let_go(leader)
        self._release(follower, leader)
        self._world.advance(0.1)

    def deleted_records(self) -> None:
        """Records are deleted that a replica keeps, and it leads (26); or that it does not have yet (25)."""
        found = self._led()
        if found is None:
            return
        truth, leader, (follower, *_) = found
        lags = self._random.random() < 0.5
        if lags:
            self._hold(follower, leader)
            self._until(lambda: follower.broker_id not in truth.state.isr, 5.0)
            self._world.advance(0.3)
        self._hold(leader, follower)
        offset = self._random.randint(max(truth.deleted_to, truth.end - 3), truth.end)
        log = leader.home.disk.logs.get(truth.name)
        if lags and log is not None:  # best from within a batch on
            inside = [each for each in log.records.keys() - log.batches if each < truth.end]
            offset = max(inside, default=offset)
        self._operators.delete_records(truth, offset)
        self._world.advance(0.05)
        if not lags:
            self._lead(truth, follower)
        self._release(follower, leader)
        self._release(leader, follower)
        self._world.advance(0.5)

    def other_data(self) -> None:
        """A broker comes with an older copy of its data, or with none, in the place of the original (31)."""
        found = self._led()
        if found is None:
            return
        _, leader, others = found
        life = self._random.choice([leader, *others])
        machine, disk = life.home, life.home.disk.copy()
        if self._random.random() < 0.3:
            disk = machine.new_disk()
        self._world.tell(f"the data of {life.name} are copied")
        self._world.advance(self._random.random())
        if life.runs and life.ready and self._random.random() < 0.5:
            self._world.tell(f"{life.name} is told to stop")
            life.stop()
            self._until(lambda: not life.alive, 2.0)
        if life.alive:
            self._world.tell(f"{life.name} is killed")
            life.kill(self._random.random() < 0.5)
        machine.disk = disk
        self._world.tell(f"{machine.name} has {'older data' if disk.logs else 'an empty disk'}")
        self._world.truth.replace(machine.broker_id, disk)
        life = machine.start(self._world.now_s)
        self._until(lambda: life.ready, 2.0 * self._random.random())


SCENARIOS: dict[str, Callable[[Scenarios], None]] = {
    "old reply": Scenarios.old_reply,
    "stale join": Scenarios.stale_join,
    "late answer": Scenarios.late_answer,
    "deleted topic": Scenarios.deleted_topic,
    "recreated topic": Scenarios.recreated_topic,
    "parked writers": Scenarios.parked_writers,
    "fewer needed": Scenarios.fewer_needed,
    "lost epochs": Scenarios.lost_epochs,
    "lost reply": Scenarios.lost_reply,
    "deleted records": Scenarios.deleted_records,
    "other data": Scenarios.other_data,
}
"""The scenarios by name; :mod:`tests.simulation.replication.plan` has the same names."""
