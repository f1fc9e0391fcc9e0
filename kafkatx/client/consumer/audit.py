"""Audit of consumers: announces counts of processed records, through a producer of its own."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.client.producer.audit import AuditAnnouncer
from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.audit.counts import AuditCounter
from kafkatx.clientcore.audit.server_header import server_name
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.producer.values import RecordMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import SettingError
from kafkatx.networkclient.cluster import Cluster

CLOSE_TIMEOUT_S = 10.0
"""The longest that the last announcements may delay the close of a consumer."""

_PRODUCER: dict[str, object] = {
    "enable.idempotence": False,  # readers of the audit topic drop duplicate events
    "linger.ms": 0,
    "request.timeout.ms": 10_000,
    "max.block.ms": 10_000,
    "delivery.timeout.ms": 30_000,
}


class ConsumerAuditor:
    """Counts the records of one consumer of a group.

    Its producer shares the consumer's connections, and sends no request before there is something to
    announce.
    """

    _log = Logger()

    def __init__(self, settings: ClientSettings, cluster: Cluster, interval_ms: int, group: str) -> None:
        self._cluster = cluster
        self._client_id = settings[common.CLIENT_ID]
        self._producer: Producer | None = None
        reactor = cluster.reactor
        audit = AuditCounter(
            f"{self._client_id}-{uuid.uuid4()}",
            interval_ms,
            int(reactor.seconds() * 1000),
            settings[consumer.AUDIT_TOPIC],
            server=server_name(settings[consumer.AUDIT_SERVER]),
            group=group,
        )
        self._auditor = AuditAnnouncer(audit, reactor, self._put)

    def count(self, topic: str, times_ms: Sequence[int]) -> None:
        """Count records that the application is done with, by their timestamps."""
        self._auditor.count_times(topic, times_ms)

    def start(self) -> None:
        """Start the periodic announcements; the cluster must be connected."""
        values = {**_PRODUCER, common.CLIENT_ID.name: self._client_id}
        self._producer = Producer(values, cluster=self._cluster)
        self._producer.start().addErrback(self._failed)
        self._auditor.start()

    async def close(self, timeout_s: float) -> None:
        """Announce the remaining counts and close the producer.

        :param timeout_s: the longest time this may take; never more than :data:`CLOSE_TIMEOUT_S`.
        """
        if self._producer is None:
            return
        self._auditor.announce()
        producer, self._producer = self._producer, None
        self._auditor.stop()
        try:
            await producer.close(min(timeout_s, CLOSE_TIMEOUT_S))
        except Exception:
            self._log.failure("the producer of a consumer's audit could not be closed")

    def _put(self, topic: str, key: bytes, value: bytes) -> Deferred[RecordMetadata]:
        if self._producer is None:
            raise ClientClosed("the consumer is closed")
        return self._producer.send(topic, value, key=key)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("the producer of a consumer's audit could not be started", failure)


def consumer_auditor(settings: ClientSettings, cluster: Cluster) -> ConsumerAuditor | None:
    """Return the auditor for a consumer's settings; None if they ask for none.

    :raises SettingError: there is no ``group.id``.
    """
    interval_ms = settings[consumer.AUDIT_INTERVAL_MS]
    if not interval_ms:
        return None
    group = settings[consumer.GROUP_ID]
    if group is None:
        raise SettingError(
            f"{consumer.AUDIT_INTERVAL_MS.name}={interval_ms} needs a group.id: the counts of consumers are "
            "announced by their group"
        )
    return ConsumerAuditor(settings, cluster, interval_ms, group)
