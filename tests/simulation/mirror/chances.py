"""The scheduler of the simulated mirror: one event after the other, by chance.

Faults of brokers, disks and the network are those of :mod:`tests.simulation.replication.chances.faults`, but
for losses of power: what a machine has lost then is not this simulation's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState, record_of
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.records.builder import build_values
from kafkatx.types import ElectionKind
from tests.simulation.mirror.checks import ONE
from tests.simulation.mirror.source import TOPIC
from tests.simulation.mirror.world import LINK, MirrorWorld
from tests.simulation.replication.chances.chances import STEPS_S, Chances
from tests.simulation.replication.chances.choices import Choices, Event, Weights
from tests.simulation.replication.chances.faults import Faults
from tests.simulation.replication.machine import Life


class MirrorFaults(Faults):
    """Faults, also of the ways between brokers and the source."""

    def weights(self) -> Weights:
        """Return all faults but losses of power and of log dirs."""
        left_out = {"_power", "_fail_dir"}
        return tuple(one for one in super().weights() if getattr(one[0], "__name__", "") not in left_out)


class SourceEvents(Choices):
    """Events at the source, and changes of the topic's record as the controller makes them."""

    _world: MirrorWorld

    def weights(self) -> Weights:
        """Return all events."""
        return (
            (self._add, 24),
            (self._commit, 4),
            (self._elect, 3),
            (self._lose, 3),
            (self._delete, 3),
            (self._retain, 2),
            (self._end, 2),
            (self._listen, 4),
            (self._change_state, 5),
            (self._promote, 10),
            (self._produce, 10),
            (self._move_leader, 4),
        )

    # --- the source

    def _add(self) -> None:
        commit = self._random.random() < 0.8
        self._world.source.add(self._random.choice((1, 1, 2, 3)), commit)
        self._world.tell(f"the source ends at {self._world.source.log.end}, {commit}")

    def _commit(self) -> None:
        self._world.source.commit()

    def _elect(self) -> None:
        source = self._world.source
        source.log.elect(self._random.choice(source.fake.node_ids))
        source.commit()
        self._world.tell(f"the source elects {source.log.leader} in epoch {source.log.leader_epoch}")

    def _lose(self) -> None:
        source = self._world.source
        offset = max(source.log.start, source.log.end - self._random.choice((1, 2, 5, 1000)))
        source.lose(offset, self._random.choice(source.fake.node_ids))
        self._world.tell(
            f"the source loses records from {offset} on; {source.log.leader} leads in epoch"
            f" {source.log.leader_epoch}, and it ends at {source.log.end}"
        )

    def _delete(self) -> None:
        log = self._world.source.log
        start = self._random.randint(log.start, log.high_watermark) if log.high_watermark > log.start else 0
        if self._random.random() < 0.3:
            start = log.high_watermark
        bases = [base for base, _, _, _ in log.batches if base <= start] or [log.start]
        log.delete_below(start if start == log.end else bases[-1])
        self._world.tell(f"the source starts at {log.start}")

    def _end(self) -> None:
        source = self._world.source
        node_id = self._random.choice(source.fake.node_ids)
        if node_id not in source.down:
            source.end(node_id)
            self._world.tell(f"broker {node_id} of the source is away")

    def _listen(self) -> None:
        source = self._world.source
        for node_id in sorted(source.down)[:1]:
            source.listen(node_id)
            self._world.tell(f"broker {node_id} of the source is back")

    # --- the controller

    def record(self) -> MirrorRecord | None:
        """Return the record by the state of a broker that takes commands."""
        life = self._able()
        topic = None if life is None else life.store.state.topics.get(TOPIC)
        return None if topic is None else record_of(topic.configs)

    def change(self, text: str, expected: MirrorRecord, **changes: object) -> None:
        """Change the record, unless it has changed meanwhile, as the controller does."""
        life = self._able()
        if life is None:
            return

        def change(old: Mapping[str, str]) -> Mapping[str, str]:
            if record_of(old) != expected:
                raise RequestError(ErrorCode.INVALID_CONFIG, "the record is another by now")
            after = attrs.evolve(expected, **changes)  # type: ignore[arg-type]
            return {**old, KAFKATX_MIRROR: after.text()}

        self.command(life, text, life.store.alter_topic_configs(TOPIC, change))

    def command(self, life: Life, text: str, command: Deferred[Any]) -> None:
        """Note a command; its failures are harmless."""
        world = self._world
        world.tell(f"{life.name} is told to {text}")

        def done(result: object) -> None:
            if isinstance(result, Failure) and not world.over and life.alive:
                world.tell(f"{text}: {result.getErrorMessage()}")
                if not result.check(KafkaTXError, OSError):
                    world.failed(result)

        command.addBoth(done)

    def _change_state(self) -> None:
        record = self.record()
        if record is None or record.state is MirrorState.PROMOTED or record.ends is not None:
            return
        if record.state is MirrorState.PROMOTING and self._random.random() < 0.7:
            return
        state = self._random.choice(
            (MirrorState.MIRRORING, MirrorState.MIRRORING, MirrorState.PAUSED, MirrorState.FAILED)
        )
        self.change(f"make the mirror {state.value}", record, state=state)

    def _promote(self) -> None:
        """Make one step of a promotion, as the controller does: begin; note the end; open the topic."""
        record, world = self.record(), self._world
        if record is None or record.state is MirrorState.PROMOTED:
            return
        if record.state is not MirrorState.PROMOTING:
            if world.promotes and self._random.random() < 0.4:
                self.change("promote", record, state=MirrorState.PROMOTING, attempt=record.attempt + 1)
            return
        if record.ends is not None:
            self.change("open the topic", record, state=MirrorState.PROMOTED)
            return
        truth = world.truth.partitions[ONE]
        life = world.machines[truth.state.leader].life if truth.state.leader > 0 else None
        if life is None or not life.ready or not life.acts():
            return
        for status in life.broker.mirrors.status():
            committed = status.high_watermark == status.log_end
            if status.stopped and status.attempt == record.attempt and committed:
                self.change(f"end the link at {status.log_end}", record, ends=(status.log_end,))

    def note_end(self) -> None:
        """Take note of the end of the link, when it is in the tree."""
        checks = self._world.checks
        record = self.record()
        if record is not None and record.ends is not None and checks.promoted_end is None:
            checks.promoted_end = record.ends[0]

    # --- clients and operators of the target

    def _produce(self) -> None:
        """Append a record as a produce request does, where that is allowed."""
        world = self._world
        for life in world.lives():
            partition = life.broker.topics.find(*ONE) if life.runs else None
            if partition is not None and partition.writable:
                world.producer_ids += 1
                records = build_values([b"p%d" % world.producer_ids], world.now_ms())
                done = partition.log.append(records, partition.leader_epoch, world.now_ms(), True)
                if not done.error:
                    life.broker.replicas.write(partition)
                    world.tell(f"{life.name} takes a producer's record at {done.base_offset}")

    def _retain(self) -> None:
        """Delete what the retention of the brokers lets go."""
        for life in self._world.lives():
            if life.runs and life.ready:
                for log in list(life.broker.store.logs.values()):
                    log.retain(life.now_ms())

    def _move_leader(self) -> None:
        """Move the leader: the replicas get another order, and the first of them is elected."""
        controller, truth = self._world.controller(), self._world.truth.partitions.get(ONE)
        if controller is None or not controller.runs or truth is None:
            return
        replicas = self._random.sample((1, 2, 3), 3)
        reassign = controller.store.reassign({ONE: replicas})
        self.command(controller, f"reorder the replicas to {replicas}", reassign)
        elect = controller.store.elect_leaders(ElectionKind.PREFERRED, [ONE])
        self.command(controller, "elect the preferred leader", elect)


