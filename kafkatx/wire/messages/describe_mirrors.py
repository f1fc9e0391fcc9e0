"""DescribeMirrors (key 10100), version 0: the mirrored partitions that a broker leads, page by page.

It is kafkatx's own, and ApiVersions does not list it: no other client meets a key that it does not know.
Offsets, epochs and times of -1 are unknown.
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    BOOLEAN,
    INT16,
    INT32,
    INT64,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class Cursor(Struct):
    """The first partition of a page."""

    topic_name: str = field(STRING)
    partition_index: int = field(INT32)


class DescribeMirrorsRequest(Message, key=10100, versions=(0, 0), flexible=0):
    """Request the partitions of some links and topics; null stands for all."""

    links: list[str] | None = field(nullable(array(STRING)), default=None)
    topics: list[str] | None = field(nullable(array(STRING)), default=None)
    response_partition_limit: int = field(INT32, default=2000)
    cursor: Cursor | None = field(nullable(Cursor), default=None)


class MirrorLink(Struct):
    """A link as one broker sees it.

    ``error`` says why the broker does not reach the source. The broker that is controller copies the offsets
    of groups: other brokers tell -1.
    """

    name: str = field(STRING)
    source: str = field(STRING)
    error: str | None = field(nullable(STRING))
    groups: int = field(INT32, default=-1)
    skipped_groups: int = field(INT32, default=-1)
    groups_age_ms: int = field(INT64, default=-1)
    groups_error: str | None = field(nullable(STRING))


class MirrorPartition(Struct):
    """A mirrored partition."""

    partition_index: int = field(INT32)
    state: str = field(STRING)
    reason: str | None = field(nullable(STRING))
    leader_epoch: int = field(INT32, default=-1)
    stopped: bool = field(BOOLEAN)
    attempt: int = field(INT32, default=-1)
    source_leader: int = field(INT32, default=-1)
    source_epoch: int = field(INT32, default=-1)
    source_start_offset: int = field(INT64, default=-1)
    source_end_offset: int = field(INT64, default=-1)
    log_start_offset: int = field(INT64, default=-1)
    log_end_offset: int = field(INT64, default=-1)
    high_watermark: int = field(INT64, default=-1)
    lag_ms: int = field(INT64, default=-1)
    bytes_copied: int = field(INT64)
    max_producer_id: int = field(INT64, default=-1)
    open_transaction_offset: int = field(INT64, default=-1)


class MirrorTopic(Struct):
    """The mirrored partitions of one topic."""

    name: str = field(STRING)
    link: str = field(STRING)
    partitions: list[MirrorPartition] = field(array(MirrorPartition))


class DescribeMirrorsResponse(Message, key=10100, versions=(0, 0), flexible=0):
    """The links, and a page of partitions; the next page begins at ``next_cursor``."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    links: list[MirrorLink] = field(array(MirrorLink))
    topics: list[MirrorTopic] = field(array(MirrorTopic))
    next_cursor: Cursor | None = field(nullable(Cursor), default=None)
