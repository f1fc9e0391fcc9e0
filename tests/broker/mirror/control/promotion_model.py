"""A model of a promotion: brokers that learn late, leaders and controllers that change, lost replies.

One topic with one or two partitions, each with three replicas. All changes of the cluster's state are in one
order; a broker knows a prefix of it, and of leaderships perhaps a shorter one. :class:`World` makes chance
steps and checks after each what must always hold.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from random import Random
from typing import TypeAlias

import attrs

from kafkatx.broker.mirror.control import promotion
from kafkatx.broker.mirror.control.promotion import Done, View, Wanted
from kafkatx.clientcore.admin.mirror_status import FIRST_DERIVED_PRODUCER_ID, MirrorStatus
from kafkatx.config.mirror_record import MirrorRecord, MirrorState

Action: TypeAlias = Callable[[], None]

BROKERS = (1, 2, 3)
MOST_PARTITIONS = 2
LINK = "dc1"


class Broken(AssertionError):
    """Something that must always hold does not."""


@attrs.frozen
class Leadership:
    """The leader of a partition, and its in-sync replicas."""

    leader: int
    epoch: int
    isr: frozenset[int]


@attrs.frozen
class Shared:
    """The cluster's state after one change."""

    record: MirrorRecord
    leaders: tuple[Leadership, ...]


@attrs.define
class Batch:
    """The content of one offset: a producer's id, and whether a transaction is open after it."""

    producer_id: int
    open_transaction: bool


@attrs.define
class Broker:
    """One broker: its logs, and how much it knows.

    :ivar records: the number of the change whose record it knows.
    :ivar leaderships: the same of leaderships; never later than *records*.
    :ivar under_way: partitions for which an append is under way.
    """

    id: int
    logs: list[list[Batch]]
    records: int = 0
    leaderships: int = 0
    live: bool = True
    under_way: set[int] = attrs.field(factory=set)


@attrs.define
class Controller:
    """One controller: what it has collected and done, and the step that it is about to perform."""

    reports: dict[int, MirrorStatus] = attrs.field(factory=dict)
    done: dict[int, Done] = attrs.field(factory=dict)
    step: promotion.Step | None = None
    attempt: int = 0


