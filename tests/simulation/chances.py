"""The events of the simulated cluster, by chance: commands of clients, faults, and other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.interfaces.nodes import Create, Operation, Outcome
from kafkatx.metadata.layout import paths, topics
from kafkatx.types import IsrChange, PartitionState, TopicPartition
from tests.simulation.process import TIMEOUT_S, Process
from tests.simulation.transactions import CONFIGS, Violation
from tests.simulation.world import BROKERS, World, describe

TOPICS = 5
MOST_PARTITIONS = 12
"""Partitions that a topic may come to have."""
DELAYS_S = (0.0, 0.0, 0.001, 0.02, 0.3, 1.5)


class Chances:
    """Makes one thing after the other happen.

    :ivar commands: commands whose outcome is not known yet, by a number.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random
        self._numbers = 0
        self.commands: dict[int, Process] = {}
        self._events: list[Callable[[], None]] = [
            event
            for event, weight in (
                (self._create, 8),
                (self._add_partitions, 3),
                (self._configure, 3),
                (self._delete, 4),
                (self._crash, 3),
                (self._restart, 6),
                (self._freeze, 2),
                (self._thaw, 4),
                (self._stop, 2),
                (self._copy, 3),
                (self._twin, 3),
                (self._restore, 2),
                (self._cut, 4),
                (self._heal, 8),
                (self._hold, 2),
                (self._doubt, 4),
                (self._delay, 6),
                (self._change_isr, 14),
                (self._overtake, 2),
                (self._stop_soon, 1),
                (self._lose_log_dir, 1),
                (self._depose, 2),
                (self._mark, 1),
                (self._old_tool, 1),
            )
            for _ in range(weight)
        ]

    def step(self) -> None:
        """Make one event, and advance the time by chance."""
        random = self._random
        random.choice(self._events)()
        self._world.advance(
            random.choice((0.0, 0.0, 0.01, 0.1, 0.5, 1.0, 3.0, TIMEOUT_S * 1.5)) * random.random()
        )

    def calm(self) -> None:
        """End all faults, and start all brokers that are dead."""
        world = self._world
        world.tell("all faults end")
        world.calm = True
        for twin in list(world.twins):
            self._kill(twin, apply_requests=False)
            world.end_twin(twin)
        for broker_id, process in list(world.processes.items()):
            if not process.alive or process.refused or process.stopping:
                self._kill(process, apply_requests=False)
                process = world.start(broker_id)
            if process.frozen:
                process.thaw(timers_first=False)
            link = process.tree.link
            link.requests.delay_s = link.replies.delay_s = 0.0
            link.release()
            link.heal()

    # --- clients

    def _process(self) -> Process | None:
        """Return a process that takes commands."""
        able = [process for process in self._world.running() if process.registered]
        return self._random.choice(able) if able else None

    def _command(self, process: Process, text: str, command: Deferred[Any]) -> None:
        self._numbers += 1
        number = self._numbers
        self.commands[number] = process
        world = self._world
        world.tell(f"{process.name} is told to {text} (command {number})")

        def done(outcome: str) -> None:
            if world.over:
                return  # a coroutine of the world that ends with it
            world.tell(f"command {number}: {outcome}")
            if self.commands.pop(number, None) is None:
                world.violated(Violation(f"command {number} has a second outcome, or its process is dead"))

        command.addCallbacks(lambda _: done("done"), lambda failure: done(failure.getErrorMessage()))

    def _name(self) -> str:
        return f"t{self._random.randrange(TOPICS)}"

    def _assignment(self, replication_factor: int) -> list[list[int]]:
        random = self._random
        brokers = range(1, BROKERS + 1)
        return [random.sample(brokers, replication_factor) for _ in range(random.randint(1, 4))]

    def _create(self) -> None:
        process = self._process()
        if process is not None:
            name, assignment = self._name(), self._assignment(self._random.choice((1, 2, 3)))
            configs = {"retention.ms": str(self._random.randrange(100))}
            self._command(
                process, f"create {name}: {assignment}", process.store.create_topic(name, assignment, configs)
            )

    def _add_partitions(self) -> None:
        process = self._process()
        name = self._name()
        known = process.store.state.topics.get(name) if process is not None else None
        if process is not None and known is not None and len(known.partitions) < MOST_PARTITIONS:
            count = len(known.partitions)
            assignment = self._assignment(len(known.partitions[0].replicas))
            self._command(
                process,
                f"add to {name}, {count}: {assignment}",
                process.store.add_partitions(name, count, assignment),
            )

    def _configure(self) -> None:
        process = self._process()
        if process is not None:
            name, value = self._name(), str(self._random.randrange(100))
            self._command(
                process,
                f"configure {name}: {value}",
                process.store.alter_topic_configs(name, lambda configs: {**configs, "retention.ms": value}),
            )

    def _delete(self) -> None:
        process = self._process()
        if process is not None:
            name = self._name()
            self._command(process, f"delete {name}", process.store.delete_topic(name))

    def _change_isr(self) -> None:
        """Tell a leader to change in-sync replicas some times, by what it knows now or a moment later."""
        leaders = [process for process in self._world.running() if process.led()]
        if not leaders:
            return
        process = self._random.choice(leaders)
        for _ in range(self._random.choice((1, 1, 2, 4))):
            changes = self._isr_changes(process) if self._random.random() < 0.5 else None
            self._world.clock.callLater(self._random.random() * 2, self._alter_isr, process, changes)

    def _isr_changes(self, process: Process) -> list[IsrChange]:
        """Return changes of some of the partitions that a process leads; some can never be made."""
        random, state = self._random, process.store.state
        led = process.led()
        changes = []
        for topic_id, name, number, each in random.sample(led, min(len(led), random.choice((1, 1, 3, 9)))):
            able = [one for one in each.replicas if one in state.brokers or random.random() < 0.1]
            size = random.randint(0, len(able))
            members = {process.broker_id, *random.sample(able, size)}
            isr = tuple(one for one in each.replicas if one in members)
            epochs = {one: state.brokers[one].epoch for one in isr if one in state.brokers}
            one = TopicPartition(name, number)
            leader_epoch = each.leader_epoch + 1 if each.partition_epoch % 3 == 2 else -1  # as of a mirror
            changes.append(IsrChange(topic_id, one, each, isr, epochs, random.choice((1, 2)), leader_epoch))
        return changes

    def _alter_isr(self, process: Process, changes: Sequence[IsrChange] | None) -> None:
        world = self._world
        changes = self._isr_changes(process) if changes is None else changes
        if not process.runs or world.calm or not changes:
            return
        changes = world.isr.ask(process.name, changes)
        if not changes:
            return
        text = ", ".join(f"{one.topic_partition} to {one.isr}" for one in changes)

        def ended(outcomes: list[PartitionState | ErrorCode]) -> None:
            if not world.over:
                try:
                    world.isr.ended(process.name, changes, outcomes)
                except Violation as violation:
                    world.violated(violation)

        self._command(process, f"change {text}", process.store.alter_isr(changes).addCallback(ended))

    def _overtake(self) -> None:
        """Delete and create a topic while its leader, which knows it as new, changes in-sync replicas."""
        world, process = self._world, self._process()
        leader = self._random.choice(world.running() or [None])
        if process is None or leader is None or leader is process:
            return
        state = leader.store.state
        led = [each for each in leader.led() if each[3].partition_epoch == 0]
        if not led or not leader.tree.link.up:
            return
        topic_id, name, number, each = self._random.choice(led)
        isr = tuple(one for one in each.replicas if one == leader.broker_id or self._random.random() < 0.5)
        epochs = {one: state.brokers[one].epoch for one in isr if one in state.brokers}
        change = IsrChange(topic_id, TopicPartition(name, number), each, isr, epochs, 1)
        assignment = [one.replicas for one in state.topics[name].partitions]
        world.tell(f"requests of {leader.name} are held for a moment")
        leader.tree.link.hold_requests()
        self._alter_isr(leader, [change])

        def again(_: None) -> None:
            if process.runs and not world.over:
                text = f"create {name} again: {assignment}"
                self._command(process, text, process.store.create_topic(name, assignment, {}))

        def release() -> None:
            if leader.runs:
                leader.tree.link.release()

        self._command(process, f"delete {name}", process.store.delete_topic(name).addCallback(again))
        world.clock.callLater(self._random.random() * 2, release)

    def _stop_soon(self) -> None:
        """Tell a broker that it is about to stop."""
        process = self._process()
        if process is not None:
            self._command(process, "begin to stop", process.store.begin_stopping())

    def _lose_log_dir(self) -> None:
        """Take some replicas of a broker offline."""
        process = self._process()
        if process is None:
            return
        own = [
            TopicPartition(name, number)
            for name, topic in process.store.state.topics.items()
            for number, each in enumerate(topic.partitions)
            if process.broker_id in each.replicas and self._random.random() < 0.2
        ]
        if own:
            self._command(process, f"lose {own}", process.store.report_offline(own))

    # --- faults

    def _kill(self, process: Process, apply_requests: bool) -> None:
        process.kill(apply_requests)
        self.commands = {number: each for number, each in self.commands.items() if each is not process}

    def _any(self) -> Process:
        return self._random.choice(self._world.every())

    def _victim(self) -> Process:
        """Return a process, often the controller's."""
        node = self._world.server.nodes.get(paths.CONTROLLER)
        if node is not None and self._random.random() < 0.5:
            for process in self._world.every():
                if process.tree.session_id == node.owner:
                    return process
        return self._any()

    def _crash(self) -> None:
        process = self._victim()
        if process.alive:
            self._world.tell(f"{process.name} crashes")
            self._kill(process, self._random.random() < 0.5)

    def _restart(self) -> None:
        for broker_id, process in self._world.processes.items():
            if not process.alive or process.refused:
                self._kill(process, apply_requests=False)
                self._world.start(broker_id)
                return

    def _stop(self) -> None:
        """Stop a process in order."""
        process = self._any()
        if process.runs and process.registered:
            self._world.tell(f"{process.name} stops in order")
            process.stop()

    def _copy(self) -> None:
        """Copy the data of a broker, which may be running."""
        disk = self._any().disk
        self._world.tell(f"the data of {disk.used and disk.used.name} are copied")
        self._world.copies.append(disk.copy())

    def _twin(self) -> None:
        """Start a process with a copy of a broker's data, made before or now; or end such a process."""
        world = self._world
        if world.twins and self._random.random() < 0.5:
            twin = self._random.choice(world.twins)
            if twin.alive:
                world.tell(f"{twin.name} is killed")
                self._kill(twin, self._random.random() < 0.5)
            world.end_twin(twin)
            return
        if not world.copies or self._random.random() < 0.5:
            self._copy()
        world.start_twin(self._random.choice(world.copies).copy())

    def _restore(self) -> None:
        """Put a copy in the place of a broker's data, while it does not run."""
        world = self._world
        if world.copies:
            copy = self._random.choice(world.copies).copy()
            if not world.processes[copy.broker_id].alive:
                world.tell(f"the data of broker {copy.broker_id} are those of life {copy.life}")
                world.disks[copy.broker_id] = copy

    def _freeze(self) -> None:
        process = self._victim()
        if process.runs:
            self._world.tell(f"{process.name} is frozen")
            process.freeze()

    def _thaw(self) -> None:
        for process in self._world.every():
            if process.alive and process.frozen:
                timers_first = self._random.random() < 0.5
                self._world.tell(f"{process.name} goes on{', with its timers' if timers_first else ''}")
                process.thaw(timers_first)
                return

    def _cut(self) -> None:
        process = self._victim()
        if process.runs and process.tree.link.up:
            apply = self._random.random() < 0.5
            self._world.tell(
                f"{process.name} is cut off; requests under way are {'made' if apply else 'lost'}"
            )
            process.tree.link.cut(apply)

    def _heal(self) -> None:
        for process in self._world.running():
            link = process.tree.link
            if not link.up or link.requests.held or link.replies.held:
                self._world.tell(f"{process.name} is connected again")
                link.release()
                link.heal()
                return

    def _hold(self) -> None:
        process = self._victim()
        if process.runs:
            link = process.tree.link
            requests = self._random.random() < 0.5
            self._world.tell(f"{'requests of' if requests else 'replies to'} {process.name} are held")
            (link.hold_requests if requests else link.hold_replies)()

    def _doubt(self) -> None:
        """Make the next transaction of a process, cut it off before the reply, and connect it soon."""
        process = self._any()
        if not process.runs or not process.tree.link.up or "multi" in vars(process.tree):
            return
        world, link = self._world, process.tree.link
        world.tell(f"{process.name} is cut off at its next transaction")
        multi = process.tree.multi

        def cut(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            made = multi(operations)
            if describe(operations):  # not only the renewal of a lease
                del process.tree.multi
                if process.runs and link.up and not link.requests.held:
                    world.tell(f"{process.name} is cut off for a moment with a transaction under way")
                    # later, since a connection is not lost within a call of the tree
                    world.clock.callLater(0, doubt)
            return made

        def doubt() -> None:
            if process.alive:
                link.cut(apply_requests=True)
                world.clock.callLater(0.1, heal)

        def heal() -> None:
            if process.alive:
                link.heal()

        process.tree.multi = cut  # type: ignore[method-assign]

    def _delay(self) -> None:
        process = self._any()
        if process.alive:
            link = process.tree.link
            link.requests.delay_s = self._random.choice(DELAYS_S)
            link.replies.delay_s = self._random.choice(DELAYS_S)
            self._world.tell(
                f"{process.name} is slow: {link.requests.delay_s} s there, {link.replies.delay_s} s back"
            )

    # --- operators and other tools

    def _depose(self) -> None:
        self._world.depose(0.0)

    def _mark(self) -> None:
        """A tool for Apache Kafka marks a topic for deletion, which may not exist."""
        path = paths.deleted_topic(self._name())
        nodes = self._world.server.nodes
        if path not in nodes and paths.DELETE_TOPICS in nodes:
            self._world.server.operate(Create(path))

    def _old_tool(self) -> None:
        """A tool for Apache Kafka before 2.8 creates a topic, which has no id."""
        name = self._name()
        nodes = self._world.server.nodes
        if (
            paths.topic(name) not in nodes
            and paths.TOPICS in nodes
            and paths.deleted_topic(name) not in nodes
        ):
            node = topics.TopicNode(None, tuple(map(tuple, self._assignment(1))))
            self._world.server.operate(Create(CONFIGS + name), Create(paths.topic(name), node.encode()))
