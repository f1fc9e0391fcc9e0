"""DescribeMirrors: the request, the pages of its replies, and the parts of a reply. Pure.

It is kafkatx's own request (:mod:`kafkatx.wire.messages.describe_mirrors`), and ApiVersions does not list it:
a client cannot tell beforehand if a broker knows it. Another broker closes the connection.
"""

from __future__ import annotations

from collections.abc import Collection

from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorReport, MirrorStatus
from kafkatx.clientcore.errors import check
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.describe_mirrors import (
    Cursor,
    DescribeMirrorsRequest,
    DescribeMirrorsResponse,
    MirrorLink,
    MirrorPartition,
)

VERSION = 0


class NoMirrors(RequestError):
    """The broker does not know DescribeMirrors: it is not kafkatx, or older than links."""

    def __init__(self, address: str) -> None:
        super().__init__(
            ErrorCode.UNSUPPORTED_VERSION,
            f"the broker at {address} has closed the connection on DescribeMirrors: only brokers of kafkatx"
            " have links to mirror; name one of the cluster that has the mirrors with -b HOST:PORT",
        )


def describe_request(
    links: Collection[str] | None, topics: Collection[str] | None, cursor: Cursor | None
) -> DescribeMirrorsRequest:
    """Return the request for a page of one broker's partitions; None stands for all."""
    return DescribeMirrorsRequest(
        None if links is None else sorted(links), None if topics is None else sorted(topics), cursor=cursor
    )


class ReportPages:
    """Collects the pages of one broker's report."""

    def __init__(self, broker: int) -> None:
        self._broker = broker
        self._links: dict[str, LinkStatus] = {}
        self._partitions: dict[TopicPartition, MirrorStatus] = {}

    def take(self, response: DescribeMirrorsResponse) -> Cursor | None:
        """Add a page; return where the next one begins, or None after the last.

        :raises RequestError: the broker refuses.
        """
        check(response.error_code, f"mirrors of broker {self._broker}", response.error_message)
        for link in response.links:
            self._links[link.name] = _link(link, self._broker)
        size = len(self._partitions)
        for topic in response.topics:
            for partition in topic.partitions:
                found = _partition(topic.link, topic.name, partition, self._broker)
                self._partitions[found.topic_partition] = found
        return response.next_cursor if len(self._partitions) > size else None

    def report(self) -> MirrorReport:
        """Return what was collected."""
        return MirrorReport(tuple(self._links.values()), tuple(self._partitions.values()))


def _link(found: MirrorLink, broker: int) -> LinkStatus:
    return LinkStatus(
        found.name,
        found.source,
        found.error or "",
        found.groups,
        found.skipped_groups,
        found.groups_age_ms,
        found.groups_error or "",
        broker,
    )


def _partition(link: str, topic: str, found: MirrorPartition, broker: int) -> MirrorStatus:
    return MirrorStatus(
        link,
        topic,
        found.partition_index,
        found.state,
        found.reason or "",
        found.leader_epoch,
        found.stopped,
        found.attempt,
        found.source_leader,
        found.source_epoch,
        found.source_start_offset,
        found.source_end_offset,
        found.log_start_offset,
        found.log_end_offset,
        found.high_watermark,
        found.lag_ms,
        found.bytes_copied,
        found.max_producer_id,
        found.open_transaction_offset,
        broker,
    )


def link_entry(status: LinkStatus) -> MirrorLink:
    """Return the part of a response for a link."""
    return MirrorLink(
        status.name,
        status.source,
        status.error or None,
        status.groups,
        status.skipped_groups,
        status.groups_age_ms,
        status.groups_error or None,
    )


def partition_entry(status: MirrorStatus) -> MirrorPartition:
    """Return the part of a response for a partition."""
    return MirrorPartition(
        status.partition,
        status.state,
        status.reason or None,
        status.leader_epoch,
        status.stopped,
        status.attempt,
        status.source_leader,
        status.source_epoch,
        status.source_start,
        status.source_end,
        status.log_start,
        status.log_end,
        status.high_watermark,
        status.lag_ms,
        status.bytes_copied,
        status.max_producer_id,
        status.open_transaction,
    )
