"""Sends a client's audit counts to the audit topic: every ``audit.interval.ms``, and when it is closed.

The counts are :mod:`kafkatx.clientcore.audit.counts`'; producer and consumer use this module. Touches a
timer, the wall clock and the producer.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.clientcore.audit.counts import Announcement, AuditCounter
from kafkatx.clientcore.audit.server_header import server_name
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer

SendRecord = Callable[[str, bytes, bytes], "Deferred[Any]"]
"""Sends a record of this topic, key and value; bypasses the producer's encoders and ``buffer.memory``."""


class Event(Protocol):
    """An announcement."""

    @property
    def topic(self) -> str:
        """The topic that was counted: the key of the record."""

    def encode(self) -> bytes:
        """Return the value of the record."""


E = TypeVar("E", bound=Event)


class Counts(Protocol[E]):
    """Counts that are not announced yet: an ``AuditCounter``, or a ``RangeCounter``."""

    topic: str
    interval_ms: int

    @property
    def pending(self) -> bool:
        """True if there is something to announce."""

    def announce(self, now_ms: int, sent_ms: int | None = None) -> list[E]:
        """Return the events to send."""

    def confirm(self, announced: Sequence[E]) -> None:
        """Forget events that are in the audit topic."""


class CountSender(Generic[E]):
    """Sends counts through a producer: at intervals, and when it is told to.

    Announcements that fail are sent again with the next ones; counting continues meanwhile.
    """

    _log = Logger()

    def __init__(self, counts: Counts[E], reactor: IReactorTime, send: SendRecord) -> None:
        self._counts = counts
        self._reactor = reactor
        self._send = send
        self._unsettled = 0
        self._failure: Failure | None = None
        self._timer: IDelayedCall | None = None

    def start(self) -> None:
        """Start the timer that announces counts."""
        self._timer = self._reactor.callLater(self._counts.interval_ms / 1000, self._timer_fired)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def announce(self) -> None:
        """Send the counts, unless earlier announcements are not settled yet."""
        if self._unsettled or not self._counts.pending:
            return
        events = self._counts.announce(self._now_ms(), int(time.time() * 1000))
        self._unsettled = len(events)
        for event in events:
            try:
                sent = self._send(self._counts.topic, event.topic.encode(), event.encode())
            except Exception:
                self._settle(Failure(), event)
            else:
                sent.addBoth(self._settle, event).addErrback(partial(self._log.failure, "an announcement"))

    def _settle(self, result: object, event: E) -> None:
        """Confirm an announcement, or log once for all of them that they will be sent again."""
        self._unsettled -= 1
        if isinstance(result, Failure):
            self._failure = result
        else:
            self._counts.confirm([event])
        if not self._unsettled and self._failure is not None:
            error, self._failure = self._failure.value, None
            self._log.warn(
                "audit counts could not be sent to {topic}, they are sent again with the next: {error}",
                topic=self._counts.topic,
                error=error,
            )

    def _timer_fired(self) -> None:
        self.start()
        self.announce()

    def _now_ms(self) -> int:
        return int(self._reactor.seconds() * 1000)


class AuditAnnouncer(CountSender[Announcement]):
    """Counts the records of one producer or consumer, and sends the counts."""

    def __init__(self, audit: AuditCounter, reactor: IReactorTime, send: SendRecord) -> None:
        super().__init__(audit, reactor, send)
        self._audit = audit

    def count(self, batch: ProducerBatch, append_time_ms: int) -> None:
        """Count a batch that is in the log.

        :param append_time_ms: the broker's time where it replaced the records', else -1.
        """
        self._audit.count(batch, append_time_ms)
        if self._audit.due(self._now_ms()):
            self.announce()

    def count_times(self, topic: str, times_ms: Sequence[int]) -> None:
        """Count records that were handed out, by their timestamps."""
        self._audit.count_times(topic, times_ms)
        if self._audit.due(self._now_ms()):
            self.announce()


def make_announcer(
    settings: ClientSettings, reactor: IReactorTime, send: SendRecord
) -> AuditAnnouncer | None:
    """Return the announcer that a producer's settings ask for; None if ``audit.interval.ms`` is 0."""
    interval_ms = settings[producer.AUDIT_INTERVAL_MS]
    if not interval_ms:
        return None
    name = f"{settings[common.CLIENT_ID]}-{uuid.uuid4()}"
    audit = AuditCounter(
        name,
        interval_ms,
        int(reactor.seconds() * 1000),
        settings[producer.AUDIT_TOPIC],
        server=server_name(settings[producer.AUDIT_SERVER]),
    )
    return AuditAnnouncer(audit, reactor, send)
