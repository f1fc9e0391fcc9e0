"""The simulated cluster: its server, its processes and its time."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from math import inf
from random import Random

from attrs import evolve
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from zope.interface import implementer

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Check, Create, Delete, Operation, SetData
from kafkatx.metadata.cluster.control import trimmer
from kafkatx.metadata.cluster.state import change_log, follower
from kafkatx.metadata.cluster.state.change_log import Batch
from kafkatx.metadata.cluster.state.loader import Loader
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.types import ClusterDelta
from tests.simulation.isr_rules import IsrRules
from tests.simulation.life_rules import DataDisk, LifeRules
from tests.simulation.process import Process
from tests.simulation.server import SimulatedServer, Transaction
from tests.simulation.stores import StoreRules
from tests.simulation.transactions import TransactionRules, Violation

BROKERS = 5
MOST_RECORDS = 16
KEPT_RECORDS = 8
"""The lengths of the change log, so that brokers miss records."""


@implementer(ILogObserver)
class World:
    """A cluster under simulation. All chance comes from one seed.

    :ivar random: the source of chance.
    :ivar processes: the current process of each broker, dead or alive.
    :ivar twins: other processes that are the same brokers, with copies of their data.
    :ivar disks: the data of each broker; *copies*: copies of them that were made.
    :ivar history: what has happened, a line each.
    :ivar calm: True when faults are over.
    :ivar over: True after the run, when the garbage collector ends what was under way.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.history: list[str] = []
        self.clock = Clock()
        self.server = SimulatedServer(self.clock)
        self.server.committed = self._committed
        self.isr = IsrRules(self.server)
        self.lives = LifeRules(self.server)
        self.transactions = TransactionRules(self.server, self.isr, self.lives)
        self.stores = StoreRules(self.server, self.isr)
        self.processes: dict[int, Process] = {}
        self.twins: list[Process] = []
        self.copies: list[DataDisk] = []
        self.disks = {broker_id: DataDisk(broker_id) for broker_id in range(1, BROKERS + 1)}
        self.calm = False
        self.over = False
        self._limits = trimmer.MOST_RECORDS, trimmer.KEPT_RECORDS
        self._known: dict[int, list[tuple[int, ChangeRecord]]] = {}
        self._dead: list[Process] = []
        self._lives = dict.fromkeys(range(1, BROKERS + 1), 0)
        self._violation: Violation | None = None

    def __call__(self, event: LogEvent) -> None:
        """Take it as a violation that a failure was logged."""
        failure = event.get("log_failure")
        if failure is not None:
            self.violated(Violation(f"{formatEvent(event)}\n{failure.getTraceback()}"))

    def __enter__(self) -> World:
        """Watch the log, and start the brokers."""
        globalLogPublisher.addObserver(self)
        self._limits = trimmer.MOST_RECORDS, trimmer.KEPT_RECORDS
        trimmer.MOST_RECORDS, trimmer.KEPT_RECORDS = MOST_RECORDS, KEPT_RECORDS
        vars(follower)["read_batch"] = self._read_batch
        for broker_id in self._lives:
            self.start(broker_id)
        return self

    def __exit__(self, *error: object) -> None:
        """Watch the log no more."""
        self.over = True
        trimmer.MOST_RECORDS, trimmer.KEPT_RECORDS = self._limits
        vars(follower)["read_batch"] = change_log.read_batch
        globalLogPublisher.removeObserver(self)

    @property
    def now_s(self) -> float:
        """The time since the beginning."""
        return self.clock.seconds()

    def tell(self, line: str) -> None:
        """Add a line to the history."""
        self.history.append(f"{self.now_s:9.3f} {line}")

    def violated(self, violation: Violation) -> None:
        """Note the first violation, which ends the run with the step."""
        if self._violation is None:
            self._violation = violation

    def new_uuid(self) -> uuid.UUID:
        """Return a random id."""
        return uuid.UUID(int=self.random.getrandbits(128), version=4)

    def running(self) -> list[Process]:
        """Return the processes that are neither dead nor frozen."""
        return [process for process in self.every() if process.runs]

    def every(self) -> list[Process]:
        """Return all processes, dead or alive."""
        return [*self.processes.values(), *self.twins]

    def start(self, broker_id: int) -> Process:
        """Start a broker that does not run."""
        if broker_id in self.processes:
            self._dead.append(self.processes[broker_id])  # not garbage: the end of its coroutines would show
        process = self.processes[broker_id] = self._process(self.disks[broker_id])
        return process

    def start_twin(self, copy: DataDisk) -> None:
        """Start a process with a copy of a broker's data."""
        self.twins.append(self._process(copy))

    def end_twin(self, twin: Process) -> None:
        """Forget a process that has a copy of a broker's data, and that is dead."""
        self.twins.remove(twin)
        self._dead.append(twin)

    def _process(self, disk: DataDisk) -> Process:
        self._lives[disk.broker_id] += 1
        name = f"b{disk.broker_id}.{self._lives[disk.broker_id]}"
        disk.clean = self.random.random() < 0.8
        self.tell(f"{name} starts, with the data of life {disk.life}")
        process = Process(self.server, name, self.now_s, self.new_uuid, self.tell, self._shown, disk)
        self.lives.processes[name] = disk.used = process
        return process

    def advance(self, seconds: float) -> None:
        """Advance the time; do all that is due, and check the stores at each moment at which anything was.

        :raises Violation: an invariant does not hold any more.
        """
        end_s = self.now_s + seconds
        while True:
            clocks = [self.clock, *(process.clock for process in self.running())]
            due_s = min((clock.calls[0].getTime() for clock in clocks if clock.calls), default=inf)
            now_s = max(self.now_s, min(due_s, end_s))
            self._set_time(now_s)
            if due_s > end_s:
                self.check()
                return
            self._run(self.clock)
            for process in self.every():
                if process.runs:
                    self._run(process.clock)
            self.check()

    def check(self) -> None:
        """Raise the first violation; check what the processes believe.

        :raises Violation: an invariant does not hold any more.
        """
        if self._violation is None:
            self.stores.check(self.every())
        else:
            raise self._violation

    async def _read_batch(self, tree: ITree, loader: Loader, sequences: Sequence[int]) -> Batch:
        """Read change records, and by chance one of states again that is long known."""
        batch = await change_log.read_batch(tree, loader, sequences)
        known = self._known.setdefault(id(tree), [])
        again = [self.random.choice(known)] if known and self.random.random() < 0.3 else []
        known += [
            each for each in batch.records if each[1].states and not (each[1].topics or each[1].deleted)
        ]
        return evolve(batch, records=[*again, *batch.records])

    def _set_time(self, now_s: float) -> None:
        self.clock.rightNow = now_s
        for process in self.every():
            process.clock.rightNow = now_s

    def _run(self, clock: Clock) -> None:
        try:
            clock.advance(0)
        except Violation as violation:
            self.violated(violation)

    def _shown(self, process: Process, delta: ClusterDelta) -> None:
        try:
            self.stores.shown(process, delta)
        except Violation as violation:
            self.violated(violation)

    def _depose(self) -> None:
        """An operator deletes ``/controller``, and so has another one elected."""
        if paths.CONTROLLER in self.server.nodes:
            self.server.operate(Delete(paths.CONTROLLER))

    def depose(self, in_s: float) -> None:
        """Delete ``/controller`` in some seconds."""
        self.clock.callLater(in_s, self._depose)

    def _committed(self, transaction: Transaction) -> None:
        described = describe(transaction.operations)
        if described:
            self.tell(f"{self.server.owners[transaction.session_id]} #{transaction.zxid}: {described}")
        elections = len(self.transactions.elected)
        try:
            self.transactions.check(transaction)
            self.lives.registered(transaction, transaction.operations)
            if len(self.transactions.elected) > elections and not self.calm and self.random.random() < 0.2:
                self.depose(self.random.random() * 4)
        except Violation as violation:
            self.violated(violation)


def describe(operations: Sequence[Operation]) -> str:
    """Describe a transaction on one line; an empty text for one that only renews a lease."""
    parts = []
    for each in operations:
        path = each.path
        if path.startswith(paths.LEASES) and isinstance(each, SetData):
            continue
        if isinstance(each, Check):
            parts.append(f"check {path}={each.version}")
        elif isinstance(each, Delete):
            parts.append(f"delete {path}")
        elif path == paths.CHANGE_PREFIX:
            parts.append("record")
        else:
            verb = "create" if isinstance(each, Create) else "set"
            parts.append(f"{verb} {path} {each.data.decode()}")
    return "; ".join(parts)
