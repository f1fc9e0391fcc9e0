"""The inspector: it has schemas inspected in a process, which is killed if it takes too long.

The process starts with the first inspection, and ends a while after the last. It touches a process, from a
worker.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import IO

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.broker.registry.child_process import ChildProcess
from kafkatx.interfaces import Worker
from kafkatx.registry.errors import invalid_schema, timed_out
from kafkatx.registry.inspection import Inspected, Inspection, decode_inspected, encode_inspection
from kafkatx.schemas.types import InvalidSchema
from kafkatx.web.budget import Budget

IDLE_S = 60.0
"""Seconds after the last inspection until the process ends."""

MOST_BYTES = 64 << 20
"""The size of one inspection: the schema, what it refers to, and what it is compared with."""

MOST_WAITING_BYTES = 64 << 20
"""The size of all inspections that wait for the process."""

COMMAND = (sys.executable, "-m", "kafkatx.registry.inspector_process")


class Inspector:
    """Makes inspections, one after the other.

    :param worker: runs blocking calls, one at a time.
    """

    def __init__(
        self, worker: Worker, clock: IReactorTime, timeout_s: float, command: tuple[str, ...] = COMMAND
    ) -> None:
        self._worker = worker
        self._clock = clock
        self._timeout_s = timeout_s
        self._child = ChildProcess(command, timeout_s)
        self._stopped = False
        self._waiting = Budget(MOST_WAITING_BYTES)
        self._idle: IDelayedCall | None = None

    async def inspect(self, job: Inspection) -> Inspected:
        """Make an inspection.

        :raises RegistryError: the schema is not valid, or takes too long; or too many wait already.
        """
        line = encode_inspection(job)
        if len(line) > MOST_BYTES:
            raise invalid_schema(
                f"Invalid schema: with all that it refers to and is compared with it has {len(line)} bytes,"
                f" more than {MOST_BYTES}"
            )
        if not self._waiting.take(len(line)):
            raise timed_out("too many schemas wait to be inspected already: try again later")
        self._cancel_idle()
        try:
            answer = await self._worker(partial(self._ask, line))
        finally:
            self._waiting.give_back(len(line))
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

    def _ask(self, line: bytes) -> bytes:
        """Return the process's answer; nothing if it had to be killed. Called in the worker."""

        def exchange(source: IO[bytes], target: IO[bytes]) -> bytes | None:
            source.write(line)
            source.flush()
            answer = target.readline()
            return answer if answer.endswith(b"\n") else None

        return self._child.ask(exchange) or b""

    def _rest(self) -> None:
        self._idle = None
        self._worker(self._child.end)

    def _cancel_idle(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.cancel()

    def stop(self) -> None:
        """End the process, and start no other one."""
        self._cancel_idle()
        self._stopped = True
        self._child.stop()
        self._worker(self._child.end)
