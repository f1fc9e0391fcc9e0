"""A machine and the lives of its broker: a whole broker with its service, on a simulated reactor.

It touches memory only. The service is the real one; what it would take from the process (threads, the wall
clock, ports) it takes from a :class:`Life` here. :mod:`.network` connects lives, :mod:`.storage` is the disk.
"""

from __future__ import annotations

import errno
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSet, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from kafkatx.broker import service as service_module
from kafkatx.broker.broker import Broker
from kafkatx.broker.replica import commit_waiters, flushes
from kafkatx.broker.replica import partition as partition_module
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.service import BrokerService, Parts
from kafkatx.config import BrokerConfig
from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import Expected, ILogStore, IMetadataStore, Worker
from kafkatx.log.batch_store import BatchLogStore
from kafkatx.metadata.cluster.store import ClusterMetadataStore, ClusterOptions
from kafkatx.metadata.tree.memory import MemoryTree
from kafkatx.testing.contracts.partition_log import find_retention
from kafkatx.types import TopicPartition
from tests.metadata.cluster.lives import DiskLife, LifeDisk
from tests.simulation.replication.network import Network, Port
from tests.simulation.replication.storage import Disk, DiskBatches
from tests.simulation.server import SimulatedServer

T = TypeVar("T")

SESSION_S = 3.0
"""Time-out of the sessions."""
PORT = 9092
DAY_MS = 1_700_000_000_000
"""The time of day at which the simulation begins."""


class LogDir:
    """One of the log dirs of a machine (``ILogDir``)."""

    def __init__(self, machine: str, number: int, noted: int = 0) -> None:
        self.noted = noted
        self.path = f"/{machine}.{number}"
        self.directory_id = f"directory-{machine}.{number}"
        self.error: OSError | None = None
        self.lock, self.emptied = "", False
        self.logs: Mapping[TopicPartition, Any] = {}
        self.incoming: Mapping[TopicPartition, Any] = {}


class Life(Clock):
    """One process of a broker, which is its own reactor. It starts at once.

    :ivar name: its name in the history, ``b1.2`` for the second life of broker 1.
    :ivar arrivals: the calls of what arrives from the network.
    :ivar refused: the reason why it could not start.
    :ivar ready: True between start and stop.
    :ivar stale: its data are not those of the broker's last life.
    """

    def __init__(self, machine: Machine, name: str, now_s: float) -> None:
        super().__init__()
        self.rightNow = now_s
        self.arrivals = Clock()
        self.arrivals.rightNow = now_s
        self.name = name
        self.home = machine
        self.machine = machine.name
        self.broker_id = machine.broker_id
        self.alive = True
        self.frozen = False
        self.ready = False
        self.stopping = self.stale = False
        self.refused: str | None = None
        self.boot = machine.boot
        self.slow_disk_s = 0.0
        self.tree = MemoryTree(machine.server.door(name), SESSION_S, self.seconds)
        parts = Parts(self._log_store, self._metadata_store, find_retention, make_endpoint=self.endpoint)
        self.service = BrokerService(machine.config, parts, self)
        self.broker: Broker = self.service.broker
        self.store: IMetadataStore = self.broker.metadata
        self.service.started.addCallbacks(self._started, self._failed)
        self.service.startService()

    @property
    def runs(self) -> bool:
        """True if the process does anything."""
        return self.alive and not self.frozen

    def acts(self) -> bool:
        """Return True if it may act as a leader now: by what it believes, and by its lease."""
        remaining_s = self.store.lease_remaining_s
        assert remaining_s is not None
        believed = self.runs and not self.store.state.fenced and remaining_s() > 0
        return believed and self.tree.lease_remaining_s() > 0

    def has_failed(self) -> bool:
        """Return True if a log dir has failed."""
        store = self.broker.store
        return isinstance(store, MachineLogStore) and store.failed

    def partitions(self) -> Iterator[Partition]:
        """Yield the partitions that are open here."""
        for partitions in self.broker.topics.partitions.values():
            for partition in partitions:
                if partition is not None:
                    yield partition

    # --- the reactor of the service

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Port:
        """Listen at a port of the machine."""
        return self.home.network.listen(self, port, factory)

    def endpoint(self, reactor: object, host: str, port: int) -> Any:
        """Return an endpoint for connections to another machine (``MakeEndpoint``)."""
        return self.home.network.endpoint(self, host, port)

    def now_ms(self) -> int:
        """Return the time of day."""
        return DAY_MS + int(self.seconds() * 1000)

    def worker(self, name: str) -> Worker:
        """Return a worker that works a moment later."""
        return self._work

    def _work(self, function: Callable[[], T]) -> Deferred[T]:
        done: Deferred[T] = Deferred()

        def work() -> None:
            try:
                result = function()
            except Exception:
                done.errback(Failure())
            else:
                done.callback(result)

        self.callLater(self.slow_disk_s, work)
        return done

    # --- its parts

    def _log_store(self, config: BrokerConfig, workers: Any, clock: Any, find: Any) -> ILogStore:
        return MachineLogStore(self, workers, clock, find)

    def _metadata_store(
        self, config: BrokerConfig, workers: object, durable: bool, reactor: object
    ) -> IMetadataStore:
        return ClusterMetadataStore(
            self.tree, self, ClusterOptions("memory"), self.now_ms, self.home.new_uuid
        )

    def _started(self, service: BrokerService) -> None:
        self.ready = True
        self.home.tell(f"{self.name} has started")

    def _failed(self, failure: Failure) -> None:
        self.refused = failure.getErrorMessage()
        self.home.tell(f"{self.name} cannot start: {self.refused}")

    # --- faults

    def freeze(self) -> None:
        """Stop the process for a while (SIGSTOP)."""
        self.frozen = True
        self.tree.link.hold_requests()
        self.tree.link.hold_replies()

    def thaw(self, timers_first: bool) -> None:
        """Continue the process.

        :param timers_first: call the timers that are due before what has arrived.
        """
        self.frozen = False
        (self if timers_first else self.arrivals).advance(0)
        self.tree.link.release()

    def kill(self, apply_requests: bool, power: bool = True) -> None:
        """End the process without a word.

        :param power: False if the machine loses its power with it.
        """
        self.alive = self.ready = False
        self.tree.link.kill(apply_requests)
        self.home.network.end_life(self, silent=not power)

    def stop(self) -> None:
        """Stop in order (SIGTERM)."""
        self.stopping = True
        self.ready = False

        def stopped(result: object) -> None:
            self.home.tell(f"{self.name} has stopped")
            self.alive = False
            self.tree.link.kill(True)
            self.home.network.end_life(self, silent=False)
            if isinstance(result, Failure):
                result.raiseException()

        self.service.stopService().addBoth(stopped).addErrback(self.home.failed)


