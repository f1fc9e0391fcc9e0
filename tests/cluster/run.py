"""A run: a cluster, clients, faults one after the other until the time is over, and the checks."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from tests.cluster.checker.checker import Figures, check
from tests.cluster.checker.findings import Findings
from tests.cluster.checker.wholeness import MOST_S, Sample, check_whole
from tests.cluster.copies import COPIES
from tests.cluster.faults import ALL as ALL_FAULTS
from tests.cluster.faults import DISKS, Fault, Victims, choose
from tests.cluster.network.places import Network
from tests.cluster.operations import OPERATIONS
from tests.cluster.replica_files import check_files, compare
from tests.cluster.restoration import RESTORATIONS
from tests.cluster.revocation import SECURE
from tests.cluster.system import BROKERS, System
from tests.cluster.workload import PARTITIONS, RATE, Workload

PROGRESS_S = 10.0
CALM_S = (0.0, 1.0, 5.0, 15.0)
"""Times between two faults: in some of them a cluster becomes whole again, in others not."""


@attrs.define
class Outcome:
    """The result of a run.

    :ivar complaints: faults that are no findings of the checker.
    :ivar whole_s: how long after the last fault all replicas were in sync; None: not in time.
    """

    findings: Findings
    complaints: list[str]
    faults: Counter[str]
    figures: Figures
    batches: int
    whole_s: float | None
    tracebacks: Counter[str]

    @property
    def clean(self) -> bool:
        """True if nothing was found."""
        return not self.findings.kept and not self.complaints and not self.tracebacks


class Run:
    """One run; its files are in a new folder.

    :param say: takes lines for people.
    :param faults: kinds of faults with weights; None: all that can be done here.
    :param alone: True for one fault at a time.
    :param rate: records per second of each producer.
    :param secure: True for TLS and logins everywhere.
    """

    def __init__(
        self,
        network: Network,
        seconds: float,
        seed: int,
        say: Callable[[str], None],
        *,
        zookeepers: int = 3,
        copies: int = 3,
        faults: Sequence[tuple[Fault, int]] | None = None,
        alone: bool = False,
        rate: float = RATE,
        secure: bool = False,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kafkatx-faults-"))
        self._seconds, self._say, self._seed, self._rate = seconds, say, seed, rate
        self._chance, self._alone = random.Random(seed), alone
        self._system = System(self.folder, network, zookeepers=zookeepers, copies=copies, secure=secure)
        self._counted: Counter[str] = Counter()
        self._doing = "starting"
        self._begun_s = time.monotonic()
        self._workload: Workload | None = None
        self._over = threading.Event()
        real = all(disk.real for disk in self._system.disks.values())
        self._faults = faults or [
            *(*ALL_FAULTS, *OPERATIONS, *COPIES, *RESTORATIONS),
            *(DISKS if real else ()),
            *(SECURE if secure else ()),
        ]

    def run(self) -> Outcome:
        """Do everything, and return what was found; the folder is removed if that is nothing."""
        progress = threading.Thread(target=self._progress, daemon=True)
        progress.start()
        outcome: Outcome | None = None
        try:
            outcome = self._run()
        finally:
            self._over.set()
            if outcome is None or not outcome.clean:
                self._system.keep_files()
                self._say(f"logs and histories are in {self.folder}")
            self._system.close()
        if outcome.clean:
            shutil.rmtree(self.folder, ignore_errors=True)
        return outcome

    def _run(self) -> Outcome:
        system = self._system
        system.start()
        for topic, partitions in PARTITIONS.items():
            system.topic(topic, partitions)
        workload = self._workload = Workload(self.folder, system.access, self._seed, self._rate)
        workload.start()
        self._harm(Victims(system, list(PARTITIONS.items()), workload.groups, self._chance))
        findings = Findings()
        self._doing = "waiting for all replicas to be in sync"
        whole_s = check_whole(*self._heal(), findings)
        self._doing = "waiting for producers"
        workload.stop_producers()
        self._doing = "waiting for readers"
        ends = {topic: system.ends(topic) for topic in PARTITIONS}
        complaints = workload.wait_for_reads(ends)
        self._doing = "stopping readers"
        complaints += workload.stop()
        self._doing = "reading everything"
        complaints += workload.read_final(ends)
        self._doing = "stopping brokers"
        system.stop_brokers()
        self._doing = "checking"
        figures, contents = check(workload.histories(), findings)
        folders = {broker_id: system.disks[broker_id].folder for broker_id in BROKERS}
        batches = sum(compare(folders, topic, ends[topic], contents, findings) for topic in ends)
        check_files(folders, findings)
        return Outcome(
            findings,
            system.complaints + complaints,
            self._counted,
            figures,
            batches,
            whole_s,
            self._tracebacks(),
        )

    def _harm(self, victims: Victims) -> None:
        end_s = time.monotonic() + self._seconds
        self._pause(min(5.0, self._seconds / 10))
        while time.monotonic() < end_s:
            fault, name = choose(self._chance, self._faults, alone=self._alone)
            self._doing = f"begins {name}"
            with fault(victims) as begun:
                self._counted[name] += 1
                self._doing = begun.text
                self._say(f"{self._now()}  {begun.text}")
                self._pause(min(begun.hold_s, max(end_s - time.monotonic(), 1.0)))
            self._doing = "no fault"
            self._pause(self._chance.choice(CALM_S))

    def _heal(self) -> tuple[float, list[Sample]]:
        """Wait until all partitions are whole; return the time of the last fault's end, and samples."""
        self._system.wait_for_starts()
        healed_s = time.monotonic()
        samples: list[Sample] = []
        while time.monotonic() < healed_s + MOST_S + 5:
            samples = [*samples[-50:], self._system.sample()]
            placements = samples[-1].placements
            if placements and all(placement.whole for placement in placements):
                break
            time.sleep(0.5)
        return healed_s, samples

    def _tracebacks(self) -> Counter[str]:
        """Return the last lines of the tracebacks in the brokers' logs, with their numbers."""
        found: Counter[str] = Counter()
        for broker in self._system.brokers.values():
            inside = False
            for line in broker.log.text().splitlines():
                if "Traceback" in line:
                    inside = True
                elif inside and line and not line[0].isspace():
                    found[line[:200]] += 1
                    inside = False
        return found

    def _pause(self, seconds: float) -> None:
        self._over.wait(seconds)

    def _now(self) -> str:
        return f"{time.monotonic() - self._begun_s:6.0f} s"

    def _progress(self) -> None:
        while not self._over.wait(PROGRESS_S):
            sent = acknowledged = read = 0
            if self._workload is not None:
                sent = sum(producer.sent for producer in self._workload.producers)
                acknowledged = sum(producer.acknowledged for producer in self._workload.producers)
                read = sum(sum(reader.positions.values()) for reader in self._workload.readers)
            self._say(
                f"{self._now()}  {sent} sent, {acknowledged} acknowledged, {read} read, "
                f"{sum(self._counted.values())} faults; {self._doing[:150]}"
            )


