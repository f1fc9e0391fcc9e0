"""Metadata requests, and errors of topics in their replies. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.clientcore.errors import UnknownTopic, describe
from kafkatx.clientcore.metadata import ClusterMetadata, TopicMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


def metadata_request(topics: Iterable[str] | None, version: int, auto_create: bool) -> MetadataRequest:
    """Return the request for the brokers and these topics; ``None`` asks for all topics."""
    wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    if version == 0 and wanted is None:
        wanted = []  # in version 0 an empty list means all topics, and null is not allowed
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=auto_create)


def require_topic(name: str, answer: ClusterMetadata) -> TopicMetadata:
    """Return a topic of a reply.

    :raises UnknownTopic: the topic does not exist (yet: the request may have created it).
    :raises RequestError: LEADER_NOT_AVAILABLE while it is being created; INVALID_TOPIC_EXCEPTION, ...
    """
    topic = answer.topics.get(name)
    if topic is not None and topic.usable:
        return topic
    code = topic.error if topic is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise UnknownTopic(name)
    code = code or ErrorCode.LEADER_NOT_AVAILABLE
    raise RequestError(code, f"topic {name!r}: {describe(code)}")
