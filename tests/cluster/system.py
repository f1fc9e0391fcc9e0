"""The cluster under test: ZooKeeper and three brokers. It starts processes, and writes into a folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from kafkatx.blocking import Admin, Cluster
from kafkatx.blocking.coordinators import Coordinators
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata
from kafkatx.errors import KafkaTXError
from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.errors import BrokerDidNotStart
from kafkatx.testing.zookeeper import ZooKeeperServer
from tests.cluster.access import Access
from tests.cluster.checker.wholeness import Placement, Sample
from tests.cluster.disks import Disk
from tests.cluster.network.places import Network
from tests.cluster.security import ADMIN, CLIENT, Security
from tests.ports import free_port
from tests.until import until

BROKERS = (1, 2, 3)
SESSION_MS = 6000
ASK_S = 2.0
START_S = 60.0
STARTS_S = 120.0
TOPIC_CONFIGS = {"min.insync.replicas": "2", "segment.bytes": str(1 << 20)}

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "zookeeper.session.timeout.ms": str(SESSION_MS),
        "zookeeper.connection.timeout.ms": "30000",
        "auto.create.topics.enable": "false",
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
        "offsets.topic.replication.factor": "3",
        "offsets.topic.num.partitions": "4",
        "replica.lag.time.max.ms": "10000",
        "leader.imbalance.check.interval.seconds": "15",
        "log.segment.delete.delay.ms": "1000",
        "group.min.session.timeout.ms": "1000",
    }
)

T = TypeVar("T")


class _Server(ZooKeeperServer):
    """A server that may have a network of its own."""

    inside: Callable[[], AbstractContextManager[None]]
    client_port: int
    """The port for brokers: that with TLS, if there is one."""

    def ask(self, command: str) -> str:
        """Return the answer to a four-letter command."""
        with self.inside():
            return super().ask(command)


class System:
    """Three brokers and their ZooKeeper.

    :param secure: True for TLS and logins everywhere.
    :ivar security: certificates and users, if it is secure.
    :ivar complaints: what went wrong but is no finding of the checker, as sentences.
    :ivar busy: brokers that a fault has in hand, or that are being started.
    """

    def __init__(
        self,
        folder: Path,
        network: Network,
        *,
        zookeepers: int = 1,
        copies: int = 3,
        settings: Mapping[str, str] = SETTINGS,
        secure: bool = False,
    ) -> None:
        self.folder, self.network, self.copies = folder, network, copies
        places = [*map(str, BROKERS), *(f"zk{number}" for number in range(1, zookeepers + 1))]
        hosts = {place: network.host(place) for place in places}
        self.security = Security(folder, hosts) if secure else None
        self.complaints: list[str] = []
        self.busy: set[int] = set()
        self._starts: list[threading.Thread] = []
        self._undo = ExitStack()
        self._undo.callback(network.close)
        self.zookeepers = {f"zk{n}": server for n, server in enumerate(self._servers(zookeepers), 1)}
        for place, server in self.zookeepers.items():
            network.place_zookeeper(place, server.client_port)
        self.disks = {broker_id: Disk(folder / f"broker-{broker_id}") for broker_id in BROKERS}
        self.addresses = {broker_id: network.place_broker(broker_id) for broker_id in BROKERS}
        self._settings = settings
        self.brokers = {broker_id: self._broker(broker_id) for broker_id in BROKERS}
        for disk in self.disks.values():
            self._undo.callback(disk.close)

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers for clients."""
        return ",".join(address.advertised for address in self.addresses.values())

    def start(self) -> None:
        """Start everything, and wait until each broker knows all."""
        for place, server in self.zookeepers.items():
            with self.network.inside(place):
                server.start()
        for server in self.zookeepers.values():
            server.wait()
        for broker_id in BROKERS:
            self._start(broker_id)
        if self.security is not None:
            self.security.set_up(self.addresses[1].listen)
        for address in self.addresses.values():
            until(partial(self._knows_all, address.listen), f"{address.listen} knows all brokers", START_S)

    def _knows_all(self, address: str) -> bool:
        found = self._ask_one(address, lambda cluster: cluster.metadata([]))
        return (
            found is not None and set(found.brokers) >= set(BROKERS) and found.controller_id in found.brokers
        )

    def admin(self, bootstrap: str, **options: Any) -> Cluster:
        """Return a client of an administrator."""
        if self.security is None:
            return Cluster(bootstrap, **options)
        return self.security.access(bootstrap, ADMIN).cluster(**options)

    @property
    def access(self) -> Access:
        """The access of the clients of the run."""
        if self.security is None:
            return Access(self.bootstrap)
        return self.security.access(self.bootstrap, CLIENT)

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] = TOPIC_CONFIGS) -> None:
        """Create a topic."""
        with self.admin(self.addresses[1].listen) as cluster:
            Admin(cluster).create_topic(name, partitions, self.copies, configs)

    def close(self) -> None:
        """Kill all processes; the files stay, but for those of disks of their own."""
        for broker in self.brokers.values():
            _kill(broker)
        for server in self.zookeepers.values():
            server.kill()
        self._undo.close()

    def stop_brokers(self) -> None:
        """Stop all brokers as SIGTERM does, at the same time."""
        self.wait_for_starts()
        threads = [threading.Thread(target=self.terminate, args=(one,)) for one in BROKERS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def keep_files(self) -> None:
        """Write what the brokers have logged into the folder, and what is on disks that go with the run."""
        for broker_id, broker in self.brokers.items():
            (self.folder / f"broker-{broker_id}.log").write_text(broker.log.text())
            if self.disks[broker_id].real:
                shutil.copytree(self.disks[broker_id].folder, self.folder / f"disk-{broker_id}")

    # -- what faults do

    def signal(self, broker_id: int, number: int) -> None:
        """Send a signal to a broker."""
        pid = self.brokers[broker_id].pid
        if pid is not None and self.brokers[broker_id].running:
            os.kill(pid, number)

    def terminate(self, broker_id: int) -> float:
        """Stop a broker as SIGTERM does; kill it if it does not stop. Return the seconds that it took."""
        broker, begun_s = self.brokers[broker_id], time.monotonic()
        pid = broker.pid
        try:
            broker.stop()
        except subprocess.TimeoutExpired:
            self.complaints.append(f"broker {broker_id} did not stop on SIGTERM")
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                time.sleep(0.5)
        return time.monotonic() - begun_s

    def twin(self, broker_id: int, data_dir: str) -> EmbeddedBroker:
        """Return a second process of a broker, which is not started, with another data directory."""
        address = f"{self.addresses[broker_id].listen.rpartition(':')[0]}:{free_port()}"
        return self._broker_at(broker_id, address, address, data_dir)

    def start_later(self, broker_id: int) -> None:
        """Start a broker in a thread, again and again until it runs; it is busy meanwhile."""
        self.busy.add(broker_id)
        thread = threading.Thread(target=self._start_until_it_runs, args=(broker_id,), daemon=True)
        self._starts = [one for one in self._starts if one.is_alive()] + [thread]
        thread.start()

    def wait_for_starts(self) -> None:
        """Wait until all brokers run that were to be started."""
        for thread in self._starts:
            thread.join()

    @contextmanager
    def hold(self, broker_id: int) -> Iterator[None]:
        """Keep other faults away from a broker."""
        self.busy.add(broker_id)
        try:
            yield
        finally:
            self.busy.discard(broker_id)

    # -- what the brokers know

    def leader(self, topic: str, partition: int) -> int:
        """Return the leader of a partition; -1 if there is none, or no broker answers."""
        found = self._ask(lambda cluster: self._partition(cluster.metadata([topic]), topic, partition))
        return -1 if found is None else found.leader

    def controller(self) -> int:
        """Return the controller; -1 if there is none, or no broker answers."""
        found = self._ask(lambda cluster: cluster.metadata([]).controller_id)
        return -1 if found is None else found

    def coordinator(self, group: str) -> int:
        """Return the coordinator of a group; -1 if there is none, or no broker answers."""
        found = self._ask(lambda cluster: Coordinators(cluster).coordinator(group).id)
        return -1 if found is None else found

    def sample(self) -> Sample:
        """Return what all brokers say of all partitions; nothing if one of them does not answer."""
        time_s, placements = time.monotonic(), []
        for broker_id, address in self.addresses.items():
            found = self._ask_one(address.listen, lambda cluster: cluster.metadata(None))
            if found is None:
                return Sample(time_s, [])
            for name, topic in found.topics.items():
                placements += [
                    Placement(
                        f"{name}-{number} (by broker {broker_id})",
                        partition.leader,
                        frozenset(partition.replicas),
                        frozenset(partition.isr),
                    )
                    for number, partition in topic.partitions.items()
                ]
        return Sample(time_s, placements)

    def ends(self, topic: str) -> dict[int, int]:
        """Return the high watermarks of a topic's partitions, by their leaders."""
        found: dict[int, int] = {}

        def ask() -> bool:
            with self.admin(self.addresses[1].advertised, timeout_s=ASK_S) as cluster:
                try:
                    partitions = cluster.partitions(topic)
                    offsets = cluster.offsets(topic, dict.fromkeys(partitions, -1))
                except KafkaTXError:
                    return False
                found.update({number: offset for number, (offset, *_) in offsets.items()})
                return True

        until(ask, f"the end offsets of {topic} are known")
        return found

    def _ask(self, question: Callable[[Cluster], T]) -> T | None:
        for broker_id, address in self.addresses.items():
            if broker_id in self.busy:
                continue
            found = self._ask_one(address.listen, question)
            if found is not None:
                return found
        return None

    def _ask_one(self, address: str, question: Callable[[Cluster], T]) -> T | None:
        try:
            with self.admin(address, timeout_s=ASK_S, connect_timeout_s=ASK_S, retries=0) as cluster:
                return question(cluster)
        except KafkaTXError:
            return None

    def _partition(self, found: ClusterMetadata, topic: str, partition: int) -> PartitionMetadata:
        partitions = found.topics[topic].partitions
        return partitions.get(partition) or PartitionMetadata(partition, -1)

    # -- parts

    def _servers(self, count: int) -> list[_Server]:
        hosts = {number: self.network.host(f"zk{number}") for number in range(1, count + 1)}
        peers = {f"server.{number}": f"{host}:{free_port()}:{free_port()}" for number, host in hosts.items()}
        settings = {**(peers if count > 1 else {}), "clientPortAddress": "0.0.0.0"}
        servers: list[_Server] = []
        for number in range(1, count + 1):
            port, tls_port = free_port(), free_port()
            more, heap_mb = {}, 64
            if self.security is not None:
                more, heap_mb = self.security.zookeeper_settings(f"zk{number}", tls_port), 128
            server = _Server(
                self.folder / f"zk{number}",
                port,
                tick_ms=500,
                heap_mb=heap_mb,
                settings={**settings, **more},
            )
            server.client_port = tls_port if more else port
            server.inside = partial(self.network.inside, f"zk{number}")
            (server.folder / "data").mkdir(parents=True)
            (server.folder / "data" / "myid").write_text(f"{number}\n")
            servers.append(server)
        return servers

    def _broker(self, broker_id: int) -> EmbeddedBroker:
        address, folder = self.addresses[broker_id], str(self.disks[broker_id].folder)
        broker = self._broker_at(broker_id, address.listen, address.advertised, folder)
        broker.log.keep_all()
        return broker

    def _broker_at(self, broker_id: int, listen: str, advertised: str, data_dir: str) -> EmbeddedBroker:
        listeners = {
            "listeners": f"PLAINTEXT://{listen}",
            "advertised.listeners": f"PLAINTEXT://{advertised}",
        }
        if self.security is not None:
            listeners = self.security.broker_settings(str(broker_id), listen, advertised)
        zookeeper = f"{self.addresses[broker_id].zookeeper}/kafka"
        own = {"broker.id": str(broker_id), "zookeeper.connect": zookeeper}
        return EmbeddedBroker({**self._settings, **listeners, **own}, data_dir=data_dir, run_in="process")

    def _start(self, broker_id: int) -> None:
        with self.network.inside(str(broker_id)):
            self.brokers[broker_id].start()

    def _start_until_it_runs(self, broker_id: int) -> None:
        end_s = time.monotonic() + STARTS_S
        while True:
            try:
                self._start(broker_id)
                break
            except BrokerDidNotStart as error:
                text = str(error).replace("\n", " | ")
                self.brokers[broker_id].log.append(f"== did not start: {text}")
                if time.monotonic() > end_s:
                    self.complaints.append(f"broker {broker_id} does not start: {text}")
                    break
                time.sleep(1)
        self.busy.discard(broker_id)


def _kill(broker: EmbeddedBroker) -> None:
    pid = broker.pid
    if pid is not None and broker.running:
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(pid, signal.SIGKILL)
    broker.kill()
