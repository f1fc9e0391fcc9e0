"""The time for which an ingestion waits for brokers that are away."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from kafkatx.clientcore.errors import retriable
from kafkatx.errors import KafkaTXError
from kafkatx.spark.ingest.errors import IngestError

log = logging.getLogger(__name__)

PAUSE_S = 1.0

T = TypeVar("T")


class Stopped(Exception):
    """The ingestion was told to stop while the brokers were away."""


class RetryLimit:
    """A limit on the time for which requests are retried because brokers cannot be reached.

    The first contact is not tried again: an address at which no broker answers is a mistake.
    """

    def __init__(
        self, limit_s: float, stop: threading.Event, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit_s = limit_s
        self._stop = stop
        self._clock = clock
        self._connected = False
        self._since_s: float | None = None

    def call(self, request: Callable[[], T]) -> T:
        """Send a request to the brokers until they answer.

        :raises KafkaTXError: what will not pass, or the first contact's failure.
        :raises IngestError: they have been away for too long.
        :raises Stopped: the ingestion was told to stop.
        """
        while True:
            try:
                answer = request()
            except KafkaTXError as error:
                if not (self._connected and retriable(error)):
                    raise
                self.pause(str(error))
            else:
                self.succeeded()
                return answer

    def succeeded(self) -> None:
        """Note that the brokers are there."""
        self._connected, self._since_s = True, None

    def pause(self, error: str) -> None:
        """Wait a little; raises as :meth:`call`."""
        now = self._clock()
        if self._since_s is None:
            self._since_s = now
            log.warning("%s; trying again for %g s", error, self._limit_s)
        if now - self._since_s >= self._limit_s:
            raise IngestError(f"the brokers have been away for {now - self._since_s:.0f} s: {error}")
        if self._stop.wait(PAUSE_S):
            raise Stopped
