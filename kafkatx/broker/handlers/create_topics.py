"""CreateTopics (key 19), versions 0-7.

-1 partitions or replicas mean the broker's defaults in every version: KIP-464 names version 4, but Apache
Kafka's broker does not check it, and clients send -1 in older versions.

Deviations from Apache Kafka: any broker serves it, not the controller alone; ``timeout_ms`` is ignored, and
the reply comes when the topic can be written to, or some seconds after its creation.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.quotas.mutations import RequestMutations, count
from kafkatx.broker.requests.assignments import BY_DEFAULT, check_count, check_factor, check_replicas
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.broker.requests.serial_changes import SerialChanges
from kafkatx.config import describe_topic, validate_topic_configs
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkatx.wire.schema import NULL_UUID

STRICT_QUOTA_SINCE = 6
"""Since that version clients know that a quota may refuse a topic (KIP-599)."""


def answer(
    broker: Broker, request: CreateTopicsRequest, context: RequestContext
) -> Deferred[CreateTopicsResponse]:
    """Create the topics, some at a time."""
    strict = context.version >= STRICT_QUOTA_SINCE
    mutations = broker.quotas.request_mutations(context.peer, context.client_id, strict)
    creating = Deferred.fromCoroutine(_create_all(broker, request, mutations))
    return creating if mutations is None else creating.addCallback(mutations.throttle)


async def _create_all(
    broker: Broker, request: CreateTopicsRequest, mutations: RequestMutations | None
) -> CreateTopicsResponse:
    times = Counter(topic.name for topic in request.topics)
    asked = list({topic.name: topic for topic in request.topics}.values())
    creations = [
        partial(_create, broker, topic, times[topic.name], request.validate_only, mutations)
        for topic in asked
    ]
    outcomes = await SerialChanges().make_all(creations, broker.slices.pause)
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(
                topic.name, error_code=outcome.code, error_message=error_message(outcome), configs=[]
            )
            if isinstance(outcome, RequestError)
            else outcome
            for topic, outcome in zip(asked, outcomes, strict=True)
        ]
    )


async def _create(
    broker: Broker, asked: CreatableTopic, times: int, validate_only: bool, mutations: RequestMutations | None
) -> CreatableTopicResult:
    """Create one topic, or only check that this is possible.

    :param times: how often the request names it.
    :raises RequestError: the request is invalid, or its client has exceeded its quota.
    """
    if times > 1:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Topic '{asked.name}' appears twice in the request.")
    broker.topic_commands.check_new(asked.name)
    configs = {config.name: config.value for config in asked.configs}
    given = {name: value for name, value in configs.items() if value is not None}
    if len(given) < len(asked.configs):
        raise RequestError(ErrorCode.INVALID_CONFIG, "a config has no value, or appears twice")
    validate_topic_configs(given)
    broker.topic_commands.check_configs(given)
    assignment = _assignment(broker, asked)
    if not validate_only:
        count(mutations, len(assignment))
    topic_id = NULL_UUID if validate_only else await _make(broker, asked.name, assignment, given)
    return CreatableTopicResult(
        asked.name,
        topic_id,
        num_partitions=len(assignment),
        replication_factor=len(assignment[0]),
        configs=[
            CreatableTopicConfigs(entry.name, entry.value, entry.read_only, entry.source, entry.sensitive)
            for entry in describe_topic(broker.config, given)
        ],
    )


async def _make(
    broker: Broker, name: str, assignment: Sequence[Sequence[int]], configs: dict[str, str]
) -> uuid.UUID:
    topic = await broker.topic_commands.create(name, assignment, configs)
    return topic.topic_id


def _assignment(broker: Broker, asked: CreatableTopic) -> list[tuple[int, ...]]:
    """Return the replicas of each partition, as requested or as planned by the broker."""
    if not asked.assignments:
        return broker.topic_commands.plan(asked.num_partitions, asked.replication_factor)
    if (asked.num_partitions, asked.replication_factor) != (BY_DEFAULT, BY_DEFAULT):
        raise RequestError(
            ErrorCode.INVALID_REQUEST, "partitions and replication factor must be -1 with an assignment"
        )
    by_number = {a.partition_index: tuple(a.broker_ids) for a in asked.assignments}
    if sorted(by_number) != list(range(len(asked.assignments))):
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions must be numbered from 0 without gap"
        )
    check_count(len(by_number))
    for replicas in by_number.values():
        check_replicas(broker.metadata.state, replicas)
        check_factor(replicas, len(by_number[0]))
    return [by_number[number] for number in sorted(by_number)]


def refuse(
    request: CreateTopicsRequest, context: RequestContext, code: ErrorCode, why: str
) -> CreateTopicsResponse:
    """Refuse every topic with the same error."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(t.name, error_code=code, error_message=why, configs=[])
            for t in request.topics
        ]
    )


API = Api(CreateTopicsRequest, CreateTopicsResponse, answer, refuse)
