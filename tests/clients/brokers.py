"""The brokers that scenarios are run against: ours, and Apache Kafka's as a control."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from kafkatx.blocking import Cluster
from kafkatx.errors import KafkaTXError
from kafkatx.testing import EmbeddedBroker
from kafkatx.types import BrokerNode
from tests.clients.features import PARTITIONS
from tests.clients.toolchains import BUILT, java
from tests.ports import free_port

START_S = 120.0
"""Apache Kafka may need it on a machine that has other things to do."""
CONSUMER_SESSION_S = 6.0
"""The session time-out that brokers give to members of the consumer protocol (KIP-848)."""

SETTINGS = {
    "num.partitions": str(PARTITIONS),
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": f"{CONSUMER_SESSION_S * 1000:.0f}",
    "group.consumer.heartbeat.interval.ms": "500",
    "offsets.topic.replication.factor": "1",
}

COPIES = 3
COPIED = {
    "default.replication.factor": str(COPIES),
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": str(COPIES),
}
"""Settings of a cluster that can have so many copies of each topic."""

_APACHE = {
    **SETTINGS,
    "process.roles": "broker,controller",
    "node.id": "0",
    "controller.listener.names": "CONTROLLER",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "5",
    "log.initial.task.delay.ms": "100",
}
_CLUSTER_ID = "a2Fma2F0eC1jbGllbnRzIQ"
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


class Broker(Protocol):
    """The interface between the runner and a broker."""

    @property
    def bootstrap(self) -> str:
        """The address for clients."""

    def start(self) -> object:
        """Start it, or start it again with the data and the address that it had."""

    def stop(self) -> None:
        """Stop it as SIGTERM does."""

    def kill(self) -> None:
        """Kill it as ``kill -9`` does."""

    def close(self) -> None:
        """Kill it and remove its data."""

    def output(self) -> str:
        """The last of what it logged."""


def offered(bootstrap: str) -> set[int]:
    """The keys of the APIs that a broker offers, by ApiVersions v0."""
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), START_S) as connection:
        connection.sendall(_API_VERSIONS)
        stream = connection.makefile("rb")
        (size,) = struct.unpack(">i", stream.read(4))
        body = stream.read(size)
    _correlation_id, error, count = struct.unpack_from(">ihi", body)
    if error:
        raise AssertionError(f"ApiVersions v0 was answered with error {error}")
    return {struct.unpack_from(">hhh", body, 10 + 6 * number)[0] for number in range(count)}


class OurBroker(EmbeddedBroker):
    """A kafkatx process on a port that it keeps."""

    def __init__(self, settings: Mapping[str, str] = SETTINGS) -> None:
        self._folder = tempfile.mkdtemp(prefix="kafkatx-clients-")
        settings = {**settings, "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
        super().__init__(settings, data_dir=self._folder, run_in="process")

    def close(self) -> None:
        """Kill it and remove its data: a clean stop would flush hundreds of partitions for nothing."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class OurCluster:
    """``kafkatx up --brokers N``: clients are told the bootstrap port, which all brokers share.

    The brokers are stopped, killed and started again all together.
    """

    def __init__(self, brokers: int, settings: Mapping[str, str] = SETTINGS) -> None:
        self._folder = tempfile.mkdtemp(prefix="kafkatx-clients-")
        self._log = os.path.join(self._folder, "kafkatx.log")
        self._process: subprocess.Popen[bytes] | None = None
        port = free_port()
        settings = {**settings, **(COPIED if brokers >= COPIES else {})}
        self._count = brokers
        self._bootstrap = f"127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "kafkatx", "up", "--brokers", str(brokers)]
        self._command += ["--port", str(port), "--data", os.path.join(self._folder, "data")]
        for name, value in settings.items():
            self._command += ["--set", f"{name}={value}"]

    @property
    def bootstrap(self) -> str:
        """The address of all brokers."""
        return self._bootstrap

    def start(self) -> None:
        """Start all brokers, or start them again, and wait until each of them knows all."""
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + START_S
        while time.monotonic() < end and self._process.poll() is None:
            if self._is_ready():
                return
            time.sleep(0.1)
        raise AssertionError(f"the cluster did not start:\n{self.output()}")

    def _is_ready(self) -> bool:
        try:
            with Cluster(self._bootstrap) as cluster:
                nodes = cluster.brokers().values()
            return len(nodes) == self._count and all(self._knows_all(node) for node in nodes)
        except KafkaTXError:
            return False

    def _knows_all(self, node: BrokerNode) -> bool:
        with Cluster(f"{node.host}:{node.port}") as cluster:
            return len(cluster.brokers()) == self._count

    def stop(self) -> None:
        """Stop the supervisor as SIGTERM does; it stops the brokers."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(START_S)

    def kill(self) -> None:
        """Kill the supervisor and all brokers as ``kill -9`` does."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGSTOP)  # else it would start those again that are killed
        for pid in children(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait(START_S)

    def close(self) -> None:
        """Kill all brokers and remove their data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def output(self) -> str:
        """The last of what they have logged."""
        with open(self._log, errors="replace") as file:
            return "".join(file.readlines()[-50:])


def children(pid: int) -> list[int]:
    """The processes that a process has started and that run."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


class ApacheBroker:
    """A broker of Apache Kafka in KRaft mode, of one of the versions that are also clients here."""

    def __init__(
        self,
        version: str,
        settings: Mapping[str, str] = MappingProxyType({}),
        protocol: str = "PLAINTEXT",
        controller: ApacheBroker | None = None,
    ) -> None:
        """Lay out its folder.

        :param settings: over those of the matrix.
        :param protocol: the security protocol of the listener for clients.
        :param controller: the first broker of the cluster, of which this is the second one.
        """
        self._jars = os.path.join(BUILT, f"java-{version}")
        self._folder = tempfile.mkdtemp(prefix="kafkatx-control-")
        self._config = os.path.join(self._folder, "server.properties")
        self._log = os.path.join(self._folder, "kafka.log")
        self._process: subprocess.Popen[bytes] | None = None
        broker = free_port()
        self.bootstrap = f"127.0.0.1:{broker}"
        self._voters: str = f"0@127.0.0.1:{free_port()}" if controller is None else controller._voters
        listener = f"{protocol}://127.0.0.1:{broker}"
        of_controller = self._voters.replace("0@", ",CONTROLLER://") if controller is None else ""
        addresses = {
            "listeners": listener + of_controller,
            "advertised.listeners": listener,
            "controller.quorum.voters": self._voters,
            "log.dirs": os.path.join(self._folder, "data"),
        }
        if controller is not None:
            addresses |= {"node.id": "1", "process.roles": "broker"}
        with open(self._config, "w") as file:
            lines = {**_APACHE, **settings, **addresses}
            file.writelines(f"{name}={value}\n" for name, value in lines.items())
        self._run("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", self._config)

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            java(self._jars, *command), capture_output=True, text=True, timeout=START_S, check=False
        )
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)

    def start(self) -> None:
        """Start it and wait until it answers."""
        with open(self._log, "ab") as log:
            command = java(self._jars, "kafka.Kafka", self._config)
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + START_S
        while time.monotonic() < end and self._process.poll() is None:
            try:
                offered(self.bootstrap)
                return
            except (OSError, struct.error):
                time.sleep(0.1)
        raise AssertionError(f"Apache Kafka did not start:\n{self.output()}")

    def stop(self) -> None:
        """Stop it as SIGTERM does."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it as ``kill -9`` does."""
        self._signal(signal.SIGKILL)

    @property
    def running(self) -> bool:
        """Return True if it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The id of its process, once started; 0 before."""
        return 0 if self._process is None else self._process.pid

    def _signal(self, number: int) -> None:
        if self._process is not None and self.running:
            self._process.send_signal(number)
            self._process.wait(START_S)

    def close(self) -> None:
        """Kill it and remove its data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def output(self) -> str:
        """The last of what it logged."""
        with open(self._log, errors="replace") as file:
            return "".join(file.readlines()[-50:])
