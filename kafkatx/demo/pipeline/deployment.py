"""The deployment: its programs, in the order in which they start, each told to the one who looks on.

::

    front ends ──▶ dc1: 2 brokers, ZooKeeper ──▶ mirror ──▶ dc2: 2 brokers ──▶ ingestion ──▶ warehouse
                     └─▶ services (a group over ZooKeeper)      └─▶ reader
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import attrs

from kafkatx.blocking import Admin, Cluster
from kafkatx.demo.pipeline.owners import wait_for_owners
from kafkatx.demo.pipeline.programs import START_S, Program
from kafkatx.demo.pipeline.servers.frontend import NUMBER, SERVER
from kafkatx.demo.pipeline.servers.service import READY
from kafkatx.testing.messages import wait_for_brokers

WINDOW_MS = 5000
"""Windows of the audit: short, so that the demonstration ends soon after its last event."""
COMMIT_EVERY_S = 1.0
BROKERS = (1, 2)
PARTITIONS, REPLICAS = 4, 2
FRONT_ENDS = ("front-1", "front-2")
SERVICES = ("newsfeed-1", "newsfeed-2")
GROUP = "newsfeed"
READER = "reader"
TABLE = "warehouse"
SESSION_MS = 30_000

_READY = r"kafkatx .* is ready: clients connect to (\S+),"
_MIRROR = """\
sources=dc1
source.dc1.bootstrap.servers={dc1}
target.alias=dc2
target.bootstrap.servers={dc2}
topics={topics}
rename={{topic}}
refresh.interval.ms=1000
audit.interval.ms={window_ms}
"""
_DROP = """\
filter=regex
kafkatx.plugin.regex.header.{server_header}=^{server}$
kafkatx.plugin.regex.header.{number_header}=^{number}$
kafkatx.plugin.regex.invert=true
"""


@attrs.frozen
class Dropped:
    """The message that the mirror's filter drops: its number at a front end."""

    server: str
    number: int