class MachineLogStore(BatchLogStore):
    """The logs of a life, on the disk of its machine, in two log dirs of which the second may fail."""

    def __init__(self, life: Life, workers: Any, clock: Any, find: Any) -> None:
        self._disk = life.home.disk
        self._home = life.home
        self._expected: Expected | None = None
        super().__init__(DiskBatches(self._disk, life.home.topic_id), workers, clock, find)
        self.dirs = (
            LogDir(life.machine, 0, life.home.noted),
            LogDir(life.machine, 1, life.home.noted),
        )  # type: ignore[assignment]

    def open(
        self, log_config: Callable[[str], LogConfig], expected: Expected | None = None
    ) -> Deferred[None]:
        """See ILogStore."""
        self._expected = expected
        return super().open(log_config, expected)

    def note_generation(self) -> Deferred[None]:
        """See ILogStore."""
        if self._expected is not None:
            self._home.noted = max(self._home.noted, self._expected.generation())
        return succeed(None)

    def close(self) -> Deferred[None]:
        """See ILogStore."""
        self.note_generation()
        return super().close()

    @property
    def failed(self) -> bool:
        """True if a log dir has failed."""
        return self.dirs[1].error is not None

    def fail(self) -> None:
        """Fail the second log dir: its logs can be neither read nor written until the next start."""
        log_dir: Any = self.dirs[1]
        names = [name for name in self._logs if (name.partition + ord(name.topic[-1])) % 2]
        log_dir.logs = {name: self._logs[name] for name in names}
        log_dir.error = OSError(errno.EIO, "the disk has failed")
        for name in names:
            self._disk.logs[name].error = log_dir.error
            del self._logs[name], self._entries[name]
        if self.on_offline is not None:
            self.on_offline(log_dir)


