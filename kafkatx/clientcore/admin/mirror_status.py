"""Values of mirrored partitions and links, as brokers and clients tell them. Pure, and light to import.

:mod:`kafkatx.clientcore.admin.mirrors` has the requests and replies that carry them.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kafkatx.types import TopicPartition

UNKNOWN = -1
FIRST_DERIVED_PRODUCER_ID = 1 << 61
"""Brokers hand out producer ids below this, from 0 on; ``kafkatx mirror run`` has ids from here on."""


@attrs.frozen
class MirrorStatus:
    """A mirrored partition, as its leader describes it; -1 is an unknown offset, epoch, id or time.

    :ivar state: ``mirroring``, ``paused``, ``failed``, ``promoting`` or ``promoted``.
    :ivar reason: why it is in this state, or what hinders it; empty if that needs no words.
    :ivar leader_epoch: the epoch in which the describing broker leads the partition.
    :ivar stopped: the leader appends no records of the link, by the topic's record as the leader knows it.
    :ivar attempt: ``attempt`` of that record (:class:`kafkatx.config.mirror_record.MirrorRecord`).
    :ivar source_leader: id of the source's broker that is fetched from.
    :ivar source_epoch: leader epoch of the last batch in the log, which is the source's.
    :ivar source_start: log start offset at the source, ``source_end`` its high watermark.
    :ivar log_start: log start offset here, ``log_end`` the log end offset.
    :ivar lag_ms: time since the last batch came, while the log is behind the source; else 0.
    :ivar bytes_copied: bytes appended for the link since this broker leads the partition.
    :ivar max_producer_id: the greatest producer id that any batch of the log has had, of those that brokers
        hand out (below :data:`FIRST_DERIVED_PRODUCER_ID`).
    :ivar open_transaction: first offset of the oldest transaction without an end.
    :ivar broker: id of the describing broker; set by clients.
    """

    link: str
    topic: str
    partition: int
    state: str
    reason: str = ""
    leader_epoch: int = UNKNOWN
    stopped: bool = False
    attempt: int = UNKNOWN
    source_leader: int = UNKNOWN
    source_epoch: int = UNKNOWN
    source_start: int = UNKNOWN
    source_end: int = UNKNOWN
    log_start: int = UNKNOWN
    log_end: int = UNKNOWN
    high_watermark: int = UNKNOWN
    lag_ms: int = UNKNOWN
    bytes_copied: int = 0
    max_producer_id: int = UNKNOWN
    open_transaction: int = UNKNOWN
    broker: int = UNKNOWN

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def lag(self) -> int:
        """The number of offsets that are missing here; -1 if unknown."""
        if self.source_end < 0 or self.log_end < 0:
            return UNKNOWN
        return max(0, self.source_end - self.log_end)


@attrs.frozen
class LinkStatus:
    """A link as one broker sees it.

    :ivar source: the bootstrap servers of the source.
    :ivar error: why the source is not reached; empty if it is.
    :ivar groups: number of groups whose offsets are copied; -1 where another broker does that.
    :ivar skipped_groups: groups that are left alone, since they have been used here.
    :ivar groups_age_ms: time since the last complete round over the groups.
    :ivar groups_error: why the last round was not complete; empty if it was.
    :ivar broker: id of the broker; set by clients.
    """

    name: str
    source: str
    error: str = ""
    groups: int = UNKNOWN
    skipped_groups: int = UNKNOWN
    groups_age_ms: int = UNKNOWN
    groups_error: str = ""
    broker: int = UNKNOWN


@attrs.frozen
class MirrorReport:
    """The links and the mirrored partitions of one broker, or of a whole cluster."""

    links: tuple[LinkStatus, ...] = ()
    partitions: tuple[MirrorStatus, ...] = ()


def merged(reports: Iterable[MirrorReport]) -> MirrorReport:
    """Return the report of a cluster, links and partitions in order.

    Of a partition that two brokers describe, as while its leader changes, the later leader epoch counts.
    """
    links: list[LinkStatus] = []
    partitions: dict[TopicPartition, MirrorStatus] = {}
    for report in reports:
        links += report.links
        for found in report.partitions:
            known = partitions.get(found.topic_partition)
            if known is None or known.leader_epoch < found.leader_epoch:
                partitions[found.topic_partition] = found
    links.sort(key=lambda link: (link.name, link.broker))
    return MirrorReport(tuple(links), tuple(status for _, status in sorted(partitions.items())))
