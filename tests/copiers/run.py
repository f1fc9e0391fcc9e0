"""A run: copiers of all clients, a feeder and a reader; kills; and the checks of the end."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Sequence

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.topics import Admin
from kafkatx.testing import BrokerDidNotStart
from tests.clients.toolchains import prepare
from tests.copiers import checks
from tests.copiers.brokers import Brokers
from tests.copiers.checks import Place, Seen
from tests.copiers.copied import Copied
from tests.copiers.feeder import Feeder
from tests.copiers.open_transactions import left_open
from tests.copiers.processes import Copier
from tests.copiers.programs.loop import TRANSACTION_MS, Job
from tests.copiers.readers import Watcher, read_all
from tests.copiers.rows import Row

PARTITIONS = 3
NTH = 5
KILL_S = 100.0
"""The mean time between two kills of the same copier."""

BROKER_KILL_S = 45.0
"""The mean time between two kills of a broker."""

DOWN_S = 5.0
"""The mean time for which a broker is away."""

UP_S = 15.0
"""The time for which all brokers run at least before the next one is killed."""

STARTS = 4
DRAIN_S = 300.0
TELL_S = 30.0
SUCCESSORS_S = 20.0
"""The time in which a copier starts, takes over the partitions of those that were killed, and reads."""

_LINES = 60


class Run:
    """A run.

    :param members: copiers of a group, as far as its client can have several.
    :param tell: prints a line.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        brokers: Brokers,
        minutes: float,
        rate: float,
        members: int,
        seed: int,
        tell: Callable[[str], None],
    ) -> None:
        self._rows = rows
        self._brokers = brokers
        self._seconds = minutes * 60
        self._rate = rate
        self._members = members
        self._random = random.Random(seed)
        self._tell = tell
        self._faults: list[str] = []
        self._down: list[threading.Thread] = []

    def run(self) -> bool:
        """Run it all; return True if nothing is wrong. The data stay if something is.

        :raises AssertionError: a broker did not come back, or copiers have not read everything.
        """
        for row in self._rows:
            prepare(row.toolchain)
        good = False
        all_copied: list[Copied] = []
        try:
            self._brokers.start()
            all_copied = [self._copied(row) for row in self._rows]
            self._create([topic for one in all_copied for topic in (one.source, one.target)])
            good = self._with_copiers(all_copied)
        finally:
            for one in all_copied:
                for copier in one.copiers:
                    copier.end()
            self._brokers.close(keep=not good)
            if not good:
                self._tell(f"the data are kept in {self._brokers.folder}")
        return good

    def _copied(self, row: Row) -> Copied:
        made = Copied(row, [])
        for number in range(min(row.members, self._members)):
            name = f"{row.name}-{number}"
            job = Job(self._brokers.bootstrap, made.source, made.target, row.name, name, NTH)
            log = os.path.join(self._brokers.folder, f"{name}.log")
            made.copiers.append(Copier(name, row.command(job), log, not row.verbatim, self._tell))
        return made

    def _create(self, topics: list[str]) -> None:
        with Cluster(self._brokers.bootstrap) as cluster:
            for topic in topics:
                Admin(cluster).create_topic(topic, PARTITIONS, self._brokers.copies)

    def _with_copiers(self, all_copied: list[Copied]) -> bool:
        bootstrap, sources = self._brokers.bootstrap, [one.source for one in all_copied]
        targets = [one.target for one in all_copied]
        feeder = Feeder(bootstrap, sources, PARTITIONS, self._rate, self._tell)
        watcher = Watcher(bootstrap, [*sources, *targets], PARTITIONS)
        copiers = [copier for one in all_copied for copier in one.copiers]
        watcher.start()
        feeder.start()
        for copier in copiers:
            copier.start()
        self._disturb(copiers, watcher, targets)
        feeder.stop()
        self._tell(f"the input ends; brokers were killed {self._brokers.killed} times")
        self._drain(all_copied, watcher)
        for copier in copiers:  # whose successors have nothing to do, unless offsets were lost
            copier.kill()
        time.sleep(SUCCESSORS_S)
        stopping = [threading.Thread(target=copier.stop) for copier in copiers]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        self._faults += left_open(self._brokers.bootstrap, 2 * TRANSACTION_MS / 1000)
        self._check(all_copied, feeder, watcher)
        watcher.stop()
        for one in all_copied:
            self._tell(str(one))
        for line in self._faults[:_LINES]:
            self._tell(f"WRONG: {line}")
        if self._faults:
            self._tell(f"{len(self._faults)} faults")
        return not self._faults

    # -- kills

    def _disturb(self, copiers: Sequence[Copier], watcher: Watcher, targets: list[str]) -> None:
        begun_s = time.monotonic()
        end_s = begun_s + self._seconds
        broker_s = begun_s + self._random.expovariate(1 / BROKER_KILL_S)
        copier_s = begun_s + self._random.expovariate(len(copiers) / KILL_S)
        told_s = begun_s
        while (now_s := time.monotonic()) < end_s:
            if now_s >= copier_s:
                self._random.choice(copiers).kill()
                copier_s = now_s + self._random.expovariate(len(copiers) / KILL_S)
            if any(thread.is_alive() for thread in self._down):
                broker_s = max(broker_s, now_s + UP_S)
            elif now_s >= broker_s:
                self._kill_broker()
                broker_s = now_s + self._random.expovariate(1 / BROKER_KILL_S)
            if now_s >= told_s:
                told_s = now_s + TELL_S
                seen = ", ".join(f"{watcher.count(topic)} {topic}" for topic in targets)
                self._tell(
                    f"copied: {seen}; killed: brokers {self._brokers.killed}, copiers"
                    f" {sum(copier.killed for copier in copiers)}"
                )
            time.sleep(0.05)
        for thread in self._down:
            thread.join()

    def _kill_broker(self) -> None:
        number = self._random.randrange(self._brokers.count)
        down_s = self._random.expovariate(1 / DOWN_S)

        def kill() -> None:
            self._brokers.kill(number)
            time.sleep(down_s)
            begun_s = time.monotonic()
            for attempt in range(STARTS):  # a busy machine may take longer than the test kit waits
                try:
                    self._brokers.revive(number)
                except BrokerDidNotStart as error:
                    if attempt == STARTS - 1:
                        self._faults.append(f"broker {number} did not start: {error}")
                else:
                    break
            took_s = time.monotonic() - begun_s
            self._tell(f"broker {number} was away for {down_s:.1f} s, and started in {took_s:.1f} s")

        self._down = [threading.Thread(target=kill, name="killer")]
        self._down[0].start()

    # -- the end

    def _drain(self, all_copied: list[Copied], watcher: Watcher) -> None:
        """Wait until everything is copied; what is not after a while is a fault, which the checks tell."""
        begun_s = time.monotonic()

        def behind() -> dict[str, int]:
            counts = {
                one.row.name: watcher.count(one.source) - watcher.count(one.target) for one in all_copied
            }
            return {name: count for name, count in counts.items() if count > 0}

        time.sleep(2.0)  # the watcher has the last of the input
        told_s = begun_s
        while (left := behind()) and (now_s := time.monotonic()) - begun_s < DRAIN_S:
            if now_s - told_s > TELL_S:
                told_s = now_s
                self._tell(f"not copied yet: {left}")
            time.sleep(0.2)
        if left:
            self._faults.append(f"not copied in {DRAIN_S:.0f} s, records: {left}")
        self._tell(f"copied everything {time.monotonic() - begun_s:.1f} s later")

    def _check(self, all_copied: list[Copied], feeder: Feeder, watcher: Watcher) -> None:
        final: dict[Place, list[Seen]] = {}
        with Cluster(self._brokers.bootstrap) as cluster:
            for place in watcher.seen:
                final[place] = read_all(cluster, place)
        self._catch_up(watcher, final)
        for place, records in final.items():
            self._faults += checks.same(watcher.seen[place], records, f"{place[0]}-{place[1]}")
        sources = {place: seen for place, seen in final.items() if place[0].startswith("in.")}
        self._faults += checks.torn(sources) + checks.missing(feeder.committed, sources)
        for one in all_copied:
            self._faults += one.check(final)

    def _catch_up(self, watcher: Watcher, final: dict[Place, list[Seen]]) -> None:
        end_s = time.monotonic() + DRAIN_S
        while time.monotonic() < end_s:
            if all(len(watcher.seen[place]) >= len(records) for place, records in final.items()):
                return
            time.sleep(0.2)