class Machine:
    """A machine: a disk, a place in the network, and one broker at a time.

    :param failed: called with the failure of what must not fail.
    :param tell: adds a line to the history.
    :ivar boot: counts how often it was switched on.
    :ivar noted: the generation of the cluster's state that the broker has noted there.
    :ivar noted_boot: the boot that the broker has noted beside its logs.
    :ivar lost: the partitions of which records were lost with its power, and which have not been made good.
    """

    def __init__(
        self,
        broker_id: int,
        settings: Mapping[str, str],
        network: Network,
        server: SimulatedServer,
        new_uuid: Callable[[], uuid.UUID],
        tell: Callable[[str], None],
        failed: Callable[[Failure], None],
    ) -> None:
        self.name = f"b{broker_id}"
        self.broker_id = broker_id
        self.network = network
        self.server = server
        self.new_uuid = new_uuid
        self.tell = tell
        self.failed = failed
        self.disk = Disk(LifeDisk(LogDir(self.name, 0).directory_id))
        self.boot = 1
        self.noted_boot = 0
        self.noted = 0
        self.lives: list[Life] = []
        values = {
            "log.dirs": f"/{self.name}",
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://{self.name}:{PORT}",
            **settings,
        }
        self.config = BrokerConfig.load(None, values)

    @property
    def life(self) -> Life:
        """The current life, or the last one."""
        return self.lives[-1]

    def topic_id(self, partition: TopicPartition) -> uuid.UUID | None:
        """Return the id of a partition's topic by the state of the broker; None if there is none."""
        topic = self.life.store.state.topics.get(partition.topic) if self.lives else None
        if topic is None or partition.partition >= len(topic.partitions):
            return None
        here = self.broker_id in topic.partitions[partition.partition].replicas
        return topic.topic_id if here else None

    def new_disk(self) -> Disk:
        """Return an empty disk."""
        lives = self.disk.lives.copy()
        lives.record = None
        return Disk(lives)

    def start(self, now_s: float) -> Life:
        """Start the broker, which does not run."""
        name = f"{self.name}.{len(self.lives) + 1}"
        self.tell(f"{name} starts")
        with simulated():
            self.lives.append(Life(self, name, now_s))
        return self.life

    def lose_power(self, random: Random) -> list[TopicPartition]:
        """Switch the machine off and on; return the partitions of which records are lost."""
        self.boot += 1
        return self.disk.lose_power(random)


class _Workers:
    """The workers of a life, in place of threads."""

    def __init__(self, life: Life) -> None:
        self.life = life

    def __call__(self, name: str) -> Worker:
        return self.life.worker(name)

    def stop(self) -> None:
        """Stop nothing: they are no threads."""


class _BootRecord:
    """The boot that a machine has noted beside its logs."""

    def __init__(self, workers: _Workers) -> None:
        self._life = workers.life

    def is_same(self, directories: Sequence[str]) -> Deferred[bool]:
        """Return True if the logs were last used in this boot."""
        return succeed(self._life.home.noted_boot == self._life.boot)

    def note(self, directories: Sequence[str]) -> Deferred[None]:
        """Note this boot."""
        self._life.home.noted_boot = self._life.boot
        return succeed(None)


def _make_life(dirs: object, workers: _Workers, distrust: Callable[[], None], anew: bool) -> DiskLife:
    life, home = workers.life, workers.life.home

    def stale() -> None:
        life.stale = True
        distrust()

    return DiskLife(home.disk.lives, f"{home.name} {home.boot}", lambda: str(home.new_uuid()), stale)


class _WallClock:
    """The wall clock of a life."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self.callLater = life.callLater

    def seconds(self) -> float:
        """Return the seconds since the epoch."""
        return DAY_MS / 1000 + self._life.seconds()


def _make_broker(
    config: BrokerConfig, metadata: IMetadataStore, store: ILogStore, life: Life, workers: Any, **more: Any
) -> Broker:
    return Broker(config, metadata, store, life, workers, life.now_ms, **more)


class OrderedSet(MutableSet[Any]):
    """A set in the order of insertion: what waits is woken in the same order in each run."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = dict.fromkeys(items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, value: Any) -> None:
        """Add an item."""
        self._items[value] = None

    def discard(self, value: Any) -> None:
        """Remove an item, if it is there."""
        self._items.pop(value, None)


@contextmanager
def ordered() -> Iterator[None]:
    """Make modules that keep objects in sets keep them in the order of insertion."""
    modules = [vars(each) for each in (partition_module, flushes, commit_waiters)]
    for names in modules:
        names["set"] = OrderedSet
    try:
        yield
    finally:
        for names in modules:
            del names["set"]


@contextmanager
def simulated() -> Iterator[None]:
    """Hand a service, from its life, the parts that it else takes from the process."""
    names = vars(service_module)
    replaced = {
        "ThreadWorkers": _Workers,
        "BootRecord": _BootRecord,
        "ProcessLife": _make_life,
        "WallClock": _WallClock,
        "Broker": _make_broker,
    }
    before = {name: names[name] for name in replaced}
    names.update(replaced)
    try:
        yield
    finally:
        names.update(before)
