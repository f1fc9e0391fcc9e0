"""The processes that decode, filter and encode messages: a few for all users, each with a worker of its own.

They start with the first request, and end a while after the last. It touches processes, from workers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.broker.console.errors import ConsoleError
from kafkatx.broker.registry.child_process import ChildProcess
from kafkatx.interfaces import Worker, Workers
from kafkatx.net.fair_turns import FairTurns, TooManyWaiting
from kafkatx.views.requests import FRAME, encode_frame

COMMAND: Final = (sys.executable, "-m", "kafkatx.views.worker_process")
MOST: Final = 2
HARD_S: Final = 5.0
"""Seconds after which a process is killed; a step ends by itself after a fraction of that."""

MOST_OF_USER: Final = 100
MOST_WAITING: Final = 400
"""Requests that wait, of one user and of all."""

IDLE_S: Final = 60.0
"""Seconds after the last request until the processes end."""


@attrs.frozen(eq=False)
class _Place:
    worker: Worker
    child: ChildProcess


Answer = tuple[Mapping[str, Any], bytes]
"""Head and body of an answer."""


class ViewProcesses:
    """Processes of :mod:`kafkatx.views.worker_process`.

    Requests wait for one that is free: users have turns, and one user alone does not get all processes.
    """

    def __init__(
        self,
        workers: Workers,
        clock: IReactorTime,
        most: int = MOST,
        hard_s: float = HARD_S,
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        self._clock = clock
        self._hard_s = hard_s
        self._free = [
            _Place(workers(f"console-messages-{number}"), ChildProcess(command, hard_s))
            for number in range(most)
        ]
        self._places = tuple(self._free)
        self._turns = FairTurns(most, MOST_OF_USER, MOST_WAITING, kept=most // 2)
        self._idle: IDelayedCall | None = None
        self._stopped = False

    async def ask(self, share: str, head: object, body: Callable[[], bytes]) -> Answer:
        """Return the answer to a request.

        :param share: whose request it is: a principal, or an address.
        :param body: returns the body; called in the worker.
        :raises ConsoleError: the process said an error, took too long, or died.
        :raises OSError: *body* failed.
        """
        try:
            found: Answer | None = await self._turns.run(share, lambda: self._exchange(head, body))
        except TooManyWaiting:
            raise ConsoleError(
                503, "TOO_MANY_SEARCHES", "too many requests of this user wait: try again in a moment"
            ) from None
        if found is None:
            raise ConsoleError(
                503,
                "MESSAGES_NOT_READ",
                f"the messages could not be looked at within {self._hard_s:g} s, or need too much memory: the"
                " process that looks at them was ended. Use a simpler filter, or another format",
            )
        if "error" in found[0]:
            raise ConsoleError(400, "INVALID_REQUEST", str(found[0]["error"]))
        return found

    def _exchange(self, head: object, body: Callable[[], bytes]) -> Deferred[Answer | None]:
        place = self._free.pop()
        self._cancel_idle()
        asking = place.worker(lambda: exchange(place.child, head, body))
        return asking.addBoth(self._release, place)

    def _release(self, result: Any, place: _Place) -> Any:
        """Free a place, also of a request that was given up meanwhile."""
        self._free.append(place)
        if len(self._free) == len(self._places) and not self._stopped:
            self._cancel_idle()
            self._idle = self._clock.callLater(IDLE_S, self._rest)
        return result

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
        self._stopped = True
        self._cancel_idle()
        for place in self._places:
            place.child.stop()
            place.worker(place.child.end)


def exchange(child: ChildProcess, head: object, body: Callable[[], bytes]) -> Answer | None:
    """Send a request, and read the answer; None if there is none. Called in a worker."""
    parts = encode_frame(head, body())

    def talk(source: IO[bytes], target: IO[bytes]) -> Answer | None:
        for part in parts:
            source.write(part)
        source.flush()
        start = target.read(FRAME.size)
        if len(start) < FRAME.size:
            return None
        head_size, body_size = FRAME.unpack(start)
        encoded, found = target.read(head_size), target.read(body_size)
        return None if len(found) < body_size else (json.loads(encoded), found)

    return child.ask(talk)
