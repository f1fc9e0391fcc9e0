"""A leader dies under a client: topics with three copies, each record once. Starts processes, writes files.

A producer sends numbered records at a steady pace (acks=all, idempotent), two members of a group read and
commit. Amid that the broker is killed that leads most partitions, and comes back. In the end

* every record is acknowledged, and is in the topic once, in the order of its partition;
* the group has read each record, and its commits are the ends of the partitions;
* no client has reported an error or ended with one;
* ``kafkatx log dump`` of all replicas is the same up to the high watermark.

:mod:`tests.clients.leader_rows` has the clients, :mod:`tests.cluster.checker` the rules.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import TypeVar

import attrs

from kafkatx.blocking import Cluster
from kafkatx.blocking.coordinators import Coordinators
from kafkatx.errors import KafkaTXError
from kafkatx.testing import EmbeddedCluster
from kafkatx.testing.cluster import SESSION_MS as BROKER_SESSION_MS
from kafkatx.testing.errors import BrokerDidNotStart
from tests.clients.features import FAIL, NO_TOOLCHAIN, PARTITIONS, PASS, Result
from tests.clients.groups import committed
from tests.clients.leader_rows import Row
from tests.clients.members import Members
from tests.clients.scenario import new_name, until
from tests.clients.toolchains import ROOT, NoToolchain, prepare
from tests.cluster.checker.checker import Figures, Histories, check
from tests.cluster.checker.findings import Findings
from tests.cluster.checker.history import ProducerHistory, ReaderHistory, value_of
from tests.cluster.replica_files import compare

BROKERS = 3
COUNT, RATE = 2500, 100.0
AWAY_S = 15.0
"""Longer than a broker's session and 5 s, so that a gap above these is not ended by the broker's return."""
SESSION_MS = 10_000
LONG_S = 300.0
PRIMING = 60
STARTS = 4
LOCAL, ZOOKEEPER = "local", "zookeeper"
TREES = {
    LOCAL: "the local tree, which notices the end of a broker's process at once",
    ZOOKEEPER: f"ZooKeeper, which notices it by the end of its session, {BROKER_SESSION_MS / 1000:g} s",
}
"""Where the brokers keep the cluster's state, and when a dead broker is noticed there."""
T = TypeVar("T")

SETTINGS = {
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 4,
    "num.partitions": PARTITIONS,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.session.timeout.ms": 30_000,
    "group.consumer.heartbeat.interval.ms": 1000,
}


@attrs.define
class Death:
    """The outcome of a run: the version of the client, what was counted or what is wrong; logs of brokers.

    :ivar gap_s: the longest time between two acknowledgements of the same partition after the kill.
    :ivar took_s: the time that the whole run took, with the starts of brokers and clients.
    """

    version: str = ""
    result: Result = attrs.field(factory=lambda: Result(FAIL, "it did not begin"))
    gap_s: float = 0.0
    took_s: float = 0.0
    log: str = ""


def try_row(row: Row, count: int = COUNT, away_s: float = AWAY_S, zookeeper: str | None = None) -> Death:
    """Run the scenario with a cluster of its own; whatever goes wrong is in the result.

    :param count: how many records are sent, 100 in a second.
    :param away_s: how long the broker is away.
    :param zookeeper: ``host:port/chroot`` that keeps the cluster's state; None for a local tree.
    """
    death, begun_s = Death(), time.monotonic()
    try:
        for toolchain in row.toolchains:
            prepare(toolchain)
        folder = Path(tempfile.mkdtemp(prefix="kafkatx-leader-"))
        cluster = EmbeddedCluster(
            BROKERS, SETTINGS, data_dir=str(folder), run_in="process", zookeeper=zookeeper
        )
        for broker in cluster.brokers.values():
            broker.log.keep_all()
        try:
            start_surely(cluster.start)
            death.result = Result(PASS, Scenario(row, cluster, folder, count, away_s, death).run())
        finally:
            cluster.close()
            death.log = "".join(f"== broker {n}\n{b.log.text()}" for n, b in cluster.brokers.items())
            shutil.rmtree(folder, ignore_errors=True)
    except NoToolchain as missing:
        death.result = Result(NO_TOOLCHAIN, str(missing))
    except Exception as error:  # one row of the table, and the others go on
        death.result = Result(FAIL, f"{type(error).__name__}: {error}")
    death.took_s = time.monotonic() - begun_s
    return death


def start_surely(start: Callable[[], T]) -> T:
    """Start brokers, and try it again if a machine that has much else to do was too slow."""
    for _ in range(STARTS - 1):
        with suppress(BrokerDidNotStart):
            return start()
    return start()


