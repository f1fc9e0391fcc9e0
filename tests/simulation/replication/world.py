"""The simulated cluster: machines, a tree, a network, clients, and one time for all.

It touches memory only. All chance comes from one seed.
"""

from __future__ import annotations

import random as global_random
import uuid
from collections.abc import Sequence
from math import inf
from random import Random

from attrs import evolve
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, LogLevel, formatEvent, globalLogPublisher
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.interfaces import ITree
from kafkatx.metadata.cluster.state import change_log, follower
from kafkatx.metadata.cluster.state.change_log import Batch
from kafkatx.metadata.cluster.state.loader import Loader
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import ChangeRecord
from tests.simulation.replication.checks import Checks
from tests.simulation.replication.clients.clients import Clients
from tests.simulation.replication.machine import DAY_MS, Life, Machine
from tests.simulation.replication.network import Network
from tests.simulation.replication.plan import Plan
from tests.simulation.replication.truth import Truth
from tests.simulation.server import SimulatedServer, Transaction
from tests.simulation.transactions import Violation
from tests.simulation.world import describe

MOST_MOMENTS = 20_000
"""Moments within one step, after which the cluster is taken to be in an endless loop."""
MOST_LINES = 4000
"""Lines of the history that are kept."""


@implementer(ILogObserver)
class World:
    """A cluster under simulation.

    :ivar random: the source of chance.
    :ivar history: what has happened, a line each.
    :ivar calm: True when faults are over.
    :ivar over: True after the run, when what was under way ends with the garbage collector.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        global_random.seed(seed)
        self.plan = self.make_plan(seed)
        self.history: list[str] = []
        self.calm = self.over = False
        self.producer_ids = 1000
        self.clock = Clock()
        self.server = SimulatedServer(self.clock)
        self.server.committed = self._committed
        self.network = Network()
        self.machines = {
            broker_id: Machine(
                broker_id,
                self.plan.settings,
                self.network,
                self.server,
                self.new_uuid,
                self.tell,
                self.failed,
            )
            for broker_id in self.plan.brokers
        }
        disks = {broker_id: machine.disk for broker_id, machine in self.machines.items()}
        self.truth = Truth(self.server, disks, self.plan.unclean, self.tell)
        self.checks = Checks(self.truth, self.machines)
        self.clients = Clients(self)
        self._violation: Exception | None = None
        self._speaker = ""
        self._known: dict[int, list[tuple[int, ChangeRecord]]] = {}

    def make_plan(self, seed: int) -> Plan:
        """Draw the plan of a seed."""
        return Plan.of_seed(seed, self.random)

    def __call__(self, event: LogEvent) -> None:
        """Take it as a violation that a failure was logged."""
        failure = event.get("log_failure")
        level = event.get("log_level")
        if failure is None and level is not None and level >= LogLevel.warn:
            self.tell(f"{self._speaker} {level.name}: {formatEvent(event)}")
        if failure is not None:
            self.violated(Violation(f"{formatEvent(event)}\n{failure.getTraceback()}"))

    def __enter__(self) -> World:
        """Watch the log, and start the brokers."""
        globalLogPublisher.addObserver(self)
        vars(follower)["read_batch"] = self._read_batch
        for machine in self.machines.values():
            machine.start(self.now_s)
        return self

    def __exit__(self, *error: object) -> None:
        """Watch the log no more."""
        self.over = True
        vars(follower)["read_batch"] = change_log.read_batch
        globalLogPublisher.removeObserver(self)

    @property
    def now_s(self) -> float:
        """The time since the beginning."""
        return self.clock.rightNow

    def now_ms(self) -> int:
        """Return the time of day."""
        return DAY_MS + int(self.now_s * 1000)

    def tell(self, line: str) -> None:
        """Add a line to the history."""
        self.history.append(f"{self.now_s:9.4f} {line}")

    def violated(self, violation: Exception) -> None:
        """Note the first violation, which ends the run with the step."""
        if self._violation is None:
            self._violation = violation

    def failed(self, failure: Failure) -> None:
        """Note a failure as a violation."""
        error = failure.value
        if isinstance(error, Violation):
            self.violated(error)
        else:
            self.violated(Violation(failure.getTraceback()))

    def new_uuid(self) -> uuid.UUID:
        """Return a random id."""
        return uuid.UUID(int=self.random.getrandbits(128), version=4)

    def lives(self) -> list[Life]:
        """Return the current life of each machine, dead or alive."""
        return [machine.life for machine in self.machines.values()]

    def advance(self, seconds: float) -> None:
        """Advance the time; do all that is due, and check at each moment at which anything was.

        :raises Violation: an invariant does not hold any more.
        """
        end_s = self.now_s + seconds
        for _ in range(MOST_MOMENTS):
            due_s = inf
            lives = [life for life in self.lives() if life.runs]
            for clock in (self.clock, self.clients.clock, self.clients.arrivals):
                if clock.calls:
                    due_s = min(due_s, clock.calls[0].getTime())
            for life in lives:
                if life.calls:
                    due_s = min(due_s, life.calls[0].getTime())
                if life.arrivals.calls:
                    due_s = min(due_s, life.arrivals.calls[0].getTime())
            if due_s > end_s:
                self._set_time(end_s)
                self.check(lives)
                return
            self._set_time(max(self.now_s, due_s))
            touched = []
            self._run(self.clock, "tree")
            for life in lives:
                if self._is_due(life.arrivals) or self._is_due(life):
                    touched.append(life)
                    self._run(life.arrivals, life.name)
                    if life.runs:
                        self._run(life, life.name)
            self._run(self.clients.arrivals, "clients")
            self._run(self.clients.clock, "clients")
            self.check(touched)
        raise Violation(f"there is no end to what happens at {self.now_s} s")

    def check(self, touched: list[Life]) -> None:
        """Raise the first violation; check the brokers that have done anything.

        :raises Violation: an invariant does not hold any more.
        """
        if self._violation is None:
            self.checks.check(touched)
        else:
            raise self._violation

    def _set_time(self, now_s: float) -> None:
        self.clock.rightNow = self.clients.clock.rightNow = self.clients.arrivals.rightNow = now_s
        for life in self.lives():
            life.rightNow = life.arrivals.rightNow = now_s

    def _is_due(self, clock: Clock) -> bool:
        return bool(clock.calls) and clock.calls[0].getTime() <= clock.rightNow

    def _run(self, clock: Clock, name: str) -> None:
        if self._is_due(clock):
            self._speaker = name
            try:
                clock.advance(0)
            except Violation as violation:
                self.violated(violation)

    def controller(self) -> Life | None:
        """Return the life that is the controller."""
        node = self.server.nodes.get(paths.CONTROLLER)
        if node is not None:
            for life in self.lives():
                if life.tree.session_id == node.owner:
                    return life
        return None

    async def _read_batch(self, tree: ITree, loader: Loader, sequences: Sequence[int]) -> Batch:
        """Read change records, and by chance one of states again that is long known."""
        batch = await change_log.read_batch(tree, loader, sequences)
        known = self._known.setdefault(id(tree), [])
        again = [self.random.choice(known)] if known and self.random.random() < 0.2 else []
        known += [
            each for each in batch.records if each[1].states and not (each[1].topics or each[1].deleted)
        ]
        return evolve(batch, records=[*again, *batch.records])

    def _committed(self, transaction: Transaction) -> None:
        described = describe(transaction.operations)
        if described:
            self.tell(f"{self.server.owners[transaction.session_id]} #{transaction.zxid}: {described}")
        try:
            self.truth.follow(transaction)
        except Violation as violation:
            self.violated(violation)
