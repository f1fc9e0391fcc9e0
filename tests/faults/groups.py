"""Groups of up to 50 members that join, leave, are killed and stopped at random for minutes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker

SEED = 20261123
TOPIC, PARTITIONS = "work", 40
MOST_MEMBERS, FEWEST_MEMBERS = 50, 25
ROUND_S = 50.0
CHANGE_S = (0.5, 3.0)
SESSION_MS, REBALANCE_MS = 6000, 15_000
STOPPED_S = (7.0, 10.0)  # longer than a session
RATE, TICK_S = 400, 0.05
DEADLINE_S = 60.0
SETTINGS = {"group.initial.rebalance.delay.ms": "500", "group.consumer.session.timeout.ms": str(SESSION_MS)}
CLASSIC = {
    "partition.assignment.strategy": "range",
    "session.timeout.ms": SESSION_MS,
    "heartbeat.interval.ms": 500,
}
COOPERATIVE = {**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}
CONSUMER = {"group.protocol": "consumer"}


class Member:
    """One member's process and diary.

    :ivar ended_s: when it was killed or stopped: what it owned then counts as its own no longer.
    """

    def __init__(self, bootstrap: str, folder: str, number: int, protocol: dict[str, Any]) -> None:
        self._diary = os.path.join(folder, f"member-{number}")
        config = {
            "bootstrap.servers": bootstrap,
            "group.id": "workers",
            "client.id": f"member-{number}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "max.poll.interval.ms": REBALANCE_MS,
            "log_level": 0,
            **protocol,
        }
        command = [sys.executable, "-m", "tests.faults.member", json.dumps(config), TOPIC, self._diary]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.ended_s: list[float] = []
        self.go_on_s = 0.0

    @property
    def alive(self) -> bool:
        """Return True if it is neither stopped nor gone."""
        return not self.go_on_s and self._process.poll() is None

    def send(self, number: int) -> None:
        """Signal it; whatever that does to it, it does now."""
        self._process.send_signal(number)
        self.ended_s.append(time.monotonic())

    def wait(self) -> None:
        """Wait for its end."""
        self._process.wait(DEADLINE_S)

    def entries(self) -> Iterator[list[Any]]:
        """Return the lines of its diary, without a last line that a kill cut off."""
        if os.path.exists(self._diary):
            with open(self._diary, encoding="ascii") as diary:
                for line in diary:
                    if line.endswith("\n"):
                        yield json.loads(line)

    def owned(self) -> set[int]:
        """The partitions that it owns, by its diary."""
        owned: set[int] = set()
        for entry in self.entries():
            if entry[1] == "assigned":
                owned |= set(entry[2])
            elif entry[1] == "revoked":
                owned -= set(entry[2])
        return owned

    def held(self) -> Iterator[tuple[int, float, float]]:
        """(partition, from, until) for all that it ever owned; until its process was stopped, at the most."""
        since: dict[int, float] = {}
        changes = [entry for entry in self.entries() if entry[1] in ("assigned", "revoked")]
        changes += [[ended_s, "revoked", range(PARTITIONS)] for ended_s in self.ended_s]
        for at_s, what, partitions in sorted(changes, key=lambda change: float(change[0])):
            for partition in partitions:
                if what == "assigned":
                    since[partition] = at_s
                elif partition in since:
                    yield partition, since.pop(partition), at_s
        for partition, at_s in since.items():
            yield partition, at_s, float("inf")


class Load(threading.Thread):
    """Produces to all partitions until told to stop."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(name="load")
        self.produced: dict[int, int] = dict.fromkeys(range(PARTITIONS), 0)
        self._stopping = threading.Event()
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})

    def run(self) -> None:
        """Produce."""
        number = 0
        while not self._stopping.wait(TICK_S):
            for _ in range(int(RATE * TICK_S)):
                self._producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS)
                self.produced[number % PARTITIONS] += 1
                number += 1
            self._producer.poll(0)
        if self._producer.flush(DEADLINE_S):
            raise AssertionError("not all messages were acknowledged")

    def stop(self) -> None:
        """Stop; returns when all is acknowledged."""
        self._stopping.set()
        self.join()


