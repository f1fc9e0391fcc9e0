"""The operators of the simulated cluster: topics, configs, elections, reassignments, deleted records."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.errors import KafkaTXError
from kafkatx.types import ElectionKind, TopicPartition
from tests.simulation.replication.chances.choices import Choices, Weights
from tests.simulation.replication.clients.clients import delete_records
from tests.simulation.replication.clients.group import KEPT
from tests.simulation.replication.machine import Life
from tests.simulation.replication.truth import PartitionTruth
from tests.simulation.replication.world import World


class Operators(Choices):
    """Gives commands to brokers."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._commands = 0
        self._deletions = 0

    def weights(self) -> Weights:
        """Return all commands."""
        return (
            (self._delete_records, 2),
            (self._retain, 2),
            (self._elect, 2),
            (self._reassign, 2),
            (self._delete_topic, 1),
            (self._create_topic, 2),
            (self._recreate_topic, 1),
            (self._alter_min_insync, 1),
        )

    def more_weights(self) -> Weights:
        """Return the commands of directed runs alone: the others stay as they were for their seeds."""
        return ((self._alter_unclean, 1), (self._alter_min_insync, 2), (self._recreate_topic, 2))

    def command(self, life: Life, text: str, command: Deferred[Any]) -> None:
        """Note what a command is, and its outcome."""
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

    def create(self, name: str) -> None:
        """Create a topic of the plan."""
        life = self._able()
        if life is not None:
            plan = self._world.plan.topics[name]
            assignment = [
                self._random.sample(self._world.plan.brokers, plan.replicas) for _ in range(plan.partitions)
            ]
            self.command(
                life, f"create {name}: {assignment}", life.store.create_topic(name, assignment, plan.configs)
            )

    def decide(self) -> None:
        """Go on with what is left of partitions whose members have come with the data of earlier lives."""
        life = self._world.controller()
        undecided = [
            each for each in self._world.truth.partitions.values() if {*each.state.members} <= each.stale
        ]
        if life is not None and undecided:
            for truth in undecided:
                truth.unclean = True
            names = [truth.name for truth in undecided]
            elected = life.store.elect_leaders(ElectionKind.UNCLEAN, names)
            self.command(life, f"elect UNCLEAN {names}", elected)
            self._world.advance(1.0)

    def _create_topic(self) -> None:
        life = self._able()
        missing = [name for name in self._world.plan.topics if life and name not in life.store.state.topics]
        if missing:
            self.create(self._random.choice(missing))

    def _delete_topic(self) -> None:
        life = self._able()
        if life is not None and self._random.random() < 0.5:
            name = self._topic()
            if name != KEPT:
                self.command(life, f"delete {name}", life.store.delete_topic(name))

    def _recreate_topic(self) -> None:
        """Delete a topic, and create one of its name as soon as that is done."""
        life, name = self._able(), self._topic()
        if life is not None and name != KEPT:
            deleting = life.store.delete_topic(name)
            deleting.addCallback(lambda _: self.create(name))
            self.command(life, f"delete {name}, and create it again", deleting)

    def _delete_records(self) -> None:
        truth = self._world.clients.partition()
        if truth is not None and truth.end > truth.deleted_to:
            offset = self._random.randint(truth.deleted_to, truth.end)
            self.delete_records(truth, offset)
            if self._random.random() < 0.2:
                self._world.advance(0.004)
                leader = self._world.machines.get(truth.state.leader)
                if leader is not None and leader.life.alive:
                    self._world.tell(f"{leader.life.name} is killed")
                    leader.life.kill(True)

    def delete_records(self, truth: PartitionTruth, offset: int) -> None:
        """Delete the records below an offset, as a client does."""
        self._deletions += 1
        self._world.tell(f"a client deletes {truth.name} below {offset}")
        deleting = delete_records(self._world.clients, truth, offset)
        self._world.clients.run(f"deletion {self._deletions}", deleting)

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
            self.command(life, f"elect {kind.name} {name}", life.store.elect_leaders(kind, [name]))

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
            self.command(life, f"reassign {name}: {target}", life.store.reassign({name: target}))

    def alter(self, life: Life, topic: str, name: str, value: str) -> None:
        """Set a config of a topic."""
        self.command(
            life,
            f"set {name}={value} of {topic}",
            life.store.alter_topic_configs(topic, lambda configs: {**configs, name: value}),
        )

    def _alter_min_insync(self) -> None:
        life = self._able()
        if life is not None:
            name, value = self._topic(), self._random.choice(("1", "2"))
            self.alter(life, name, "min.insync.replicas", value)

    def _alter_unclean(self) -> None:
        life = self._able()
        if life is not None:
            name, value = self._topic(), self._random.choice(("true", "false", "false"))
            self.alter(life, name, "unclean.leader.election.enable", value)
