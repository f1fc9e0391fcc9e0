"""The audit of a mirror: a program that copies from topic to topic announces the offsets that it has copied.

Touches a timer, the wall clock, and the producer that it is handed. The ranges are
:mod:`kafkatx.clientcore.audit.ranges`'; producers and consumers have their own counts
(:mod:`kafkatx.client.producer.audit`, :mod:`kafkatx.client.consumer.audit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TimedOut

from kafkatx.client.producer.audit import CountSender
from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.audit.counts import DEFAULT_TOPIC
from kafkatx.clientcore.audit.ranges import MAX_HELD, RangeAnnouncement, RangeCounter
from kafkatx.clientcore.audit.server_header import server_name
from kafkatx.clientcore.audit.tiers import MIRROR


class TierAuditor(CountSender[RangeAnnouncement]):
    """Counts the records that a mirror has copied, and announces them every *interval_ms*.

    Ranges that are counted again after a restart count once, if they begin where a range was announced to
    end, or are as they were; so a mirror may go on a little too early, and needs no memory of its own. Counts
    of the last interval are lost with the process: the audit then names these offsets as not announced.

    :param producer: sends the announcements; started, and closed by its owner after :meth:`close`.
    :param place: the name of the mirror.
    :param interval_ms: the interval of announcements, and the length of a window; above 0.
    :param server: the name of this server; empty: the host's name.
    :param topic: the audit topic.
    """

    def __init__(
        self,
        producer: Producer,
        *,
        place: str,
        interval_ms: int,
        tier: str = MIRROR,
        server: str = "",
        topic: str = DEFAULT_TOPIC,
    ) -> None:
        self.ranges = RangeCounter(tier, place, server_name(server), interval_ms, topic)
        self._producer = producer
        super().__init__(self.ranges, producer.cluster.reactor, self._put)

    def count(
        self, topic: str, topic_id: str, partition: int, start: int, end: int, times_ms: Sequence[int]
    ) -> None:
        """Count records whose copies are acknowledged.

        :param topic: the name of the source's topic.
        :param topic_id: the id of that, as text; empty: not known.
        :param start: the first of the source's offsets; mostly where the last range of the partition ended.
        :param end: exclusive.
        :param times_ms: the timestamps of the records; fewer than offsets where the source has gaps.
        """
        self.ranges.count(topic, topic_id, partition, start, end, times_ms)
        if self.ranges.held >= MAX_HELD // 2:
            self.announce()

    async def close(self, timeout_s: float) -> None:
        """Stop the timer and announce the remaining counts; the producer is flushed, not closed.

        :param timeout_s: the longest time to wait for the brokers; what is not announced by then is lost.
        """
        self.stop()
        self.announce()
        try:
            await self._producer.flush().addTimeout(timeout_s, self._reactor)
        except TimedOut:
            self._log.warn(
                "audit counts could not be sent to {topic} in {timeout_s} s and are lost",
                topic=self.ranges.topic,
                timeout_s=timeout_s,
            )

    def _put(self, topic: str, key: bytes, value: bytes) -> Deferred[Any]:
        return self._producer.send(topic, value, key=key)