class GroupFaultTests(SynchronousTestCase):
    """A group whose members come and go."""

    def test_classic(self) -> None:
        """Five minutes of eager rebalances: no partition has two owners, all settle, no record is skipped."""
        self._chaos(6, CLASSIC)

    def test_cooperative(self) -> None:
        """The same with cooperative rebalances."""
        self._chaos(1, COOPERATIVE)

    def test_consumer(self) -> None:
        """The same with the group protocol of KIP-848."""
        self._chaos(1, CONSUMER)

    def _chaos(self, rounds: int, protocol: dict[str, Any]) -> None:
        self.chance = random.Random(SEED)
        self.members: list[Member] = []
        with (
            tempfile.TemporaryDirectory(prefix="kafkatx-") as self.folder,
            EmbeddedBroker(SETTINGS, run_in="process") as broker,
        ):
            self.protocol, self.bootstrap = protocol, broker.bootstrap
            admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(DEADLINE_S)
            load = Load(broker.bootstrap)
            load.start()
            try:
                for _ in range(MOST_MEMBERS):
                    self._join()
                took_s = [self._round() for _ in range(rounds)]
                load.stop()
                self._drain(load.produced)
                for member in self._alive():
                    member.send(signal.SIGTERM)
                for member in self.members:
                    member.wait()
            finally:
                load.stop()
                for member in self.members:
                    member._process.kill()
            done = sum(entry[0] == "done" for member in self.members for entry in member.entries())
            self._check_owners()
        sys.stdout.write(
            f"{len(self.members)} members in {rounds} rounds,"
            f" settled {', '.join(f'{s:.1f}' for s in took_s)} s after the last change;"
            f" {sum(load.produced.values())} records, processed {done} times\n"
        )

    def _alive(self) -> list[Member]:
        return [member for member in self.members if member.alive]

    def _join(self) -> None:
        self.members.append(Member(self.bootstrap, self.folder, len(self.members), self.protocol))

    def _round(self) -> float:
        """Change at random for a while, then leave it alone; return how long the group took to settle."""
        until_s = time.monotonic() + ROUND_S
        while time.monotonic() < until_s:
            time.sleep(self.chance.uniform(*CHANGE_S))  # real load on real processes
            self._wake(time.monotonic())
            self._change()
        self._wake(float("inf"))
        changed_s = time.monotonic()
        while not self._converged():
            self.assertLess(
                time.monotonic() - changed_s, 2 * REBALANCE_MS / 1000, "the group has not converged"
            )
            time.sleep(0.2)
        return time.monotonic() - changed_s

    def _change(self) -> None:
        alive = self._alive()
        if len(alive) < MOST_MEMBERS and (len(alive) <= FEWEST_MEMBERS or self.chance.random() < 0.5):
            self._join()
            return
        member = self.chance.choice(alive)
        fate = self.chance.choice((signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP))
        member.send(fate)
        if fate == signal.SIGSTOP:
            member.go_on_s = time.monotonic() + self.chance.uniform(*STOPPED_S)

    def _wake(self, now_s: float) -> None:
        for member in self.members:
            if 0 < member.go_on_s <= now_s:
                member._process.send_signal(signal.SIGCONT)
                member.go_on_s = 0.0

    def _converged(self) -> bool:
        """Return True if every partition has one living owner, and every member its share."""
        shares = [member.owned() for member in self._alive()]
        return sorted(p for share in shares for p in share) == list(range(PARTITIONS)) and (
            max(map(len, shares)) - min(map(len, shares)) <= 1
        )

    def _drain(self, produced: dict[int, int]) -> None:
        """Wait until every record was processed: missing ones were skipped."""
        deadline_s = time.monotonic() + DEADLINE_S
        while True:
            done = {tuple(e[1:]) for member in self.members for e in member.entries() if e[0] == "done"}
            missing = [
                (partition, offset)
                for partition, count in produced.items()
                for offset in range(count)
                if (partition, offset) not in done
            ]
            if not missing:
                return
            self.assertLess(time.monotonic(), deadline_s, f"{len(missing)} were skipped, {missing[:3]} ...")
            time.sleep(0.5)

    def _check_owners(self) -> None:
        """At no moment did two members own a partition."""
        held: dict[int, list[tuple[float, float, int]]] = {}
        for number, member in enumerate(self.members):
            for partition, since_s, until_s in member.held():
                held.setdefault(partition, []).append((since_s, until_s, number))
        self.assertEqual(len(held), PARTITIONS)
        for partition, spans in held.items():
            spans.sort()
            for (_, until_s, one), (since_s, _, other) in pairwise(spans):
                self.assertLessEqual(until_s, since_s, f"{partition} belongs to members {one} and {other}")
