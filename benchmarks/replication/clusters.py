"""Three brokers of a system on this machine, as one thing that is loaded and measured."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.broker_process import free_port
from benchmarks.compare.process import Cpu, Server
from benchmarks.compare.systems.apache import CLUSTER_ID, JVM, SETTINGS, Apache
from benchmarks.compare.systems.system import START_S, log_path, serves_kafka
from kafkatx.blocking import Admin, Cluster
from kafkatx.errors import KafkaTXError

BROKERS = 3
COPIES, LEAST_IN_SYNC = 3, 2
LAG_MS = 10_000
POLL_S = 0.2


class Copies:
    """A running cluster; a context manager that ends it.

    :param pids: returns the process of each broker by its id.
    :ivar port: port of one of its brokers.
    """

    def __init__(self, servers: Sequence[Server], port: int, pids: Callable[[], Mapping[int, int]]) -> None:
        self._servers = servers
        self._pids = pids
        self.port = port

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.stop()

    def cpu(self) -> Cpu:
        """CPU seconds of all brokers so far."""
        found = [server.cpu() for server in self._servers]
        return Cpu(sum(one.user_s for one in found), sum(one.system_s for one in found))

    def create_topic(self, topic: str, partitions: int) -> None:
        """Make a topic with three copies, and wait until all of them are in sync."""
        with Cluster(f"127.0.0.1:{self.port}") as cluster:
            configs = {"min.insync.replicas": str(LEAST_IN_SYNC)}
            Admin(cluster).create_topic(topic, partitions, COPIES, configs)
        self.wait_in_sync(topic)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        with Cluster(f"127.0.0.1:{self.port}") as cluster:
            Admin(cluster).delete_topic(topic)

    def wait_in_sync(self, topic: str, most_s: float = 300.0) -> None:
        """Wait until all replicas of a topic are in sync.

        :raises RuntimeError: they are not after some time.
        """
        until(lambda: self._in_sync(topic), most_s, f"the replicas of {topic} are not in sync")

    def _in_sync(self, topic: str) -> bool:
        with Cluster(f"127.0.0.1:{self.port}") as cluster:
            partitions = cluster.metadata([topic]).topics[topic].partitions.values()
            return bool(partitions) and all(len(one.isr) == COPIES for one in partitions)

    def freeze_follower(self, topic: str) -> int:
        """Stop a broker that does not lead partition 0 of a topic, nor serves :attr:`port`.

        :return: its process.
        """
        with Cluster(f"127.0.0.1:{self.port}") as cluster:
            found = cluster.metadata([topic])
            leader = found.topics[topic].partitions[0].leader
            pids = self._pids()
            follower = max(
                broker
                for broker, node in found.brokers.items()
                if broker != leader and broker in pids and node.port != self.port
            )
        os.kill(pids[follower], signal.SIGSTOP)
        return pids[follower]


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


def start_kafkatx(folder: str) -> Copies:
    """Start ``kafkatx up --brokers 3`` with its defaults."""
    port = free_port()
    command = [sys.executable, "-m", "kafkatx", "up", "--brokers", str(BROKERS), "--port", str(port)]
    command += ["--data", os.path.join(folder, "data"), "--set", f"replica.lag.time.max.ms={LAG_MS}"]
    server = Server(command, log_path(folder), None, {"PYTHONDONTWRITEBYTECODE": ""})
    server.wait_for(serves_kafka(port), START_S)
    until(lambda: _count(port) == BROKERS, START_S, "the brokers do not know each other")
    return Copies([server], port, lambda: _kafkatx_pids(port))


def _count(port: int) -> int:
    with Cluster(f"127.0.0.1:{port}") as cluster:
        return len(cluster.brokers())


def _kafkatx_pids(port: int) -> dict[int, int]:
    """Return the process that listens at the port of each broker."""
    with Cluster(f"127.0.0.1:{port}") as cluster:
        ports = {broker: node.port for broker, node in cluster.brokers().items()}
    printed = subprocess.run(["ss", "-ltnpH"], check=True, capture_output=True, text=True).stdout
    found = {}
    for broker, own in ports.items():
        line = next(line for line in printed.splitlines() if f":{own} " in line)
        found[broker] = int(line.split("pid=")[1].split(",")[0])
    return found


def start_apache(folder: str) -> Copies:
    """Start three Apache Kafka 4 processes, each broker and controller, with its distributed settings."""
    system = Apache("kafka-4", "4")
    ports = [free_port() for _ in range(BROKERS)]
    controllers = [free_port() for _ in range(BROKERS)]
    voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(controllers, 1))
    servers = []
    processes = {}
    for number, (port, controller) in enumerate(zip(ports, controllers, strict=True), 1):
        own = os.path.join(folder, str(number))
        os.mkdir(own)
        path = os.path.join(own, "server.properties")
        changed = {
            "node.id": str(number),
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.quorum.voters": voters,
            "log.dirs": os.path.join(own, "data"),
            "replica.lag.time.max.ms": str(LAG_MS),
        }
        with open(path, "w") as file:
            file.writelines(f"{name}={value}\n" for name, value in {**SETTINGS, **changed}.items())
        form = system.command("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", path)
        subprocess.run(form, check=True, capture_output=True)
        server = Server(system.command("kafka.Kafka", path, options=JVM), log_path(own), None, {})
        servers.append(server)
        processes[number] = server.pid
    for server, port in zip(servers, ports, strict=True):
        server.wait_for(serves_kafka(port), START_S)
    until(lambda: _count(ports[0]) == BROKERS, START_S, "the brokers do not know each other")
    return Copies(servers, ports[0], lambda: processes)


SYSTEMS: Mapping[str, Callable[[str], Copies]] = {"kafkatx": start_kafkatx, "kafka-4": start_apache}
