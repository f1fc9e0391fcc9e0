"""The recorder: one timer that samples the broker each second, and writes the file at intervals.

It touches the clock and, in a worker, the disk.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.history.history import History
from kafkatx.broker.history.history_file import HistoryFile
from kafkatx.broker.history.sampler import NAMED_S, Sampler

INTERVAL_S = 1.0
WRITE_S = 300.0
"""Seconds between two writes of the file: as much is lost when the broker is killed."""


class Recorder:
    """The samples of a broker.

    :ivar history: the samples.
    :ivar history: the samples.
    :ivar began_s: the time of its making, by the clock.
    :param file: None: nothing is kept when the broker stops.
    """

    _log = Logger()

    def __init__(
        self,
        sampler: Sampler,
        file: HistoryFile | None,
        clock: IReactorTime,
        now_ms: Callable[[], int],
    ) -> None:
        self.history = History()
        self._sampler = sampler
        self._file = file
        self._clock = clock
        self._now_ms = now_ms
        self._loop = LoopingCall(lambda: Deferred.fromCoroutine(self._round()))
        self._loop.clock = clock
        self.began_s = self._named_s = self._written_s = clock.seconds()
        self._ended: Deferred[None] | None = None

    async def start(self) -> None:
        """Read the file, and begin to sample."""
        if self._file is not None:
            self.history = await self._file.read()
            self.history.set_back(self._now_ms())
        self._ended = Deferred()
        self._loop.start(INTERVAL_S).addBoth(self._has_ended)

    def _has_ended(self, result: object) -> None:
        if isinstance(result, Failure):
            self._log.failure("sampling has ended", result)
        if self._ended is not None:
            self._ended.callback(None)

    async def _round(self) -> None:
        values = await self._sampler.sample()
        now_s = self._clock.seconds()
        if now_s - self._named_s >= NAMED_S:
            self._named_s = now_s
            self.history.add_named(self._sampler.named())
        self.history.add(self._now_ms(), values)
        if self._file is not None and now_s - self._written_s >= WRITE_S:
            self._written_s = now_s
            await self._file.write(self.history)

    async def stop(self) -> None:
        """End sampling, and write the file."""
        if self._ended is None:
            return
        if self._loop.running:
            self._loop.stop()
        await self._ended
        if self._file is not None:
            await self._file.write(self.history)
