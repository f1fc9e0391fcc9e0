"""One run: copiers of all clients, a feeder and a reader; kills; and what must be so at the end."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import attrs

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.topics import Admin
from kafkatx.blocking.admin.transactions import Transactions
from kafkatx.clientcore.list_offsets import LATEST
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from tests.clients.toolchains import prepare
from tests.copiers import checks
from tests.copiers.brokers import Brokers
from tests.copiers.checks import Count, Place, Seen
from tests.copiers.feeder import Feeder
from tests.copiers.processes import Copier
from tests.copiers.programs.loop import TRANSACTION_MS, Job
from tests.copiers.readers import Watcher, read_all
from tests.copiers.rows import Row

PARTITIONS = 3
NTH = 5
KILL_S = 40.0
"""The mean time between two kills of the same copier."""

BROKER_KILL_S = 45.0
"""The mean time between two kills of a broker."""

DOWN_S = 5.0
"""The mean time for which a broker is away."""

DRAIN_S = 300.0
_LINES = 60


@attrs.define
class Copied:
    """The copiers of one client, and what was counted of them."""

    row: Row
    copiers: list[Copier]
    count: Count = attrs.field(factory=Count)
    given: int = 0
    found: int = 0
    committed: int = 0
    torn: int = 0

    @property
    def source(self) -> str:
        """The topic that is copied."""
        return f"in.{self.row.name}"

    @property
    def target(self) -> str:
        """The topic with the copies."""
        return f"out.{self.row.name}"

    def __str__(self) -> str:
        ended: Counter[str] = sum((copier.ended for copier in self.copiers), Counter())
        reasons: Counter[str] = sum((copier.reasons for copier in self.copiers), Counter())
        parts = [f"{self.given} records in, {self.found} out", str(self.count)]
        if not self.row.verbatim:
            parts.append(f"{self.torn} transactions torn, or aborted and seen")
            parts.append(f"{self.committed} committed, {ended['abort']} aborted on purpose")
            parts.append(f"{ended['error']} aborted for errors {dict(reasons) or ''}")
        parts.append(f"{len(self.copiers)} members, killed {sum(one.killed for one in self.copiers)} times")
        parts.append(f"{sum(one.gave_up for one in self.copiers)} gave up")
        return f"{self.row.name}: {'; '.join(parts)}"


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
                    copier.kill()
            self._brokers.close(keep=not good)
            if not good:
                self._tell(f"the data are kept in {self._brokers.folder}")
        return good

    def _copied(self, row: Row) -> Copied:
        made = Copied(row, [])
        for number in range(min(row.members, self._members)):
            name = f"{row.name}-{number}"
            job = Job(self._brokers.bootstrap, made.source, made.target, row.name, name, NTH)
            made.copiers.append(Copier(name, row.command(job), not row.verbatim, self._tell))
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
        stopping = [threading.Thread(target=copier.stop) for copier in copiers]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        self._check_ended()
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
            if now_s >= broker_s and not any(thread.is_alive() for thread in self._down):
                self._kill_broker()
                broker_s = now_s + self._random.expovariate(1 / BROKER_KILL_S)
            if now_s >= told_s:
                told_s = now_s + 30.0
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
            try:
                self._brokers.revive(number)
            except Exception as error:  # told at the end
                self._faults.append(f"broker {number} did not start: {error}")

        self._down = [threading.Thread(target=kill, name="killer")]
        self._down[0].start()

    # -- the end

    def _drain(self, all_copied: list[Copied], watcher: Watcher) -> None:
        """Wait until everything is copied; what is not after a while is a fault, which the checks tell."""
        begun_s = time.monotonic()

        def behind() -> dict[str, int]:
            counts = {
                one.row.name: self._inputs(watcher, one) - watcher.count(one.target) for one in all_copied
            }
            return {name: count for name, count in counts.items() if count > 0}

        time.sleep(2.0)  # the watcher has the last of the input
        while (left := behind()) and time.monotonic() - begun_s < DRAIN_S:
            time.sleep(0.2)
        if left:
            self._faults.append(f"not copied in {DRAIN_S:.0f} s, records: {left}")
        self._tell(f"copied everything {time.monotonic() - begun_s:.1f} s later")

    def _inputs(self, watcher: Watcher, one: Copied) -> int:
        return watcher.count(one.source)

    def _check_ended(self) -> None:
        """Check that no transaction is open: not for its coordinator, nor in a partition."""
        end_s = time.monotonic() + 2 * TRANSACTION_MS / 1000
        while True:
            try:
                left = self._left_open()
            except KafkaTXError as error:
                left = [str(error)]
            if not left or time.monotonic() > end_s:
                break
            time.sleep(0.5)
        self._faults += left

    def _left_open(self) -> list[str]:
        with Cluster(self._brokers.bootstrap) as cluster:
            tools = Transactions(cluster)
            listed = [
                one for one in tools.listings() if one.state in ("Ongoing", "PrepareCommit", "PrepareAbort")
            ]
            topics = {
                topic.name: len(topic.partitions) for topic in Admin(cluster).list_topics(internal=True)
            }
            places = [TopicPartition(name, p) for name, count in topics.items() for p in range(count)]
            opened = tools.open(places)
            unstable = []
            for name, count in topics.items():
                ends = dict.fromkeys(range(count), LATEST)
                high, stable = (cluster.offsets(name, ends, level) for level in (0, 1))
                unstable += [
                    f"{name}-{p}: last stable {stable[p][0]}, end {high[p][0]}"
                    for p in ends
                    if high[p] != stable[p]
                ]
        return [f"left open: {one}" for one in (*listed, *opened, *unstable)]

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
            self._check_one(one, final)

    def _catch_up(self, watcher: Watcher, final: dict[Place, list[Seen]]) -> None:
        end_s = time.monotonic() + DRAIN_S
        while time.monotonic() < end_s:
            if all(len(watcher.seen[place]) >= len(records) for place, records in final.items()):
                return
            time.sleep(0.2)

    def _check_one(self, one: Copied, final: dict[Place, list[Seen]]) -> None:
        targets = {place: seen for place, seen in final.items() if place[0] == one.target}
        for (topic, partition), seen in targets.items():
            given = final[one.source, partition]
            one.given, one.found = one.given + len(given), one.found + len(seen)
            checks.copied(given, seen, f"{topic}-{partition}", one.count, self._faults)
        if not one.row.verbatim:
            wrong = checks.torn(targets)
            one.torn, one.committed = len(wrong), len(checks.transactions(targets))
            self._faults += wrong
