"""DeleteTopics (key 20), versions 0-6: by name, from version 6 on also by topic id.

Deviations from Apache Kafka: any broker serves it, not the controller alone. Internal topics are refused with
INVALID_TOPIC_EXCEPTION; Kafka leaves that to its command-line tool, so other clients can delete them.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.quotas.mutations import RequestMutations, count
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.broker.requests.serial_changes import SerialChanges
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkatx.wire.schema import NULL_UUID

DISABLED_SINCE = 3
STRICT_QUOTA_SINCE = 5
"""Since that version clients know that a quota may refuse a topic (KIP-599)."""


def answer(
    broker: Broker, request: DeleteTopicsRequest, context: RequestContext
) -> Deferred[DeleteTopicsResponse]:
    """Delete the topics, one after the other."""
    if not broker.config.get("delete.topic.enable"):
        code = (
            ErrorCode.TOPIC_DELETION_DISABLED
            if context.version >= DISABLED_SINCE
            else ErrorCode.INVALID_REQUEST
        )
        raise RequestError(code, "delete.topic.enable=false")
    strict = context.version >= STRICT_QUOTA_SINCE
    mutations = broker.quotas.request_mutations(context.peer, context.client_id, strict)
    deleting = Deferred.fromCoroutine(_delete_all(broker, _asked(request), mutations))
    return deleting if mutations is None else deleting.addCallback(mutations.throttle)


def _asked(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    return request.topics or [DeleteTopicState(name) for name in request.topic_names]


async def _delete_all(
    broker: Broker, asked: list[DeleteTopicState], mutations: RequestMutations | None
) -> DeleteTopicsResponse:
    times = Counter((topic.name, topic.topic_id) for topic in asked)
    topics = list({(topic.name, topic.topic_id): topic for topic in asked}.values())
    deletions = [
        partial(_delete, broker, topic, times[topic.name, topic.topic_id], mutations) for topic in topics
    ]
    outcomes = await SerialChanges().make_all(deletions, broker.slices.pause)
    return DeleteTopicsResponse(
        responses=[
            _refused(broker, topic, outcome) if isinstance(outcome, RequestError) else outcome
            for topic, outcome in zip(topics, outcomes, strict=True)
        ]
    )


def _name(broker: Broker, asked: DeleteTopicState) -> str | None:
    return asked.name if asked.name is not None else broker.metadata.state.topic_names.get(asked.topic_id)


def _refused(broker: Broker, asked: DeleteTopicState, error: RequestError) -> DeletableTopicResult:
    name = _name(broker, asked)
    topic = broker.metadata.state.topics.get(name) if name is not None else None
    topic_id = asked.topic_id if topic is None else topic.topic_id
    return DeletableTopicResult(name, topic_id, error.code, error_message(error))


async def _delete(
    broker: Broker, asked: DeleteTopicState, times: int, mutations: RequestMutations | None
) -> DeletableTopicResult:
    """Delete one topic.

    :param times: how often the request names it.
    :raises RequestError: the request is invalid, or its client has exceeded its quota.
    """
    if times > 1:
        what = "id" if asked.name is None else "name"
        why = f"Duplicate topic {what}."
        return DeletableTopicResult(asked.name, asked.topic_id, ErrorCode.INVALID_REQUEST, why)
    if (asked.name is None) == (asked.topic_id == NULL_UUID):
        why = "a topic is deleted by its name or by its id: the request has neither, or both"
        return DeletableTopicResult(asked.name, asked.topic_id, ErrorCode.INVALID_REQUEST, why)
    name = _name(broker, asked)
    if name is None:
        return DeletableTopicResult(None, asked.topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
    topic = broker.metadata.state.topics.get(name)
    topic_id = topic.topic_id if topic is not None else asked.topic_id
    if name in INTERNAL_TOPICS:
        why = f"{name} is the broker's own, and is not deleted"
        return DeletableTopicResult(name, topic_id, ErrorCode.INVALID_TOPIC_EXCEPTION, why)
    count(mutations, 0 if topic is None else len(topic.partitions))
    await broker.topic_commands.delete(name)
    return DeletableTopicResult(name, topic_id)


def refuse(
    request: DeleteTopicsRequest, context: RequestContext, code: ErrorCode, why: str
) -> DeleteTopicsResponse:
    """Refuse every topic with the same error."""
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(t.name, t.topic_id, code, why) for t in _asked(request)]
    )


API = Api(DeleteTopicsRequest, DeleteTopicsResponse, answer, refuse)
