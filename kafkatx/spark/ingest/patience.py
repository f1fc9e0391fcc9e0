"""How long to bear with brokers that are away."""

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
    """Somebody said stop while the brokers were away."""


class Patience:
    """Tries again what fails because brokers cannot be reached, for so long.

    The first contact is not tried again: an address that nobody answers at is a mistake.
    """

    def __init__(
        self, limit_s: float, stop: threading.Event, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit_s = limit_s
        self._stop = stop
        self._clock = clock
        self._met = False
        self._since_s: float | None = None

    def ask(self, question: Callable[[], T]) -> T:
        """Ask the brokers until they answer.

        :raises KafkaTXError: what will not pass, or the first contact's failure.
        :raises IngestError: they have been away for too long.
        :raises Stopped: somebody said stop.
        """
        while True:
            try:
                answer = question()
            except KafkaTXError as error:
                if not (self._met and retriable(error)):
                    raise
                self.bear(str(error))
            else:
                self.answered()
                return answer

    def answered(self) -> None:
        """They are there."""
        self._met, self._since_s = True, None

    def bear(self, error: str) -> None:
        """Wait a little; raises as :meth:`ask`."""
        now = self._clock()
        if self._since_s is None:
            self._since_s = now
            log.warning("%s; trying again for %g s", error, self._limit_s)
        if now - self._since_s >= self._limit_s:
            raise IngestError(f"the brokers have been away for {now - self._since_s:.0f} s: {error}")
        if self._stop.wait(PAUSE_S):
            raise Stopped
