"""Announces what a writer got into the log: every ``audit.interval.ms``, and when it is closed."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.producer.writer import Writer
from kafkatx.clientcore.audit.counts import DEFAULT_TOPIC, AuditCounter
from kafkatx.clientcore.audit.server_header import server_name
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer
from kafkatx.errors import KafkaTXError

PATIENCE_S = 10.0
"""How long an announcement may hold up the writer: nobody wants to lose data for the sake of its audit."""

log = logging.getLogger(__name__)


class Announcer:
    """Counts for one writer, and writes its announcements, by a connection that is closed again.

    There is no thread: what is due is sent when the next batch is acknowledged, or at the end. What could not
    be sent is logged, and sent with the next. A writer that is given up after an error announces what it got
    into the log before.

    :param client_id: what the name of this producer begins with.
    :param server: the name of this server; empty: the host's name.
    :param clock: seconds since the epoch.
    """

    def __init__(
        self,
        cluster: Cluster,
        client_id: str,
        interval_ms: int,
        topic: str = DEFAULT_TOPIC,
        clock: Callable[[], float] = time.time,
        server: str = "",
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        name = f"{client_id}-{uuid.uuid4()}"
        self._audit = AuditCounter(name, interval_ms, self._now_ms(), topic, server=server_name(server))

    def count(self, batch: ProducerBatch, append_time_ms: int) -> None:
        """A batch is in the log; *append_time_ms* is the broker's time where it counts, else -1."""
        self._audit.count(batch, append_time_ms)
        if self._audit.due(self._now_ms()):
            self.announce()

    def announce(self) -> None:
        """Send what was counted; it never fails, but may take :data:`PATIENCE_S`."""
        if not self._audit.pending:
            return
        events = self._audit.announce(self._now_ms(), int(self._clock() * 1000))
        patience_s = min(PATIENCE_S, self._cluster.timeout_s)
        try:
            with Writer(
                self._cluster,
                self._audit.topic,
                request_timeout_s=patience_s,
                delivery_timeout_s=patience_s,
                clock=self._clock,
            ) as writer:
                for event in events:
                    writer.send(event.encode(), event.topic.encode())
        except KafkaTXError as error:
            log.warning("counts for the audit could not be sent to %s: %s", self._audit.topic, error)
        else:
            self._audit.confirm(events)

    def _now_ms(self) -> int:
        return int(self._cluster.clock() * 1000)


def announcer(cluster: Cluster, settings: ClientSettings) -> Announcer | None:
    """What a producer's settings ask for; None: nothing."""
    interval_ms = settings[producer.AUDIT_INTERVAL_MS]
    if not interval_ms:
        return None
    return Announcer(
        cluster,
        settings[common.CLIENT_ID],
        interval_ms,
        settings[producer.AUDIT_TOPIC],
        server=settings[producer.AUDIT_SERVER],
    )
