"""The loop of a copier with a client whose calls block."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import attrs

from tests.copiers.values import ABORT, Plan, Value

MOST = 20
"""Records of a transaction."""

POLL_S = 0.2
CALL_S = 60.0
STUCK = 3
"""The exit status of a process whose client did not return from a call."""

SESSION_MS = 6000
TRANSACTION_MS = 30_000


@attrs.frozen
class Job:
    """The arguments of a copier."""

    bootstrap: str
    source: str
    target: str
    group: str
    transactional_id: str
    nth: int

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> Job:
        """Return the job of a command line."""
        bootstrap, source, target, group, transactional_id, nth = arguments
        return cls(bootstrap, source, target, group, transactional_id, int(nth))


@attrs.frozen
class Taken:
    """A record that was read."""

    partition: int
    offset: int
    value: bytes


class Client:
    """The calls of a client, which a loop makes."""

    def poll(self) -> list[Taken]:
        """Return the next records, by partition; none after a moment."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin a transaction."""
        raise NotImplementedError

    def produce(self, partition: int, value: bytes) -> None:
        """Send a record."""
        raise NotImplementedError

    def send_offsets(self, positions: dict[int, int]) -> None:
        """Commit the offsets of partitions with the transaction."""
        raise NotImplementedError

    def commit(self) -> None:
        """Commit."""
        raise NotImplementedError

    def abort(self) -> None:
        """Abort."""
        raise NotImplementedError

    def seek(self, positions: dict[int, int]) -> None:
        """Read partitions from these offsets on."""
        raise NotImplementedError

    def requires_abort(self, error: Exception) -> bool:
        """Return True if an abort mends an error; else the program ends."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the group and disconnect."""
        raise NotImplementedError


def say(ended: str, why: str = "") -> None:
    """Report the end of a transaction."""
    sys.stdout.write(json.dumps({"ended": ended, "why": why}) + "\n")
    sys.stdout.flush()


def end_of_input() -> threading.Event:
    """Return an event that is set when standard input ends."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended


def first_offsets(taken: Sequence[Taken]) -> dict[int, int]:
    """Return the first offset of each partition."""
    return {one.partition: one.offset for one in reversed(taken)}


def next_offsets(taken: Sequence[Taken]) -> dict[int, int]:
    """Return the offset after the last record of each partition."""
    return {one.partition: one.offset + 1 for one in taken}


def copy_until(stopped: Callable[[], bool], client: Client, nth: int) -> None:
    """Copy until *stopped* returns True."""
    plan = Plan(nth)
    while not stopped():
        taken = client.poll()
        if not taken:
            continue
        values = plan.next([Value.decode(one.value).number for one in taken])
        try:
            _transaction(client, taken, values)
        except Exception as error:
            if not client.requires_abort(error):
                raise
            client.abort()
            client.seek(first_offsets(taken))
            say("error", f"{type(error).__name__}: {error}")


def _transaction(client: Client, taken: Sequence[Taken], values: Sequence[Value]) -> None:
    client.begin()
    for one, value in zip(taken, values, strict=True):
        client.produce(one.partition, value.encode())
    client.send_offsets(next_offsets(taken))
    if values[0].fate == ABORT:
        client.abort()
        client.seek(first_offsets(taken))
    else:
        client.commit()
    say(values[0].fate)


def main(connect: Callable[[Job], Client]) -> None:
    """Run the copier of the command line."""
    job = Job.parse(sys.argv[1:])
    stopping = end_of_input()
    client = connect(job)
    try:
        copy_until(stopping.is_set, client, job.nth)
    finally:
        client.close()


@contextmanager
def given_up_after(limit_s: float, call: str) -> Iterator[None]:
    """End the process, and say so, if a call of a client does not return in time; it is started again.

    For clients whose calls have no time-out of their own.
    """

    def give_up() -> None:
        say("stuck", f"{call}: no return in {limit_s:.0f} s")
        os._exit(STUCK)

    timer = threading.Timer(limit_s, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
