"""Audit of writers: announces counts of written records every ``audit.interval.ms``, and on close."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Protocol

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.producer.writer import Writer
from kafkatx.clientcore.audit.counts import DEFAULT_TOPIC, AuditCounter
from kafkatx.clientcore.audit.server_header import server_name
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer
from kafkatx.errors import KafkaTXError

ANNOUNCE_TIMEOUT_S = 10.0
"""The longest that an announcement may delay the writer, whose data matter more than its audit."""

log = logging.getLogger(__name__)


class Announcer:
    """Counts the records of one writer, and writes announcements over a connection of their own.

    There is no thread: due announcements are sent when the next batch is acknowledged, or at the end. A
    failed announcement is logged, and sent with the next one. A writer that fails still announces what it has
    written before.

    :param client_id: prefix of this producer's name in announcements.
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
        """Count an acknowledged batch; *append_time_ms* is the broker's time with LogAppendTime, else -1."""
        self._audit.count(batch, append_time_ms)
        if self._audit.due(self._now_ms()):
            self.announce()

    def announce(self) -> None:
        """Send the counts; never fails, but may take :data:`ANNOUNCE_TIMEOUT_S`."""
        if not self._audit.pending:
            return
        events = self._audit.announce(self._now_ms(), int(self._clock() * 1000))
        if write_announcements(self._cluster, self._audit.topic, events, self._clock):
            self._audit.confirm(events)

    def _now_ms(self) -> int:
        return int(self._cluster.clock() * 1000)


class Event(Protocol):
    """An announcement."""

    @property
    def topic(self) -> str:
        """The topic that was counted: the key of the record."""

    def encode(self) -> bytes:
        """Return the value of the record."""


def write_announcements(
    cluster: Cluster, topic: str, events: Iterable[Event], clock: Callable[[], float] = time.time
) -> bool:
    """Write announcements to the audit topic; return True if all are there, else log the reason.

    It may take :data:`ANNOUNCE_TIMEOUT_S`.

    :param clock: seconds since the epoch.
    """
    timeout_s = min(ANNOUNCE_TIMEOUT_S, cluster.timeout_s)
    try:
        with Writer(
            cluster, topic, request_timeout_s=timeout_s, delivery_timeout_s=timeout_s, clock=clock
        ) as writer:
            for event in events:
                writer.send(event.encode(), event.topic.encode())
    except KafkaTXError as error:
        log.warning("counts for the audit could not be sent to %s: %s", topic, error)
        return False
    return True


def announcer(cluster: Cluster, settings: ClientSettings) -> Announcer | None:
    """Return the announcer for a producer's settings; None if they ask for none."""
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