class Deployment:
    """Everything that runs; a context manager, which stops all of it, the front ends first.

    :param folder: of data, logs and settings.
    :param tell: called with the name of each part, a sentence about it, and a hint where to look at it.
    :ivar dc1: ``host:port`` of the live data centre's brokers.
    :ivar dc2: of the data centre for offline analysis.
    """

    def __init__(
        self,
        folder: Path,
        topics: Sequence[str],
        tell: Callable[[str, str, str], None],
        *,
        dropped: Dropped | None = None,
        window_ms: int = WINDOW_MS,
        master: str = "local[2]",
        commit_every_s: float = COMMIT_EVERY_S,
    ) -> None:
        self.folder = folder
        self.topics = topics
        self.dc1 = self.dc2 = self.zookeeper = ""
        self.front_ends: list[Program] = []
        self.services: list[Program] = []
        self.tell = tell
        self._dropped = dropped
        self._window_ms = window_ms
        self._master = master
        self._commit_every_s = commit_every_s
        self._programs = ExitStack()
        self._running: list[Program] = []

    @property
    def table(self) -> str:
        """The directory of the warehouse's table."""
        return str(self.folder / TABLE)

    def start(self) -> None:
        """Start all programs, and wait until all are ready.

        :raises KafkaTXError: one of them is not.
        """
        self._start_clusters()
        self._start_mirror()
        ingestion = self._start_ingestion()
        self._start_services()
        ingestion.wait_for(r"Spark (\S+) started")
        self._start_front_ends()

    def check(self) -> None:
        """See whether all programs run.

        :raises ProgramFailed: one has ended.
        """
        for program in self._running:
            program.check()

    def stop_readers(self) -> None:
        """Stop what reads in dc1 and dc2; their last lines tell what they have read."""
        for service in self.services:
            service.stop()

    def close(self) -> None:
        """Stop all programs."""
        self._programs.close()

    def __enter__(self) -> Deployment:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _start_clusters(self) -> None:
        port = _free_port()
        servers = ["--port", str(port), "--data", "zookeeper"]
        zookeeper = self._program("zookeeper", "kafkatx.testing.zookeeper", servers)
        audit = ["--set", f"kafkatx.audit.interval.ms={self._window_ms}", "--set", "kafkatx.audit.place="]
        offline = ["up", "--brokers", "2", "--port", "0", "--data", "dc2", *audit[:-1], audit[-1] + "dc2"]
        dc2 = self._kafkatx("dc2", offline)
        zookeeper.wait_for("listens on")
        self.zookeeper = f"127.0.0.1:{port}/dc1"
        self.tell("zookeeper", f"keeps the state of dc1: {self.zookeeper}", "")
        live = ["up", "--zookeeper", self.zookeeper, "--port", "0", *audit[:-1], audit[-1] + "dc1"]
        brokers = [
            self._kafkatx(f"dc1-{one}", [*live, "--data", f"dc1/{one}", "--set", f"broker.id={one}"])
            for one in BROKERS
        ]
        addresses = [broker.wait_for(_READY) for broker in brokers]
        for address in addresses:
            wait_for_brokers(address, BROKERS, START_S)
        self.dc1 = ",".join(addresses)
        with Cluster(self.dc1) as cluster:
            for topic in self.topics:
                Admin(cluster).create_topic(topic, PARTITIONS, REPLICAS)
        self.tell(
            "dc1", f"2 brokers of the live data centre: {self.dc1}", f"kafkatx cluster status -b {self.dc1}"
        )
        self.dc2 = dc2.wait_for(_READY)
        self.tell("dc2", f"2 brokers for offline analysis: {self.dc2}", f"kafkatx topics list -b {self.dc2}")

    def _start_mirror(self) -> None:
        path = self.folder / "mirror.properties"
        path.write_text(mirror_settings(self.dc1, self.dc2, self.topics, self._window_ms, self._dropped))
        mirror = self._kafkatx("mirror", ["mirror", "run", "--config", path.name])
        for topic in self.topics:
            mirror.wait_for(f"created {topic}, ")
        told = "copies dc1 to dc2"
        if self._dropped is not None:
            told += f", but for message {self._dropped.number} of {self._dropped.server}, on purpose"
        self.tell("mirror", told, f"less {path}")

    def _start_ingestion(self) -> Program:
        topics = [part for topic in self.topics for part in ("-t", topic)]
        table = ["--to", TABLE, "--partition-by", "topic,date,hour", "--follow"]
        often = ["--commit-every", str(self._commit_every_s), "--audit-interval-ms", str(self._window_ms)]
        arguments = ["ingest", "-b", self.dc2, *topics, *table, *often, "--master", self._master]
        self.tell("ingestion", f"loads dc2 with PySpark into {self.table}", f"find {self.table}")
        return self._kafkatx("ingestion", arguments)

    def _start_services(self) -> None:
        groups = {"kafkatx.balancer": "zookeeper", "zookeeper.connect": self.zookeeper, "group.id": GROUP}
        audited = {"audit.interval.ms": self._window_ms, "zookeeper.session.timeout.ms": SESSION_MS}
        for name in SERVICES:
            self._reader(name, {**groups, **audited, "client.id": name, "audit.server": name})
        self._reader(READER, {"bootstrap.servers": self.dc2, "group.id": READER})
        for service in self.services:
            service.wait_for(READY)
        owners = wait_for_owners(self.zookeeper, GROUP, self.topics, PARTITIONS, len(SERVICES), START_S)
        shares = " and ".join(str(len(places)) for places in owners.values())
        self.tell(
            "services",
            f"{' and '.join(SERVICES)} own {shares} partitions of dc1, as ZooKeeper has their group {GROUP}",
            f"less {self.folder / SERVICES[0]}.log",
        )

    def _start_front_ends(self) -> None:
        for name in FRONT_ENDS:
            arguments = ["--bootstrap", self.dc1, "--name", name, "--window-ms", str(self._window_ms)]
            program = Program(
                self.folder, name, "kafkatx.demo.pipeline.servers.frontend", arguments, reads=True
            )
            self._programs.callback(program.stop)
            self.front_ends.append(program)
        self.tell(
            "front ends",
            f"{' and '.join(FRONT_ENDS)} produce into dc1",
            f"kafkatx consume {self.topics[0]} -b {self.dc2} -f '%h %s\\n'",
        )

    def _reader(self, name: str, settings: dict[str, object]) -> None:
        sets = [part for setting, value in settings.items() for part in ("--set", f"{setting}={value}")]
        arguments = ["--topics", ",".join(self.topics), *sets]
        self.services.append(self._program(name, "kafkatx.demo.pipeline.servers.service", arguments))

    def _kafkatx(self, name: str, arguments: Sequence[str]) -> Program:
        return self._program(name, "kafkatx", arguments)

    def _program(self, name: str, module: str, arguments: Sequence[str]) -> Program:
        program = Program(self.folder, name, module, arguments)
        self._programs.callback(program.stop)
        self._running.append(program)
        return program


def mirror_settings(
    dc1: str, dc2: str, topics: Sequence[str], window_ms: int, dropped: Dropped | None
) -> str:
    """Return the settings file of the mirror, with a filter that drops one message, or none."""
    text = _MIRROR.format(dc1=dc1, dc2=dc2, topics=",".join(topics), window_ms=window_ms)
    if dropped is None:
        return text
    return text + _DROP.format(
        server_header=SERVER, server=dropped.server, number_header=NUMBER, number=dropped.number
    )


def _free_port() -> int:
    """Return a port that was free a moment ago; ZooKeeper takes no 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
