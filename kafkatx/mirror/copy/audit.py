"""The mirror's counts for the audit: a tier for each source, announced in the target.

A topic whose copy has another name is announced under both: under its own it is the end of the way at the
source, under that of the copy the beginning of the way at the target. Touches timers, and the producer that
it is handed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkatx.client.producer.producer import Producer
from kafkatx.client.tier_audit import TierAuditor
from kafkatx.clientcore.consumer.record import Record
from kafkatx.mirror import table
from kafkatx.mirror.copy.ports import StreamPort
from kafkatx.mirror.settings import MirrorSettings

CLOSE_S = 5.0


class MirrorAudits:
    """The audits of all sources.

    :ivar topic: the audit topic; empty if nothing is counted.
    """

    def __init__(self, settings: MirrorSettings) -> None:
        self._interval_ms = settings[table.AUDIT_INTERVAL_MS]
        self._target_alias = settings[table.TARGET_ALIAS]
        self._server = settings[table.AUDIT_SERVER]
        self.topic = settings[table.AUDIT_TOPIC] if self._interval_ms else ""
        self._auditors: dict[str, TierAuditor] = {}

    def start(self, aliases: Iterable[str], producer: Producer) -> None:
        """Begin to announce, through a producer of the target."""
        for alias in aliases:
            auditor = self._auditors[alias] = TierAuditor(
                producer,
                place=f"{alias}-{self._target_alias}",
                interval_ms=self._interval_ms,
                server=self._server,
                topic=self.topic,
            )
            auditor.start()

    def count(self, alias: str, stream: StreamPort, start: int, end: int, records: Sequence[Record]) -> None:
        """Count copies; see :class:`kafkatx.mirror.copy.ports.TargetPort`."""
        auditor = self._auditors.get(alias)
        if auditor is None:
            return
        times_ms = [record.timestamp_ms for record in records]
        for topic in dict.fromkeys((stream.id.topic, stream.id.target)):
            auditor.count(topic, stream.topic_id, stream.id.partition, start, end, times_ms)

    async def close(self) -> None:
        """Announce the rest."""
        for auditor in self._auditors.values():
            await auditor.close(CLOSE_S)
        self._auditors.clear()
