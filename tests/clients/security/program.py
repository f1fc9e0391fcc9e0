"""The common parts of programs in Python: the command line, the lines that they print, the pace.

``python -m tests.clients.security.MODULE exchange FILE TOPIC COUNT`` produces records and reads them back;
``produce FILE TOPIC SECONDS RATE`` produces for some time. FILE has the JSON of
:class:`tests.clients.security.ways.Given`. Programs in other languages have the same command line.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence

from tests.clients.security.ways import Given, given_by

WAIT_S = 60.0


def say(**line: object) -> None:
    """Print a line for the runner."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Pace:
    """Records at a steady pace, and what becomes of them.

    :ivar acknowledged: the number of records that the broker has.
    :ivar errors: of records that were given up, or that the client told.
    """

    def __init__(self, seconds: float, rate: float) -> None:
        self._count = int(seconds * rate)
        self._rate = rate
        self.acknowledged = 0
        self.errors: list[str] = []

    def values(self) -> Iterator[bytes]:
        """Yield each record's value when it is due."""
        begun_s = time.monotonic()
        for number in range(self._count):
            time.sleep(max(0.0, begun_s + number / self._rate - time.monotonic()))
            yield b"%d" % number

    async def follow(self, send: Callable[[bytes], Awaitable[Awaitable[object]]]) -> None:
        """Send each record when it is due, with a client of asyncio, whose loop runs meanwhile.

        :param send: sends a record, and returns what its acknowledgement is awaited by.
        """
        loop, values = asyncio.get_running_loop(), self.values()
        sent = []
        while (value := await loop.run_in_executor(None, next, values, None)) is not None:
            sent.append(await send(value))
        for told in await asyncio.gather(*sent, return_exceptions=True):
            if isinstance(told, BaseException):
                self.failed(told)
            else:
                self.acknowledged += 1

    def failed(self, error: object) -> None:
        """Note an error."""
        self.errors.append(f"{type(error).__name__}: {error}")

    def report(self) -> None:
        """Tell the runner."""
        say(sent=self._count, acknowledged=self.acknowledged, errors=self.errors[:20])


class Program:
    """One client."""

    def __init__(self, given: Given) -> None:
        self.given = given

    def version(self) -> str:
        """The version of the client library."""
        raise NotImplementedError

    def produce(self, topic: str, values: Sequence[bytes]) -> None:
        """Produce records, each acknowledged."""
        raise NotImplementedError

    def read(self, topic: str, count: int) -> list[bytes]:
        """Return the first records of a topic, in any order of its partitions."""
        raise NotImplementedError

    def produce_steadily(self, topic: str, pace: Pace) -> None:
        """Produce at a pace with one producer."""
        raise NotImplementedError


def main(make: Callable[[Given], Program]) -> None:
    """Do what the command line says."""
    what, path, topic, *rest = sys.argv[1:]
    with open(path) as file:
        program = make(given_by(file.read()))
    say(version=program.version())
    if what == "produce":
        seconds, rate = map(float, rest)
        pace = Pace(seconds, rate)
        program.produce_steadily(topic, pace)
        pace.report()
        return
    values = [b"value-%d" % number for number in range(int(rest[0]))]
    program.produce(topic, values)
    found = program.read(topic, len(values))
    if sorted(found) != sorted(values):
        raise AssertionError(f"read {found!r:.300}")
    say(read=len(found))
