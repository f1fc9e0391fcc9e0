"""Retries of failures in a row within a time limit. Clock and sleep can be replaced."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import attrs

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import retriable
from kafkatx.errors import KafkaTXError

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster

T = TypeVar("T")


@attrs.define
class RetryDeadline:
    """The time limit for failures in a row: ``limit_s`` after the first, with the pauses of *backoff*.

    Call :meth:`wait_or_raise` after each failure, :meth:`reset` after each success.
    """

    limit_s: float
    backoff: Backoff = attrs.Factory(Backoff)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _since: float | None = attrs.field(default=None, init=False)
    _pause_ms: float = attrs.field(default=0.0, init=False)

    def reset(self) -> None:
        """Reset the time limit after a success."""
        self._since = None

    def wait_or_raise(self, error: Exception) -> None:
        """Sleep before the next attempt.

        :raises Exception: *error* itself, if the time limit is over.
        """
        now = self.clock()
        if self._since is None:
            self._since, self._pause_ms = now, self.backoff.first_ms
        if now + self._pause_ms / 1000 > self._since + self.limit_s:
            raise error
        self.sleep(self._pause_ms / 1000)
        self._pause_ms = min(self._pause_ms * 2, self.backoff.longest_ms)


def retry_until_deadline(cluster: Cluster, limit_s: float, call: Callable[[], T]) -> T:
    """Call until it succeeds, fails for good, or has failed for *limit_s*.

    :raises KafkaTXError: the error of the last attempt.
    """
    patience = RetryDeadline(limit_s, cluster.backoff, cluster.clock, cluster.sleep)
    while True:
        try:
            return call()
        except KafkaTXError as error:
            if not retriable(error):
                raise
            patience.wait_or_raise(error)
