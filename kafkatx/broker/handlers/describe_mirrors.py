"""DescribeMirrors (key 10100), version 0: links, and the mirrored partitions that this broker leads.

It is kafkatx's own and not listed by ApiVersions. Partitions come in the order of topics and numbers. A page
has at most ``response_partition_limit`` of them, and never more than 2,000; ``next_cursor`` is where the next
page begins.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.mirror.status import MirrorStatus
from kafkatx.broker.requests.context import RequestContext
from kafkatx.clientcore.admin.mirrors import link_entry, partition_entry
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_mirrors import (
    Cursor,
    DescribeMirrorsRequest,
    DescribeMirrorsResponse,
    MirrorTopic,
)

MOST_PARTITIONS = 2000


def answer(
    broker: Broker, request: DescribeMirrorsRequest, context: RequestContext
) -> DescribeMirrorsResponse:
    """Describe one page, and the links."""
    if request.response_partition_limit < 1:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"response_partition_limit={request.response_partition_limit}: a page has at least 1 partition",
        )
    page, after = _page(broker.mirrors.status(), request)
    topics: dict[tuple[str, str], MirrorTopic] = {}
    for status in page:
        topic = topics.setdefault((status.topic, status.link), MirrorTopic(status.topic, status.link))
        topic.partitions.append(partition_entry(status))
    links = None if request.links is None else frozenset(request.links)
    return DescribeMirrorsResponse(
        links=[
            link_entry(link)
            for link in sorted(broker.mirrors.links(), key=lambda link: link.name)
            if links is None or link.name in links
        ],
        topics=list(topics.values()),
        next_cursor=None if after is None else Cursor(after.topic, after.partition),
    )


def _page(
    every: Sequence[MirrorStatus], request: DescribeMirrorsRequest
) -> tuple[list[MirrorStatus], MirrorStatus | None]:
    """Return the partitions of a page, in order, and the first one after it."""
    links = None if request.links is None else frozenset(request.links)
    topics = None if request.topics is None else frozenset(request.topics)
    start = ("", -1)
    if request.cursor is not None:
        start = (request.cursor.topic_name, request.cursor.partition_index)
    left = (
        status
        for status in every
        if (status.topic, status.partition) >= start
        and (links is None or status.link in links)
        and (topics is None or status.topic in topics)
    )
    room = min(request.response_partition_limit, MOST_PARTITIONS)
    found = heapq.nsmallest(room + 1, left, key=lambda status: (status.topic, status.partition))
    return found[:room], found[room] if len(found) > room else None


def refuse(
    request: DescribeMirrorsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeMirrorsResponse:
    """Refuse the request with an error and a message."""
    return DescribeMirrorsResponse(error_code=code, error_message=message)


API = Api(DescribeMirrorsRequest, DescribeMirrorsResponse, answer, refuse)
