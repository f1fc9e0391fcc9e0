"""Three brokers of a system on this machine, as one thing that is loaded, disturbed and measured.

It starts processes, sends them signals, and asks them for metadata. What is measured is ``cells``' business.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.broker_process import free_port
from benchmarks.compare.process import Cpu, Server
from benchmarks.compare.systems.apache import CLUSTER_ID, JVM, SETTINGS, Apache
from benchmarks.compare.systems.system import log_path, serves_kafka
from kafkatx.blocking import Admin, Cluster
from kafkatx.errors import KafkaTXError
from kafkatx.testing.zookeeper import ZooKeeperServer

BROKERS = 3
COPIES, LEAST_IN_SYNC = 3, 2
LAG_MS = 10_000
SESSION_MS = 9000
"""Apache Kafka's ``broker.session.timeout.ms``, and here also that of ZooKeeper's sessions."""
START_S = 180.0
POLL_S = 0.2
IN_SYNC_S = 90.0
AWAY_S = 60.0


class Copies:
    """A running cluster; a context manager that ends it.

    :param ports: the port of each broker by its id.
    :param pids: returns the process of each broker by its id.
    :param end: ends all of it.
    :param revive: starts a broker that has ended; by default it is started again by itself.
    :ivar ports: as given.
    """

    def __init__(
        self,
        servers: list[Server],
        ports: Mapping[int, int],
        pids: Callable[[], Mapping[int, int]],
        end: Callable[[], None],
        revive: Callable[[int], None] = lambda broker: None,
    ) -> None:
        self.ports = ports
        self._servers = servers
        self._pids = pids
        self._end = end
        self._revive = revive

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def bootstrap(self, without: int | None = None) -> str:
        """Return the brokers' addresses, but for that of one that does not answer."""
        return ",".join(f"127.0.0.1:{port}" for broker, port in self.ports.items() if broker != without)

    def cpu(self) -> Cpu:
        """CPU seconds of all brokers so far."""
        found = [server.cpu() for server in self._servers]
        return Cpu(sum(one.user_s for one in found), sum(one.system_s for one in found))

    def create_topic(self, topic: str, partitions: int) -> None:
        """Make a topic with three copies, and wait until all of them are in sync."""
        with Cluster(self.bootstrap()) as cluster:
            configs = {"min.insync.replicas": str(LEAST_IN_SYNC), "file.delete.delay.ms": "1000"}
            Admin(cluster).create_topic(topic, partitions, COPIES, configs)
        self.wait_in_sync(topic)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        with Cluster(self.bootstrap()) as cluster:
            Admin(cluster).delete_topic(topic)

    def wait_in_sync(self, topic: str, without: int | None = None) -> None:
        """Wait until all replicas of a topic are in sync.

        :param without: a broker that is not asked: one that was frozen may tell what was true before.
        :raises RuntimeError: they are not after some time.
        """
        until(
            lambda: min(self._in_sync(topic, without)) == COPIES,
            IN_SYNC_S,
            f"the replicas of {topic} are not in sync",
        )

    def wait_out_of_sync(self, topic: str, broker: int) -> None:
        """Wait until a replica is missing, while *broker* does not answer.

        :raises RuntimeError: none is after some time.
        """
        until(
            lambda: min(self._in_sync(topic, broker)) < COPIES,
            AWAY_S,
            f"the replicas of {topic} are still in sync",
        )

    def _in_sync(self, topic: str, without: int | None = None) -> list[int]:
        """Return the number of in-sync replicas of each partition."""
        with Cluster(self.bootstrap(without), timeout_s=5.0) as cluster:
            partitions = cluster.metadata([topic]).topics[topic].partitions.values()
            return [len(one.isr) for one in partitions] or [0]

    def leader(self, topic: str) -> int:
        """Return the leader of partition 0."""
        with Cluster(self.bootstrap()) as cluster:
            return cluster.metadata([topic]).topics[topic].partitions[0].leader

    def signal(self, broker: int, number: signal.Signals) -> None:
        """Send a signal to the process of a broker."""
        os.kill(self._pids()[broker], number)

    def freeze(self, broker: int) -> Callable[[], None]:
        """Stop the process of a broker; return what lets it go on."""
        pid = self._pids()[broker]
        os.kill(pid, signal.SIGSTOP)
        return lambda: os.kill(pid, signal.SIGCONT)

    def revive(self, broker: int) -> None:
        """Start a broker that has been told to end, unless it is started again by itself."""
        self._revive(broker)


def until(done: Callable[[], bool], most_s: float, complaint: str) -> None:
    """Wait until something is done; a broker that does not answer counts as not.

    :raises RuntimeError: it is not done after some time.
    """
    end_s = time.monotonic() + most_s
    while True:
        try:
            if done():
                return
        except KafkaTXError:
            pass
        if time.monotonic() > end_s:
            raise RuntimeError(f"after {most_s:.0f} s {complaint}")
        time.sleep(POLL_S)


def _nodes(port: int) -> dict[int, int]:
    """Return the port of each broker."""
    with Cluster(f"127.0.0.1:{port}") as cluster:
        return {broker: node.port for broker, node in cluster.brokers().items()}