class MirrorChances(Chances):
    """Makes one thing after the other happen."""

    _world: MirrorWorld

    def __init__(self, world: MirrorWorld) -> None:
        Choices.__init__(self, world)
        self.directed = None
        self._source_events = SourceEvents(world)
        weights = (
            (self._nothing, 6),
            *MirrorFaults(world).weights(),
            *self._source_events.weights(),
        )
        self._events: list[Event] = [event for event, weight in weights for _ in range(weight)]

    def begin(self) -> None:
        """Wait for the brokers, and create the mirrored topic."""
        world = self._world
        world.advance(3.0)
        life = self._able()
        assert life is not None
        for _ in range(self._random.choice((0, 3))):
            world.source.add(2, True)
        record = MirrorRecord(LINK, world.source.fake.topics[TOPIC].topic_id)
        plan = world.plan.topics[TOPIC]
        configs = {**plan.configs, KAFKATX_MIRROR: record.text()}
        assignment = [tuple(self._random.sample((1, 2, 3), 3))]
        create = Deferred.fromCoroutine(life.broker.topic_commands.create(TOPIC, assignment, configs))
        self._source_events.command(life, "create the mirror", create)
        world.advance(2.0)

    def step(self) -> None:
        """Make one event, and advance the time by chance."""
        self._random.choice(self._events)()
        self._source_events.note_end()
        self._world.check(self._world.lives())
        self._world.advance(self._random.choice(STEPS_S) * self._random.random())

    def calm(self) -> None:
        """End all faults; the topic is mirrored, unless its promotion cannot be undone."""
        super().calm()
        world = self._world
        for node_id in sorted(world.source.down):
            world.source.listen(node_id)
        hosts = [life.machine for life in world.source.lives.values()]
        for host in hosts:
            for machine in world.machines.values():
                for way in ((host, machine.name), (machine.name, host)):
                    world.network.way(*way).delay_s = 0.0005
                    world.network.release(*way)

    def settle(self) -> None:
        """Bring the record to an end: mirrored, or promoted."""
        record = self._source_events.record()
        if record is None:
            return
        if record.ends is not None and record.state is not MirrorState.PROMOTED:
            self._source_events.change("open the topic", record, state=MirrorState.PROMOTED)
        elif record.ends is None and record.state not in (MirrorState.MIRRORING, MirrorState.PROMOTED):
            self._source_events.change("mirror", record, state=MirrorState.MIRRORING)
        self._source_events.note_end()