class Sending:
    """The producer's process; a thread reads what it prints into a history.

    :ivar gap_s: the longest time between two acknowledgements of the same partition, of which the later one
        came after :meth:`count_gaps`.
    """

    def __init__(self, command: Sequence[str], history: ProducerHistory, noise: Path) -> None:
        self.acknowledged = 0
        self.gap_s = 0.0
        self._last_s: dict[int, float] = {}
        self._gaps_count = False
        self.failed: list[str] = []
        self.version = ""
        self._history = history
        self._noise = noise
        with open(noise, "w") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue  # something that a library has printed
            self.version = said.get("version", self.version)
            if "acknowledged" in said:
                self._acknowledge(*said["acknowledged"])
            if "failed" in said:
                self.failed.append(str(said["failed"]))

    def count_gaps(self) -> None:
        """Count gaps from now on: before, the producer has started, which takes a JVM some time."""
        self._gaps_count = True

    def _acknowledge(self, number: int, partition: int, offset: int) -> None:
        now_s = time.monotonic()
        if self._gaps_count:
            self.gap_s = max(self.gap_s, now_s - self._last_s.get(partition, now_s))
        self._last_s[partition] = now_s
        self._history.acknowledged(number, partition, offset)
        self.acknowledged += 1

    def reached(self, count: int) -> bool:
        """Return True if so many are acknowledged.

        :raises AssertionError: the process has ended before.
        """
        if self.acknowledged < count and self._process.poll() is not None:
            raise AssertionError(f"the producer has ended: {self.noise()}")
        return self.acknowledged >= count

    def end(self) -> None:
        """Wait until the process has ended.

        :raises AssertionError: it did not, or with an error.
        """
        try:
            status = self._process.wait(LONG_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the producer does not end: {self}") from None
        self._reader.join(LONG_S)
        if status or self.failed:
            raise AssertionError(f"the producer ended with {status}: {self}")

    def kill(self) -> None:
        """Kill what is left of it."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(LONG_S)

    def noise(self) -> str:
        """The last of what it wrote to standard error."""
        return self._noise.read_text(errors="replace")[-2000:]

    def __str__(self) -> str:
        return (
            f"{self.acknowledged} acknowledged, {len(self.failed)} failed: {self.failed[:3]} {self.noise()}"
        )


class Scenario:
    """One run of a row.

    :param folder: where brokers have their logs, each in a folder of its number.
    """

    def __init__(
        self, row: Row, cluster: EmbeddedCluster, folder: Path, count: int, away_s: float, death: Death
    ) -> None:
        self._row, self._cluster, self._folder, self._death = row, cluster, folder, death
        self._count, self._away_s = count, away_s
        self._group = new_name("group")
        self._topic = cluster.topic(
            "numbered", partitions=PARTITIONS, replication=BROKERS, configs={"min.insync.replicas": 2}
        )
        self._primed, self._sent = StringIO(), StringIO()

    def run(self) -> str:
        """Return the figures.

        :raises AssertionError: something is not as it has to be.
        """
        bootstrap = self._cluster.bootstrap
        until("all replicas are in sync", self._whole, LONG_S)
        self._prime()
        reader = [*self._row.reader(), "member", bootstrap, self._group, self._topic]
        with Members(reader, LONG_S) as members:
            for _ in range(self._row.members):
                members.join(str(SESSION_MS))
            members.wait("the members share all partitions", members.settled, LONG_S)
            sending = self._produce()
            try:
                until("a third is acknowledged", lambda: sending.reached(self._count // 3), LONG_S)
                victim, what = self._victim()
                sending.count_gaps()
                self._cluster.brokers[victim].kill()
                time.sleep(self._away_s)
                start_surely(lambda: self._cluster.start_broker(victim))
                sending.end()
                self._death.gap_s = sending.gap_s
            finally:
                sending.kill()
            self._death.version = sending.version if self._row.grouped else members.present[0].version
            until("all replicas are in sync again", self._whole, LONG_S)
            ends = self._ends()
            if self._row.grouped:
                members.wait("the group has read all", lambda: members.have_read(ends), LONG_S)
            for member in list(members.present):
                members.leave(member)
            read = Counter(place for member in members.gone for place in member.read)
            noise = "".join(line for member in members.gone for line in member.noise)
            copied = Counter(name for member in members.gone for name in member.copied)
        self._check_read(read, ends, noise)
        self._check_copied(copied)
        figures, batches = self._check_topic(ends)
        again = sum(read.values()) - len(read)
        also = f" ({sum(copied.values()) - len(copied)} of them in its copy again)" if copied else ""
        return (
            f"{figures.sent - PRIMING} sent, {figures.acknowledged - PRIMING} acknowledged, "
            f"{figures.in_log - PRIMING} in the topic{also}, {len(read) - PRIMING} read, {again} again; "
            f"killed {what}; {batches} batches the same in {BROKERS} replicas"
        )

    # -- parts of a run

    def _prime(self) -> None:
        """Write some records to each partition, for readers that begin when there is something."""
        history = self._history(self._primed, "primer", PRIMING)
        for partition in range(PARTITIONS):
            numbers = range(partition, PRIMING, PARTITIONS)
            values = [value_of("primer", number) for number in numbers]
            self._cluster.produce(self._topic, *values, partition=partition)
            for number in numbers:
                history.acknowledged(number, partition, -1)

    def _produce(self) -> Sending:
        history = self._history(self._sent, "client", self._count)
        command = [*self._row.producer(), "produce", self._cluster.bootstrap, self._topic]
        return Sending([*command, str(self._count), str(RATE)], history, self._folder / "producer.log")

    def _history(self, out: StringIO, name: str, count: int) -> ProducerHistory:
        history = ProducerHistory(
            out, time.monotonic, name, self._topic, "all", idempotent=True, ordered=True
        )
        for number in range(count):
            history.sent(number, number % PARTITIONS)
        return history

    def _victim(self) -> tuple[int, str]:
        """Return the broker that leads most partitions, of two the one that is the group's coordinator."""
        with Cluster(self._cluster.bootstrap) as cluster:
            metadata = cluster.metadata([self._topic])
            coordinator = Coordinators(cluster).coordinator(self._group).id if self._row.grouped else -1
        led = Counter(one.leader for one in metadata.topics[self._topic].partitions.values())
        victim = max(led, key=lambda broker: (led[broker], broker == coordinator))
        also = ", the group's coordinator" if victim == coordinator else ""
        return victim, f"the leader of {led[victim]} of {PARTITIONS} partitions{also}"

    # -- what there is in the end

    def _whole(self) -> bool:
        try:
            with Cluster(self._cluster.bootstrap) as cluster:
                partitions = cluster.metadata([self._topic]).topics[self._topic].partitions
        except (KafkaTXError, KeyError):
            return False
        return len(partitions) == PARTITIONS and all(len(one.isr) == BROKERS for one in partitions.values())

    def _ends(self) -> dict[int, int]:
        with Cluster(self._cluster.bootstrap) as cluster:
            told = cluster.offsets(self._topic, dict.fromkeys(range(PARTITIONS), -1))
        return {number: offset for number, (offset, *_) in told.items()}

    def _check_read(self, read: Counter[tuple[int, int]], ends: dict[int, int], noise: str) -> None:
        expected = {(partition, offset) for partition, end in ends.items() for offset in range(end)}
        if read.keys() != expected:
            raise AssertionError(
                f"{len(expected - read.keys())} were not read, {len(read.keys() - expected)} are not there: "
                f"{noise}"
            )
        if not self._row.grouped:
            again = [place for place, times in read.items() if times > 1]
            if again:
                raise AssertionError(f"{len(again)} are in the files again: {sorted(again)[:5]}")
            return
        until(
            "commits are the ends",
            lambda: committed(self._cluster.bootstrap, self._group, self._topic) == ends,
        )

    def _check_copied(self, copied: Counter[str]) -> None:
        if copied:
            sent = {f"primer:{number}" for number in range(PRIMING)}
            sent |= {f"client:{number}" for number in range(self._count)}
            if copied.keys() != sent:
                raise AssertionError(f"the copy lacks {len(sent - copied.keys())} records")

    def _check_topic(self, ends: dict[int, int]) -> tuple[Figures, int]:
        """Read the topic, stop the brokers, compare their files; return figures, and how many batches."""
        final = StringIO()
        history = ReaderHistory(final, time.monotonic, "final", self._topic)
        for message in self._cluster.messages(self._topic, sum(ends.values()), timeout_s=LONG_S):
            history.read(message.partition, [(message.offset, message.value)])
        self._cluster.stop()
        findings = Findings()
        lines = [out.getvalue().splitlines(keepends=True) for out in (self._primed, self._sent, final)]
        figures, contents = check(Histories(lines[:2], lines[2:]), findings)
        folders = {number: self._folder / str(number) for number in self._cluster.brokers}
        names = [f"{self._topic}-{number}" for number in range(PARTITIONS)]
        missing = [f"{one}/{name}" for one in folders.values() for name in names if not (one / name).is_dir()]
        if missing:
            raise AssertionError(f"there are no replicas {missing}")
        batches = compare(folders, self._topic, ends, contents, findings)
        if findings.kept:
            raise AssertionError("; ".join(map(str, findings.kept[:5])) + f" {dict(findings.counts)}")
        if figures.acknowledged != figures.sent or figures.in_log != figures.sent:
            raise AssertionError(
                f"{figures.sent} sent, {figures.acknowledged} acknowledged, {figures.in_log} in the log"
            )
        return figures, batches
