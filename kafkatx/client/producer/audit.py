"""Announces what a client has counted: every ``audit.interval.ms``, and when it is closed."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.clientcore.audit.counts import Announcement, AuditCounter
from kafkatx.clientcore.audit.server_header import server_name
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer

Put = Callable[[str, bytes, bytes], "Deferred[Any]"]
"""Sends a record of this topic, key and value past the producer's encoders and limits."""


class AuditAnnouncer:
    """Counts for one client, and sends its announcements through a producer.

    Those that fail are sent again with the next; meanwhile counts go on.
    """

    _log = Logger()

    def __init__(self, audit: AuditCounter, reactor: Any, put: Put) -> None:
        self._audit = audit
        self._reactor = reactor
        self._put = put
        self._under_way = 0
        self._failure: Failure | None = None
        self._timer: Any = None

    def start(self) -> None:
        """From now on announce by time."""
        self._timer = self._reactor.callLater(self._audit.interval_ms / 1000, self._timer_fired)

    def stop(self) -> None:
        """Announce nothing more."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def count(self, batch: ProducerBatch, append_time_ms: int) -> None:
        """A batch is in the log; *append_time_ms* is the broker's time where it counts, else -1."""
        self._audit.count(batch, append_time_ms)
        if self._audit.due(self._now_ms()):
            self.announce()

    def count_times(self, topic: str, times_ms: Sequence[int]) -> None:
        """Count records that were handed out, by their timestamps."""
        self._audit.count_times(topic, times_ms)
        if self._audit.due(self._now_ms()):
            self.announce()

    def announce(self) -> None:
        """Put what was counted into the producer, unless the last announcements are still on their way."""
        if self._under_way or not self._audit.pending:
            return
        events = self._audit.announce(self._now_ms(), int(time.time() * 1000))
        self._under_way = len(events)
        for event in events:
            try:
                sent = self._put(self._audit.topic, event.topic.encode(), event.encode())
            except Exception:
                self._settled(Failure(), event)
            else:
                sent.addBoth(self._settled, event).addErrback(partial(self._log.failure, "an announcement"))

    def _settled(self, result: Any, event: Announcement) -> None:
        """Confirm an announcement, or say once for all of them that they will be sent again."""
        self._under_way -= 1
        if isinstance(result, Failure):
            self._failure = result
        else:
            self._audit.confirm([event])
        if not self._under_way and self._failure is not None:
            error, self._failure = self._failure.value, None
            self._log.warn(
                "counts for the audit could not be sent to {topic}: {error}",
                topic=self._audit.topic,
                error=error,
            )

    def _timer_fired(self) -> None:
        self.start()
        self.announce()

    def _now_ms(self) -> int:
        return int(self._reactor.seconds() * 1000)


def make_announcer(settings: ClientSettings, reactor: Any, put: Put) -> AuditAnnouncer | None:
    """What a producer's settings ask for; None: nothing."""
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
    return AuditAnnouncer(audit, reactor, put)