class World:
    """All of it.

    :ivar weights: how often each action is chosen: another mixture for each seed.
    :ivar faults: False if no faults happen any more: everything must end then.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.partitions = self.random.randint(1, MOST_PARTITIONS)
        self.source: list[list[Batch]] = [[] for _ in range(self.partitions)]
        everyone = frozenset(BROKERS)
        leaders = tuple(Leadership(BROKERS[number], 0, everyone) for number in range(self.partitions))
        self.changes = [Shared(MirrorRecord(LINK, uuid.UUID(int=1)), leaders)]
        self.brokers = {one: Broker(one, [[] for _ in range(self.partitions)]) for one in BROKERS}
        self.high_watermarks = [0] * self.partitions
        self.controllers = [Controller()]
        self.allocated = 0
        self.groups = [0] * self.partitions
        self.wanted = Wanted()
        self.change_settings()
        self.ends: tuple[int, ...] | None = None
        self.faults = True
        self.quiet: list[Action] = [
            self.produce,
            self.begin_append,
            self.end_append,
            self.copy,
            self.learn,
            self.look,
            self.perform,
            self.copy_groups,
        ]
        faults = [self.kill, self.restart, self.new_controller, self.lose_step, self.change_settings]
        self.weights: dict[Action, float] = {
            **{one: self.random.choice((1, 3, 9)) for one in self.quiet},
            **{one: self.random.choice((0.3, 1, 4)) for one in faults},
        }

    @property
    def state(self) -> Shared:
        """The state after all changes."""
        return self.changes[-1]

    # --- chance

    def run(self, steps: int) -> None:
        """Make chance steps, then only those without faults until the topic is promoted."""
        for _ in range(steps):
            self.step()
        self.faults = False
        self.wanted = Wanted(promoted=True)
        for broker in self.brokers.values():
            broker.live = True
        for _ in range(4000):
            if self.state.record.state is MirrorState.PROMOTED and self.is_settled():
                return
            self.step()
        raise Broken(f"not promoted: {self.state.record}")

    def is_settled(self) -> bool:
        """Return True if nothing is to be done after the promotion."""
        return True

    def step(self) -> None:
        """Make one chance step, and check."""
        actions = [*self.weights] if self.faults else self.quiet
        weights = [self.weights[one] for one in actions] if self.faults else None
        self.random.choices(actions, weights)[0]()
        self.check()

    def any_partition(self) -> int:
        """Choose a partition."""
        return self.random.randrange(self.partitions)

    def any_broker(self) -> Broker:
        """Choose a broker."""
        return self.brokers[self.random.choice(BROKERS)]

    # --- source, leaders and followers

    def produce(self) -> None:
        """Add to the source's log."""
        log = self.source[self.any_partition()]
        is_open = self.random.random() < 0.1
        log.append(Batch(self.random.choice((1, 50, 5000, FIRST_DERIVED_PRODUCER_ID + 5)), is_open))

    def leads(self, broker: Broker, number: int) -> bool:
        """Return True if a broker leads a partition, as far as it knows; its lease may not have ended."""
        mine = self.changes[broker.leaderships].leaders[number]
        true = self.state.leaders[number]
        return broker.live and mine.leader == broker.id and mine.epoch == true.epoch

    def begin_append(self) -> None:
        """Begin to append the next batches at a leader that knows of no stop."""
        broker, number = self.any_broker(), self.any_partition()
        if self.leads(broker, number) and self.changes[broker.records].record.fetched:
            broker.under_way.add(number)

    def end_append(self) -> None:
        """Append what is under way."""
        broker = self.any_broker()
        for number in sorted(broker.under_way):
            broker.under_way.discard(number)
            if self.leads(broker, number):
                log = broker.logs[number]
                log += self.source[number][len(log) : len(log) + self.random.randint(1, 3)]

    def copy(self) -> None:
        """Copy a leader's log to a follower, which is in sync again when it has all."""
        number = self.any_partition()
        others = [one for one in BROKERS if one != self.state.leaders[number].leader]
        broker = self.brokers[self.random.choice(others)]
        mine, true = self.changes[broker.leaderships].leaders[number], self.state.leaders[number]
        leader = self.brokers[true.leader]
        if not broker.live or mine.epoch != true.epoch or not self.leads(leader, number):
            return
        broker.logs[number] = list(leader.logs[number])
        if broker.id not in true.isr:
            self.change_leader(number, attrs.evolve(true, isr=true.isr | {broker.id}))
        self.high_watermarks[number] = max(
            self.high_watermarks[number],
            min(len(self.brokers[one].logs[number]) for one in self.state.leaders[number].isr),
        )

    def learn(self) -> None:
        """Tell a broker of some changes."""
        broker = self.any_broker()
        if broker.live:
            latest = len(self.changes) - 1
            broker.records = min(latest, broker.records + self.random.choice((1, 1, 1, latest)))
            if self.random.random() < 0.3:
                broker.leaderships = broker.records
            if not self.faults:
                broker.records = broker.leaderships = len(self.changes) - 1

    # --- controllers

    def status(self, broker: Broker, number: int) -> MirrorStatus:
        """Return what a broker says of a partition that it leads."""
        record = self.changes[broker.records].record
        log = broker.logs[number]
        return MirrorStatus(
            LINK,
            "t",
            number,
            record.state.value,
            leader_epoch=self.changes[broker.leaderships].leaders[number].epoch,
            stopped=not record.fetched and number not in broker.under_way,
            attempt=record.attempt,
            log_end=len(log),
            high_watermark=min(self.high_watermarks[number], len(log)),
            max_producer_id=max((one.producer_id for one in log if one.producer_id < 1 << 61), default=-1),
            open_transaction=len(log) - 1 if log and log[-1].open_transaction else -1,
        )

    def look(self) -> None:
        """Collect some reports for a controller; the present one decides."""
        for number in range(self.partitions):
            if self.random.random() < 0.8:
                self.report(number)
        self.decide()

    def report(self, number: int) -> None:
        """Report to a controller by a broker that believes to lead, also when it does not lead any more."""
        believing = [
            broker
            for broker in self.brokers.values()
            if broker.live and self.changes[broker.leaderships].leaders[number].leader == broker.id
        ]
        if believing:
            told = self.status(self.random.choice(believing), number)
            self.random.choice(self.controllers).reports[number] = told

    def decide(self) -> None:
        """Choose the controller's next step, by all changes so far."""
        controller = self.controllers[-1]
        if controller.step is None:
            record = self.state.record
            view = View([one.epoch for one in self.state.leaders], controller.reports)
            done = controller.done.get(record.attempt, Done())
            controller.step = promotion.next_step(record, self.wanted, view, done)
            controller.attempt = record.attempt

    def perform(self) -> None:
        """Perform a step, of a former controller perhaps; the reply may be lost."""
        controller = self.random.choice(self.controllers)
        step, controller.step = controller.step, None
        done = controller.done.get(controller.attempt, Done())
        if isinstance(step, promotion.Write):
            if step.before == self.state.record:
                self.changes.append(attrs.evolve(self.state, record=step.after))
            controller.reports = {}
        elif isinstance(step, promotion.RaiseProducerIds):
            self.allocated = max(self.allocated, step.above + 1)
            done = attrs.evolve(done, raised=True)
        elif isinstance(step, promotion.ClampGroups) and controller is self.controllers[-1]:
            self.groups = [min(pair) for pair in zip(self.groups, step.ends, strict=True)]
            done = attrs.evolve(done, clamped=True)
        if not self.faults or self.random.random() < 0.8:
            controller.done[controller.attempt] = done

    def copy_groups(self) -> None:
        """Copy an offset of a group, which may be beyond the log here."""
        number = self.any_partition()
        if self.state.record.state is MirrorState.MIRRORING:
            self.groups[number] = self.random.randint(0, len(self.source[number]))

    # --- faults

    def change_leader(self, number: int, leader: Leadership) -> None:
        """Change the state of a partition."""
        leaders = [*self.state.leaders]
        leaders[number] = leader
        self.changes.append(attrs.evolve(self.state, leaders=tuple(leaders)))

    def kill(self) -> None:
        """Kill a broker: the controller elects in-sync replicas in its place. One is always left."""
        broker = self.any_broker()
        if not broker.live or sum(one.live for one in self.brokers.values()) < 3:
            return
        broker.live = False
        broker.under_way.clear()
        for number, known in enumerate(self.state.leaders):
            isr = frozenset(one for one in known.isr if self.brokers[one].live) or known.isr
            if known.leader == broker.id and isr != known.isr:
                leader = self.random.choice(sorted(isr))
                self.change_leader(number, Leadership(leader, known.epoch + 1, isr))
            elif isr != known.isr:
                self.change_leader(number, attrs.evolve(known, isr=isr))

    def restart(self) -> None:
        """Start a dead broker again; it answers by what it knew before, until it learns."""
        self.any_broker().live = True

    def new_controller(self) -> None:
        """Elect another controller; a step of the last one may still be under way."""
        self.controllers = [*self.controllers[-1:], Controller()]

    def lose_step(self) -> None:
        """Lose a step before it is performed."""
        self.random.choice(self.controllers).step = None

    def change_settings(self) -> None:
        """Change what a person wants."""
        self.wanted = Wanted(self.random.random() < 0.4, self.random.random() < 0.7)

    # --- checks

    def check(self) -> None:
        """Check what must hold after each step.

        :raises Broken: it does not.
        """
        record = self.state.record
        if self.ends is not None and record.ends != self.ends:
            raise Broken(f"the ends were {self.ends} and are {record.ends}")
        self.ends = record.ends
        if self.ends is None:
            return
        if record.state not in (MirrorState.PROMOTING, MirrorState.PROMOTED):
            raise Broken(f"there are ends, and the state is {record.state}")
        for number, end in enumerate(self.ends):
            leader = self.brokers[self.state.leaders[number].leader]
            log = leader.logs[number]
            self.check_end(number, end, log)
            if record.state is MirrorState.PROMOTED:
                self.check_promoted(number, end, log[:end])

    def check_end(self, number: int, end: int, log: list[Batch]) -> None:
        """Check the end of a log that has one."""
        if len(log) != end:
            raise Broken(f"partition {number} should end at {end} and ends at {len(log)}")

    def check_promoted(self, number: int, end: int, log: list[Batch]) -> None:
        """Check what must hold for producers and groups."""
        if self.groups[number] > end:
            raise Broken(f"a group is at {self.groups[number]}, behind the end {end}")
        used = max((one.producer_id for one in log if one.producer_id < 1 << 61), default=-1)
        if self.allocated <= used:
            raise Broken(f"the producer id {used} would be handed out again")
