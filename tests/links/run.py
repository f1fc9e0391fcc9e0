"""One run: load at the source, kills of both ends, the comparison, and the promotion."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import attrs
from confluent_kafka import Producer

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.mirrors import Mirrors
from kafkatx.clientcore.admin.mirror_status import MirrorStatus
from kafkatx.errors import KafkaTXError
from tests.links import checks, load
from tests.links.ends import LINK, Ends
from tests.links.load import DEADLINE_S, PARTITIONS, Member, Sender, create, kinds

GROUPS = {"billing": 2, "search": 1}
SETTLE_S = 600.0
GROUP_COPY_S = 60.0


@attrs.define
class Taken:
    """The offsets that a group has read, in order, by topic and partition."""

    offsets: dict[tuple[str, int], list[int]] = attrs.field(factory=dict)
    lock: threading.Lock = attrs.field(factory=threading.Lock)

    def take(self, topic: str, partition: int, offset: int, value: bytes) -> None:
        """Note a record."""
        with self.lock:
            self.offsets.setdefault((topic, partition), []).append(offset)


class Run:
    """A run.

    :param tell: prints a line.
    """

    def __init__(
        self, source: str, records: int, minutes: float, kills: int, seed: int, tell: Callable[[str], None]
    ) -> None:
        self._ends = Ends(source)
        self._records = records
        self._seconds = minutes * 60
        self._kills = kills
        self._random = random.Random(seed)
        self._tell = tell
        self._kinds = kinds(source != "kafkatx")
        self._begun_s = time.monotonic()

    def run(self) -> None:
        """Run it all.

        :raises AssertionError: something is not as it must be.
        """
        try:
            self._ends.start()
            create(self._ends.source.bootstrap, self._kinds)
            topics = "|".join(kind.topic for kind in self._kinds)
            self._ends.mirror(
                "add", LINK, "--source", self._ends.source.bootstrap, "--topics", topics, "--groups", ".*"
            )
            senders, members, taken = self._load()
            self._disturb(senders)
            for one in (one for some in members.values() for one in some):
                one.stop()
            names, source = [kind.topic for kind in self._kinds], self._ends.source.bootstrap
            committed = {group: load.committed(source, group, names) for group in GROUPS}
            for sender in senders:
                sender.join()
            self._tell(
                f"{sum(sender.sent for sender in senders)} records were sent; killed: {self._ends.killed}"
            )
            failed = [line for sender in senders for line in sender.failed]
            if failed:
                raise AssertionError(f"{len(failed)} records failed, as {failed[0]}")
            self._settle()
            self._compare(senders)
            self._promote(committed, taken)
        finally:
            self._ends.close()

    # --- load

    def _load(self) -> tuple[list[Sender], dict[str, list[Member]], dict[str, Taken]]:
        bootstrap = self._ends.source.bootstrap
        senders = []
        for kind in self._kinds:
            records = int(self._records * kind.share)
            senders.append(Sender(bootstrap, kind, records, records / self._seconds))
        topics = [kind.topic for kind in self._kinds]
        taken = {group: Taken() for group in GROUPS}
        members = {
            group: [Member(bootstrap, group, topics, taken[group].take) for _ in range(count)]
            for group, count in GROUPS.items()
        }
        for sender in senders:
            sender.start()
        for one in (one for some in members.values() for one in some):
            one.start()
        return senders, members, taken

    def _disturb(self, senders: list[Sender]) -> None:
        """Kill both ends at random times; the last kill is before the end of the load."""
        which = ["source", "target"] * self._kills
        self._random.shuffle(which)
        for number, end in enumerate(which):
            pause_s = self._seconds * 0.8 / len(which)
            time.sleep(self._random.uniform(0.3, 1.7) * pause_s)
            begun_s = time.monotonic()
            self._ends.kill(end)
            self._tell(
                f"{number + 1} of {len(which)}: killed the {end}, back in {time.monotonic() - begun_s:.1f} s;"
                f" {sum(sender.sent for sender in senders)} records sent, {self._lag()}"
            )

    # --- the end

    def _status(self) -> list[MirrorStatus]:
        with Cluster(self._ends.target.bootstrap) as cluster:
            return list(Mirrors(cluster).report().partitions)

    def _lag(self) -> str:
        try:
            return f"{sum(max(0, one.lag) for one in self._status())} behind"
        except (KafkaTXError, OSError) as error:
            return f"no status: {error}"

    def _settle(self) -> None:
        """Wait until the copy has everything."""
        begun_s, wanted = time.monotonic(), len(self._kinds) * PARTITIONS
        while True:
            found = self._status()
            if len(found) == wanted and all(one.lag == 0 and not one.reason for one in found):
                break
            if time.monotonic() - begun_s > SETTLE_S:
                raise AssertionError(f"still behind: {found}")
            time.sleep(0.5)
        self._tell(f"nothing is behind {time.monotonic() - begun_s:.1f} s after the end of the load")
        time.sleep(2)  # the source's last high watermark and the last transaction

    def _compare(self, senders: list[Sender]) -> None:
        output = self._ends.mirror("verify", LINK)
        self._tell("kafkatx mirror verify: no difference\n" + output.rstrip())
        batches, only, keys = 0, 0, 0
        for kind in self._kinds:
            for partition in range(PARTITIONS):
                found = checks.compare_dumps(self._ends, kind, partition)
                batches, only = batches + found.batches, only + found.only
                if "cleanup.policy" in kind.configs:
                    keys += checks.compare_tables(self._ends, kind, partition)
        self._tell(f"dumps: {batches} equal batches, {only} changed by compaction; {keys} keys are equal")
        for sender in senders:
            checks.check_records(self._ends, sender.kind, sender.acknowledged)
        self._tell("the target has each acknowledged record once, in order")

    def _promote(self, committed: dict[str, dict[tuple[str, int], int]], taken: dict[str, Taken]) -> None:
        time.sleep(GROUP_COPY_S / 4)  # a round over the groups
        self._ends.mirror("promote", LINK, "--yes", "--wait", "120")
        self._tell("promoted")
        topics = [kind.topic for kind in self._kinds]
        everything = {
            (kind.topic, partition): [
                offset for offset, _ in checks.read_values(self._ends, kind.topic, partition)
            ]
            for kind in self._kinds
            for partition in range(PARTITIONS)
        }
        for group, offsets in committed.items():
            there = Taken()
            member = Member(self._ends.target.bootstrap, group, topics, there.take)
            member.start()
            wanted = {
                place: [offset for offset in some if offset >= offsets.get(place, 0)]
                for place, some in everything.items()
            }
            end_s = time.monotonic() + DEADLINE_S
            count = sum(map(len, wanted.values()))
            while sum(map(len, there.offsets.values())) < count and time.monotonic() < end_s:
                time.sleep(0.2)
            time.sleep(1)
            member.stop()
            for place, some in wanted.items():
                if there.offsets.get(place, []) != some:
                    raise AssertionError(
                        f"group {group} did not go on at {place}: committed {offsets.get(place)}, read"
                        f" {there.offsets.get(place, [])[:3]}..., {len(there.offsets.get(place, []))} records"
                        f" of {len(some)}"
                    )
            before = sum(len(some) for some in taken[group].offsets.values())
            self._tell(f"group {group} read {before} at the source, went on and read {count}: none twice")
        self._write(topics)

    def _write(self, topics: list[str]) -> None:
        """Write to the promoted topics: offsets go on."""
        producer = Producer({"bootstrap.servers": self._ends.target.bootstrap, "enable.idempotence": True})
        failed: list[object] = []
        for topic in topics:
            for partition in range(PARTITIONS):
                producer.produce(
                    topic,
                    b"after 0",
                    b"after",
                    partition=partition,
                    on_delivery=lambda error, _: failed.append(error) if error else None,
                )
        if producer.flush(DEADLINE_S) or failed:
            raise AssertionError(f"the promoted topics take no records: {failed}")
        self._tell("the promoted topics take records")
