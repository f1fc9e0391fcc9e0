"""The inspector: it has schemas inspected in processes, which are killed if they take too long.

A process starts with the first inspection, and ends a while after the last. It touches processes, from
workers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import IO, TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.broker.registry.child_process import ChildProcess
from kafkatx.interfaces import Worker
from kafkatx.net.fair_turns import FairTurns, TooManyWaiting
from kafkatx.registry.errors import invalid_schema, timed_out
from kafkatx.registry.inspection import Inspected, Inspection, decode_inspected, encode_inspection
from kafkatx.schemas.types import InvalidSchema
from kafkatx.web.budget import Budget

T = TypeVar("T")

IDLE_S = 60.0
"""Seconds after the last inspection until the process ends."""

MOST_BYTES = 64 << 20
"""The size of one inspection: the schema, what it refers to, and what it is compared with."""

MOST_WAITING_BYTES = 64 << 20
"""The size of all inspections that wait for the process."""

MOST_OF_CLIENT, MOST_WAITING = 50, 200
"""Inspections of one client, and of all, that wait for a process."""

PROCESSES = 2
"""Processes; each takes some MiB while it runs."""

COMMAND = (sys.executable, "-m", "kafkatx.registry.inspector_process")


@attrs.frozen(eq=False)
class _Place:
    worker: Worker
    child: ChildProcess


class Inspector:
    """Makes inspections: clients have turns, and one client alone does not get all processes.

    :param workers: run blocking calls, one at a time; each has a process.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        clock: IReactorTime,
        timeout_s: float,
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._places = [_Place(worker, ChildProcess(command, timeout_s)) for worker in workers]
        self._free = list(self._places)
        self._turns = FairTurns(len(workers), MOST_OF_CLIENT, MOST_WAITING, kept=len(workers) // 2)
        self._stopped = False
        self._waiting = Budget(MOST_WAITING_BYTES)
        self._idle: IDelayedCall | None = None

    async def inspect(self, share: str, job: Inspection) -> Inspected:
        """Make an inspection; cancelling it drops it, unless it has begun.

        :param share: whose turn it is: a principal, or an address.
        :raises RegistryError: the schema is not valid, or takes too long; or too many wait already.
        """
        line = encode_inspection(job)
        if len(line) > MOST_BYTES:
            raise invalid_schema(
                f"Invalid schema: with all that it refers to and is compared with it has {len(line)} bytes,"
                f" more than {MOST_BYTES}"
            )
        if not self._waiting.take(len(line), share):
            raise timed_out("too many schemas wait to be inspected already: try again later")
        self._cancel_idle()
        try:
            answer = await self._turns.run(share, partial(self._exchange, line))
        except TooManyWaiting:
            raise timed_out("too many schemas of this client wait to be inspected: try again later") from None
        finally:
            self._waiting.give_back(len(line), share)
            if not self._waiting.held and not self._stopped:
                self._cancel_idle()
                self._idle = self._clock.callLater(IDLE_S, self._rest)
        if not answer:
            raise invalid_schema(
                f"Invalid schema: it could not be understood within {self._timeout_s:g} s"
                " (kafkatx.schemas.inspection.timeout.ms), or needs too much memory"
            )
        try:
            return decode_inspected(answer)
        except InvalidSchema as error:
            raise invalid_schema(f"Invalid schema: {error}") from None

    def _exchange(self, line: bytes) -> Deferred[bytes]:
        place = self._free.pop()

        def release(result: T) -> T:
            self._free.append(place)
            return result

        return place.worker(partial(self._ask, place.child, line)).addBoth(release)

    def _ask(self, child: ChildProcess, line: bytes) -> bytes:
        """Return the process's answer; nothing if it had to be killed. Called in the worker."""

        def exchange(source: IO[bytes], target: IO[bytes]) -> bytes | None:
            source.write(line)
            source.flush()
            answer = target.readline()
            return answer if answer.endswith(b"\n") else None

        return child.ask(exchange) or b""

    def _rest(self) -> None:
        self._idle = None
        for place in self._places:
            place.worker(place.child.end)

    def _cancel_idle(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.cancel()

    def stop(self) -> None:
        """End the processes, and start no other ones."""
        self._cancel_idle()
        self._stopped = True
        for place in self._places:
            place.child.stop()
            place.worker(place.child.end)
