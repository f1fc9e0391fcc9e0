"""The byte rate of a client, and its throttle time when that exceeds the quota. Pure.

Measured as Apache Kafka does (``Rate`` over ``SampledStat``, ``QuotaUtils.throttleTime``)::

    samples:   |--- 1 s ---|--- 1 s ---|  ...  |- now    quota.window.num of them
    rate     = bytes of all samples / time since the oldest began

A sample begins with the first bytes after the one before it has lasted its time. Where there are fewer full
samples than the window has, the missing ones count as time without bytes: so a client may move the bytes of
the whole window at once. Bytes are forgotten a window after the last of their sample came.
"""

from __future__ import annotations

from collections import deque

import attrs

from kafkatx.config.table.row import INT_MAX


@attrs.frozen
class Window:
    """The time window of a rate."""

    samples: int  #: quota.window.num
    sample_ms: int  #: quota.window.size.seconds

    @property
    def whole_ms(self) -> int:
        """The length of the window, after which bytes are forgotten."""
        return self.samples * self.sample_ms

    def largest(self, limit: float) -> float:
        """Return how many bytes may come at once, after a pause, without exceeding *limit* bytes a second."""
        return limit * max(self.samples - 1, 1) * self.sample_ms / 1000


@attrs.define
class _Sample:
    start_ms: int
    last_ms: int
    size: float = 0


class Rate:
    """The bytes of one client. Times are of any clock; if it goes back, earlier bytes are forgotten."""

    __slots__ = ("_samples", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._samples: deque[_Sample] = deque()

    def add(self, size: float, now_ms: int) -> None:
        """Count bytes, or whatever the rate is of; a negative number subtracts them."""
        samples = self._samples
        if samples and now_ms < samples[-1].last_ms:
            samples.clear()
        if not samples or now_ms - samples[-1].start_ms >= self._window.sample_ms:
            samples.append(_Sample(now_ms, now_ms))
        samples[-1].size += size
        samples[-1].last_ms = now_ms

    def total(self, now_ms: int) -> float:
        """Return the bytes in the window."""
        samples = self._samples
        while samples and now_ms - samples[0].last_ms >= self._window.whole_ms:
            samples.popleft()
        return sum(sample.size for sample in samples)

    def is_idle(self, now_ms: int) -> bool:
        """Return True if there are no bytes in the window."""
        return not self.total(now_ms)

    def throttle_time_ms(self, limit: float, now_ms: int) -> int:
        """Return the time without bytes after which the rate is down to *limit* bytes a second, in ms.

        With the rate O over a time W, that is X where O * W / (W + X) is the limit.
        """
        total = self.total(now_ms)
        elapsed_ms = self._elapsed_ms(now_ms)
        rate = total * 1000 / elapsed_ms
        if rate <= limit:
            return 0
        return min(round((rate - limit) / limit * elapsed_ms), INT_MAX)

    def _elapsed_ms(self, now_ms: int) -> int:
        """Return the time since the oldest sample began, plus missing samples of the window."""
        elapsed_ms = now_ms - self._samples[0].start_ms if self._samples else 0
        missing = self._window.samples - 1 - elapsed_ms // self._window.sample_ms
        return max(elapsed_ms + max(missing, 0) * self._window.sample_ms, 1)