def report(outcome: Outcome, clients: dict[str, dict[str, int]]) -> list[str]:
    """Return the lines of a report."""
    figures = outcome.figures
    lines = [
        f"records: {figures.sent} sent, {figures.acknowledged} acknowledged, {figures.failed} failed for "
        f"certain, {figures.in_log} in the log; {figures.read} reads, {figures.commits} commits",
        f"faults: {sum(outcome.faults.values())}: "
        + ", ".join(f"{name} {count}" for name, count in sorted(outcome.faults.items())),
        "longest time without an acknowledgement of acks=all, in seconds: "
        + ", ".join(f"{name} {gap}" for name, gap in figures.gaps_s.items()),
        f"acks=1: {figures.lost_of_one} acknowledged records lost; without idempotence: "
        f"{figures.repeated} repeated",
        f"replicas: {outcome.batches} batches compared; in sync "
        + ("not in time" if outcome.whole_s is None else f"{outcome.whole_s:.1f} s after the last fault"),
    ]
    for name, errors in clients.items():
        if errors:
            lines.append(f"errors of {name}: " + "; ".join(f"{n} x {text}" for text, n in errors.items()))
    for text, count in outcome.tracebacks.items():
        lines.append(f"TRACEBACK {count} x {text}")
    lines += [f"COMPLAINT {text}" for text in outcome.complaints]
    lines += [f"FINDING {finding}" for finding in outcome.findings.kept]
    counts = ", ".join(f"{kind.name} {count}" for kind, count in outcome.findings.counts.items())
    lines.append(f"findings: {counts or 'none'}")
    return lines


def clients_errors(run: Run) -> dict[str, dict[str, int]]:
    """Return the errors that each client has met."""
    workload = run._workload
    return {} if workload is None else {client.name: client.errors for client in workload.clients}


def is_root() -> bool:
    """Return True if this process may make network namespaces and mount disks."""
    return os.geteuid() == 0
