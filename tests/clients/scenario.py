"""The common parts of scenarios in Python: the command line, the lines they print, their records."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.clients.features import PARTITIONS

Pair = tuple[bytes, bytes]

WAIT_S = 60.0
POLL_S = 0.1
SENT = [(b"key-%d" % (number % 17), b"value-%d" % number) for number in range(300)]
"""Keys and values, in the order in which they are produced."""

BIG = [(b"key-%d" % (number % 17), b"value-%d|" % number * 20) for number in range(300)]
"""The same, worth compressing."""


def copies() -> int:
    """Return the replication factor of topics; the runner gives it to programs in all languages."""
    return int(os.environ.get("KAFKATX_COPIES", "1"))


def say(**line: object) -> None:
    """Print a line for the runner."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def new_name(kind: str = "topic") -> str:
    """Return an unused name for a topic or group."""
    return f"{kind}-{uuid.uuid4().hex[:10]}"


def same(found: object, expected: object, what: str) -> None:
    """Raise unless two values are equal."""
    if found != expected:
        raise AssertionError(f"{what}: {found!r:.300} instead of {expected!r:.300}")


def until(what: str, done: Callable[[], object], wait_s: float = WAIT_S) -> None:
    """Ask again and again until something is so: what a broker has promised may take a moment to be seen.

    :raises AssertionError: it never was.
    """
    end = time.monotonic() + wait_s
    while not done():
        if time.monotonic() > end:
            raise AssertionError(f"not within {wait_s:.0f} s: {what}")
        time.sleep(0.02)


def check_keyed(found: Iterable[tuple[int, bytes, bytes]], sent: Sequence[Pair] = SENT) -> None:
    """Raise unless (partition, key, value) are *sent*, each key's in one partition and in order."""
    places: dict[bytes, set[int]] = defaultdict(set)
    values: dict[bytes, list[bytes]] = defaultdict(list)
    for partition, key, value in found:
        places[key].add(partition)
        values[key].append(value)
    expected: dict[bytes, list[bytes]] = defaultdict(list)
    for key, value in sent:
        expected[key].append(value)
    for key in sorted(set(values) | set(expected)):
        same(values[key], expected[key], f"values of {key!r}")
    same(
        {key: len(found_in) for key, found_in in places.items()},
        dict.fromkeys(places, 1),
        "partitions of keys",
    )
    if len(set().union(*places.values())) < 2:
        raise AssertionError("all keys are in one partition")


class Told:
    """The conversation of a member with the runner: reports out, end of input as the order to leave."""

    def __init__(self) -> None:
        self.leave = threading.Event()
        self._owned: set[int] = set()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        sys.stdin.read()
        self.leave.set()

    def assigned(self, partitions: Iterable[int]) -> None:
        """More partitions have come; with an eager protocol all others were revoked before."""
        self._owned |= set(partitions)
        say(owns=sorted(self._owned))

    def revoked(self, partitions: Iterable[int]) -> None:
        """These partitions have gone."""
        self._owned -= set(partitions)
        say(owns=sorted(self._owned))

    def read(self, places: Iterable[tuple[int, int]]) -> None:
        """These (partition, offset) were processed."""
        say(read=list(places))


class Numbered:
    """Records 0, 1, 2 and so on at a steady pace, each partition in turn, and what becomes of them.

    :param rate: records per second.
    """

    def __init__(self, topic: str, count: int, rate: float) -> None:
        self.topic = topic
        self._count, self._rate = count, rate
        self._begun_s = time.monotonic()

    def records(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield number, partition and value of each record, none of them waited for."""
        for number in range(self._count):
            yield number, number % PARTITIONS, value_of(number)

    def due_s(self, number: int) -> float:
        """Return the seconds until a record is to be sent."""
        return max(self._begun_s + number / self._rate - time.monotonic(), 0.0)

    def paced(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the records when they are due."""
        for number, partition, value in self.records():
            time.sleep(self.due_s(number))
            yield number, partition, value

    def acknowledged(self, number: int, partition: int, offset: int) -> None:
        """The broker has a record."""
        say(acknowledged=[number, partition, offset])

    def failed(self, number: int, error: object) -> None:
        """The client has given a record up."""
        say(failed=[number, f"{type(error).__name__}: {error}"])


def value_of(number: int) -> bytes:
    """Return the value of a numbered record."""
    return b"client:%d|" % number + b"x" * 100


class Scenario:
    """The features of one client: a method for each, named as the feature is; it raises where that fails.

    :ivar bootstrap: the broker's address.
    :ivar variant: which of the client's rows in the table this is; each scenario has its own.
    """

    def __init__(self, variant: str, bootstrap: str) -> None:
        self.variant = variant
        self.bootstrap = bootstrap

    def version(self) -> str:
        """The version of the client library."""
        raise NotImplementedError

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """Be a member of a group until ``told.leave`` is set, then leave it."""
        raise NotImplementedError

    def produce_numbered(self, numbered: Numbered) -> None:
        """Produce numbered records, acks=all, and tell how each went."""
        raise NotImplementedError

    def run(self, features: Sequence[str]) -> None:
        """Try these features and report each."""
        say(version=self.version())
        for feature in features:
            try:
                detail = getattr(self, feature.replace(" ", "_"))()
            except Exception as error:
                line = traceback.extract_tb(error.__traceback__)[:2][-1]  # in the feature, not what it called
                where = f"{line.name}, line {line.lineno}"
                say(feature=feature, result="fail", detail=f"{type(error).__name__}: {error} ({where})")
            else:
                say(feature=feature, result="pass", detail=detail or "")


def main(make: Callable[[str, str], Scenario]) -> None:
    """Do what the command line asks of a scenario."""
    variant, what, bootstrap, *rest = sys.argv[1:]
    scenario = make(variant, bootstrap)
    if what == "member":
        group, topic, session_ms = rest
        say(version=scenario.version())
        scenario.member(Told(), group, topic, int(session_ms))
    elif what == "produce":
        topic, count, rate = rest
        say(version=scenario.version())
        scenario.produce_numbered(Numbered(topic, int(count), float(rate)))
    else:
        scenario.run(rest)
