"""Apache Kafka in KRaft mode, with the heap and the JVM options of its own start script."""

from __future__ import annotations

import glob
import os
import subprocess
import time
from collections.abc import Mapping, Sequence

from benchmarks.broker_process import free_port
from benchmarks.compare.loads import librdkafka
from benchmarks.compare.process import Server
from benchmarks.compare.systems import java, kafka_topics
from benchmarks.compare.systems.system import START_S, System, log_path, serves_kafka
from kafkatx.errors import KafkaTXError
from tests.clients.toolchains import BUILT, NoToolchain, prepare

# bin/kafka-server-start.sh and bin/kafka-run-class.sh
JVM = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)
# config/server.properties (3.9: config/kraft/...), as distributed, but for addresses and folders
SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "num.network.threads": "3",
    "num.io.threads": "8",
    "socket.send.buffer.bytes": "102400",
    "socket.receive.buffer.bytes": "102400",
    "socket.request.max.bytes": "104857600",
    "num.partitions": "1",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.retention.hours": "168",
    "log.segment.bytes": "1073741824",
    "log.retention.check.interval.ms": "300000",
}
NOTICED_S = 0.5
"""So soon after going on it knows whether it was away for too long."""

CLUSTER_ID = "a2Fma2F0eC1iZW5jaG1hcmtz"[:22]


class Apache(System):
    """A release of Apache Kafka, from Maven.

    :param release: ``4`` or ``3.9``: the newest of these that the clients' matrix names.
    :param more: settings on top of those, whose listeners are further ones.
    """

    kafka = True

    def __init__(self, name: str, release: str, more: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._more = dict(more or {})
        self._toolchain = f"java-{release}"
        self.jars = os.path.join(BUILT, self._toolchain)

    def missing(self) -> str | None:
        """Fetch the jars."""
        try:
            prepare(self._toolchain)
        except (NoToolchain, AssertionError) as error:
            return str(error).splitlines()[0]
        return None

    def version(self) -> str:
        """Kafka's version, and Java's."""
        names = [os.path.basename(path) for path in glob.glob(os.path.join(self.jars, "kafka-clients-*.jar"))]
        return f"{names[0][len('kafka-clients-') : -len('.jar')]} (Java {java.version()})"

    def settings(self) -> str:
        """Return the description of its start script and configuration file."""
        return "KRaft; -Xmx1G -Xms1G and G1 as in kafka-server-start.sh; server.properties as distributed"

    def command(self, main_class: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
        """A command line that runs one of Kafka's classes."""
        return ["java", *options, "-cp", f"{self.jars}/*", main_class, *arguments]

    def start(self, folder: str, port: int, core: int | None) -> Server:
        """Implement System."""
        path = os.path.join(folder, "server.properties")
        controller = free_port()
        listeners = [f"PLAINTEXT://127.0.0.1:{port}", *filter(None, [self._more.get("listeners")])]
        addresses = {
            **self._more,
            "listeners": ",".join([*listeners, f"CONTROLLER://127.0.0.1:{controller}"]),
            "advertised.listeners": ",".join(listeners),
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "log.dirs": os.path.join(folder, "data"),
        }
        with open(path, "w") as file:
            file.writelines(f"{name}={value}\n" for name, value in {**SETTINGS, **addresses}.items())
        format_it = self.command("kafka.tools.StorageTool", "format", "-g", "-t", CLUSTER_ID, "-c", path)
        subprocess.run(format_it, check=True, capture_output=True)
        command = self.command("kafka.Kafka", path, options=JVM)
        server = Server(command, log_path(folder), core, {})
        server.wait_for(serves_kafka(port), START_S)
        return server

    def wake(self, port: int) -> None:
        """Its controller may have missed the broker's heartbeats, and takes it back with the next one."""
        time.sleep(NOTICED_S)
        topic, end_s = f"wake-{time.monotonic_ns()}", time.monotonic() + START_S
        while True:
            try:
                kafka_topics.create_topic(port, topic, 1)
                break
            except KafkaTXError:
                if time.monotonic() > end_s:
                    raise
                time.sleep(NOTICED_S)
        kafka_topics.delete_topic(port, topic)

    def create_topic(self, port: int, topic: str, partitions: int) -> None:
        """Implement System."""
        kafka_topics.create_topic(port, topic, partitions)

    def delete_topic(self, port: int, topic: str) -> None:
        """Implement System."""
        kafka_topics.delete_topic(port, topic)

    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """Implement System."""
        return librdkafka.command(port, arguments, properties)