def _wait_for_all(port: int) -> None:
    until(lambda: len(_nodes(port)) == BROKERS, START_S, "the brokers do not know each other")


def start_kafkatx(folder: str) -> Copies:
    """Start ``kafkatx up --brokers 3`` with its defaults; it keeps the cluster's state itself."""
    port = free_port()
    command = [sys.executable, "-m", "kafkatx", "up", "--brokers", str(BROKERS), "--port", str(port)]
    command += ["--data", os.path.join(folder, "data"), "--set", f"replica.lag.time.max.ms={LAG_MS}"]
    server = Server(command, log_path(folder), None, {"PYTHONDONTWRITEBYTECODE": ""})
    try:
        server.wait_for(serves_kafka(port), START_S)
        _wait_for_all(port)
        ports = _nodes(port)
    except BaseException:
        server.stop()
        raise
    return Copies([server], ports, lambda: _listeners(ports), server.stop)


def _listeners(ports: Mapping[int, int]) -> dict[int, int]:
    """Return the process that listens at the port of each broker; a broker that is gone has none."""
    printed = subprocess.run(["ss", "-ltnpH"], check=True, capture_output=True, text=True).stdout
    found = {}
    for broker, own in ports.items():
        for line in printed.splitlines():
            if f":{own} " in line and "pid=" in line:
                found[broker] = int(line.split("pid=")[1].split(",")[0])
    return found


def start_with_zookeeper(folder: str) -> Copies:
    """Start three kafkatx brokers whose cluster's state is in a ZooKeeper, as on machines of their own."""
    zookeeper = ZooKeeperServer(Path(folder) / "zookeeper", free_port())
    servers: dict[int, Server] = {}
    ports = {number: free_port() for number in range(1, BROKERS + 1)}

    def start(number: int) -> None:
        own = os.path.join(folder, str(number))
        os.makedirs(own, exist_ok=True)
        settings = {
            "broker.id": number,
            "replica.lag.time.max.ms": LAG_MS,
            "zookeeper.session.timeout.ms": SESSION_MS,
        }
        command = [sys.executable, "-m", "kafkatx", "up", "--port", str(ports[number])]
        command += ["--data", os.path.join(own, "data"), "--zookeeper", f"127.0.0.1:{zookeeper.port}"]
        command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        servers[number] = Server(command, log_path(own), None, {"PYTHONDONTWRITEBYTECODE": ""})

    def end() -> None:
        for server in servers.values():
            server.stop()
        zookeeper.kill()

    def begin() -> None:
        zookeeper.start()
        zookeeper.wait()

    return _started(start, end, servers, ports, begin)


def start_apache(folder: str) -> Copies:
    """Start three Apache Kafka 4 processes, each broker and controller, with its distributed settings."""
    system = Apache("kafka-4", "4")
    servers: dict[int, Server] = {}
    ports, controllers = (
        {number: free_port() for number in range(1, BROKERS + 1)} for _ in ("brokers", "controllers")
    )
    voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in controllers.items())

    def start(number: int) -> None:
        own = os.path.join(folder, str(number))
        path = os.path.join(own, "server.properties")
        if not os.path.exists(own):
            os.mkdir(own)
            changed = {
                "node.id": str(number),
                "listeners": f"PLAINTEXT://127.0.0.1:{ports[number]},CONTROLLER://127.0.0.1:{controllers[number]}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{ports[number]}",
                "controller.quorum.voters": voters,
                "log.dirs": os.path.join(own, "data"),
                "replica.lag.time.max.ms": str(LAG_MS),
                "broker.session.timeout.ms": str(SESSION_MS),
            }
            with open(path, "w") as file:
                file.writelines(f"{name}={value}\n" for name, value in {**SETTINGS, **changed}.items())
            form = system.command("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", path)
            subprocess.run(form, check=True, capture_output=True)
        servers[number] = Server(
            system.command("kafka.Kafka", path, options=JVM), log_path(own), None, {"LOG_DIR": own}
        )

    def end() -> None:
        # The last of three that stop in order waits for a controller; the data are thrown away anyway.
        for server in servers.values():
            server.kill()
        for server in servers.values():
            server.stop()

    return _started(start, end, servers, ports)


def _started(
    start: Callable[[int], None],
    end: Callable[[], None],
    servers: Mapping[int, Server],
    ports: Mapping[int, int],
    first: Callable[[], None] = lambda: None,
) -> Copies:
    """Start the brokers of a system whose brokers are started each by its own, and wait for them.

    :param first: starts what they need.
    """

    def revive(number: int) -> None:
        servers[number].stop()
        start(number)
        servers[number].wait_for(serves_kafka(ports[number]), START_S)
        running[:] = servers.values()

    try:
        first()
        for number in ports:
            start(number)
        for number, port in ports.items():
            servers[number].wait_for(serves_kafka(port), START_S)
        for port in ports.values():
            _wait_for_all(port)
    except BaseException:
        end()
        raise
    running = list(servers.values())
    return Copies(
        running, ports, lambda: {broker: server.pid for broker, server in servers.items()}, end, revive
    )


ALL: Mapping[str, Callable[[str], Copies]] = {
    "kafkatx": start_kafkatx,
    "kafka-4": start_apache,
    "kafkatx-zookeeper": start_with_zookeeper,
}
