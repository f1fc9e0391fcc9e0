"""The recorder: one timer that samples the broker, and writes the file at intervals.

It samples each second while a page of a console shows the samples, and for a minute after, else each ten
seconds: a broker without such a page should cost nothing. It touches the clock and, in a worker, the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.history.samples import Samples
from kafkatx.broker.sampling.history_file import HistoryFile
from kafkatx.broker.sampling.sampler import NAMED_S, Sampler

INTERVAL_S = 1.0
UNSEEN_S = 10.0
"""Seconds between two samples otherwise; each then counts for all of these seconds."""

LOOKED_S = 60.0
EARLY_S = 0.1
"""A timer may fire that much too early."""

WRITE_S = 300.0
"""Seconds between two writes of the file: as much is lost when the broker is killed."""


class Recorder:
    """The samples of a broker.

    :ivar samples: the samples.
    :param file: None: nothing is kept when the broker stops.
    """

    _log = Logger()

    def __init__(
        self,
        samples: Samples,
        sampler: Sampler,
        file: HistoryFile | None,
        clock: IReactorTime,
        now_ms: Callable[[], int],
    ) -> None:
        self.samples = samples
        self._sampler = sampler
        self._file = file
        self._clock = clock
        self._now_ms = now_ms
        self._loop = LoopingCall(self._tick)
        self._loop.clock = clock
        self._named_s = self._written_s = clock.seconds()
        self._sampled_s = -inf
        self._ended: Deferred[None] | None = None

    async def start(self) -> None:
        """Read the file, and begin to sample."""
        if self._file is not None:
            self.samples.history = await self._file.read()
            self.samples.history.set_back(self._now_ms())
        self._ended = Deferred()
        self._loop.start(INTERVAL_S).addBoth(self._has_ended)

    def _has_ended(self, result: object) -> None:
        if isinstance(result, Failure):
            self._log.failure("sampling has ended", result)
        if self._ended is not None:
            self._ended.callback(None)

    def _tick(self) -> Deferred[None] | None:
        now_s = self._clock.seconds()
        passed_s = now_s - self._sampled_s
        if now_s - self.samples.looked_s > LOOKED_S and passed_s < UNSEEN_S - EARLY_S:
            return None
        self._sampled_s = now_s
        seconds = 1 if passed_s == inf else max(1, round(min(passed_s, UNSEEN_S)))
        return Deferred.fromCoroutine(self._round(seconds))

    async def _round(self, seconds: int) -> None:
        """Sample.

        :param seconds: those since the last sample; 1 for the first one, as the broker was away before.
        """
        values = await self._sampler.sample()
        now_s = self._clock.seconds()
        history = self.samples.history
        if now_s - self._named_s >= NAMED_S:
            self._named_s = now_s
            history.add_named(self._sampler.named())
        history.add(self._now_ms(), values, seconds)
        if self._file is not None and now_s - self._written_s >= WRITE_S:
            self._written_s = now_s
            await self._file.write(history)

    async def stop(self) -> None:
        """End sampling, and write the file."""
        if self._ended is None:
            return
        if self._loop.running:
            self._loop.stop()
        await self._ended
        if self._file is not None:
            await self._file.write(self.samples.history)
