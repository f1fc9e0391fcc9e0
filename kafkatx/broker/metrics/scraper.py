"""Scrapes: all collectors run in turns of some milliseconds, once for all who ask at the same time.

It touches the clock; collectors read logs and, in workers, ``/proc``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakSet

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.broker.metrics.samples import Samples
from kafkatx.broker.metrics.sources import Collector, Steps
from kafkatx.broker.metrics.table import own as o
from kafkatx.log.group_commit import GroupCommit
from kafkatx.web.calls import WebError

TURN_S = 0.003
"""Seconds that a scrape works before the broker gets its turn."""

KEPT_S = 1.0
"""Seconds for which the samples of a scrape answer others, too."""


MOST_HELD = 8
"""Scrapes whose samples are still being sent, to clients that read slowly; further ones are refused."""


class Scraper:
    """Makes the samples.

    :param begin: returns empty samples.
    """

    def __init__(
        self, collectors: Sequence[Collector], begin: Callable[[], Samples], clock: IReactorTime
    ) -> None:
        self._collectors = collectors
        self._begin = begin
        self._clock = clock
        self._running = GroupCommit(lambda: Deferred.fromCoroutine(self._scrape()))
        self._kept: tuple[float, Samples] | None = None
        self._held: WeakSet[Samples] = WeakSet()
        self._last = (0, 0.0, 0.0)

    def scrape(self) -> Deferred[Samples]:
        """Return the samples of now, or of less than a second ago; cancelling it ends the waiting only.

        :raises WebError: 503: too many samples of before are still being sent.
        """
        if self._kept is not None and self._clock.seconds() - self._kept[0] < KEPT_S:
            return succeed(self._kept[1])
        self._kept = None
        if len(self._held) >= MOST_HELD:
            raise WebError(
                503, f"{MOST_HELD} answers of /metrics are still being read by slow clients; try again later"
            )
        return self._running.join(covered=True)

    async def _scrape(self) -> Samples:
        samples, began_s = self._begin(), self._clock.seconds()
        self._held.add(samples)
        count, took_s, longest_s = self._last
        samples.add(o.SERIES, count)
        samples.add(o.SCRAPE_SECONDS, round(took_s, 6))
        samples.add(o.SCRAPE_LONGEST, round(longest_s, 6))
        longest_s = 0.0
        for collector in self._collectors:
            longest_s = max(longest_s, await self._run(collector.collect(samples)))
        ended_s = self._clock.seconds()
        self._last = (samples.count, ended_s - began_s, longest_s)
        self._kept = (ended_s, samples)
        return samples

    async def _run(self, steps: Steps) -> float:
        """Run steps to their end; return the longest turn, in seconds."""
        seconds, longest_s = self._clock.seconds, 0.0
        began_s = seconds()
        for waiting in steps:
            turn_s = seconds() - began_s
            if waiting is None and turn_s < TURN_S:
                continue
            longest_s = max(longest_s, turn_s)
            await (deferLater(self._clock, 0) if waiting is None else waiting)
            began_s = seconds()
        return max(longest_s, seconds() - began_s)
