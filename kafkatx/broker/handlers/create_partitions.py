"""CreatePartitions (key 37), versions 0-3: more partitions for topics (KIP-195).

The new partitions can be written to when the reply comes, or some seconds later. Deviations from Apache
Kafka: any broker serves it, not the controller alone; ``timeout_ms`` is ignored; ``__consumer_offsets``
cannot grow, because a group's partition depends on their number.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.quotas.mutations import RequestMutations, count
from kafkatx.broker.replica.logs.topic_settings import mirror_of
from kafkatx.broker.requests.assignments import check_count, check_factor, check_replicas, plan_partitions
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.broker.requests.serial_changes import SerialChanges
from kafkatx.config.mirror_record import mirror_refusal
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.types import Topic
from kafkatx.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

STRICT_QUOTA_SINCE = 3
"""Since that version clients know that a quota may refuse a topic (KIP-599)."""


def answer(
    broker: Broker, request: CreatePartitionsRequest, context: RequestContext
) -> Deferred[CreatePartitionsResponse]:
    """Add partitions to the topics, one after the other."""
    strict = context.version >= STRICT_QUOTA_SINCE
    mutations = broker.quotas.request_mutations(context.peer, context.client_id, strict)
    growing = Deferred.fromCoroutine(_grow_all(broker, request, mutations))
    return growing if mutations is None else growing.addCallback(mutations.throttle)


async def _grow_all(
    broker: Broker, request: CreatePartitionsRequest, mutations: RequestMutations | None
) -> CreatePartitionsResponse:
    times = Counter(asked.name for asked in request.topics)
    changes = SerialChanges()
    results = []
    for asked in {asked.name: asked for asked in request.topics}.values():
        try:
            if times[asked.name] > 1:
                raise RequestError(
                    ErrorCode.INVALID_REQUEST, f"Topic '{asked.name}' appears twice in the request."
                )
            await changes.make(partial(_grow, broker, asked, request.validate_only, mutations))
        except RequestError as error:
            results.append(CreatePartitionsTopicResult(asked.name, error.code, error_message(error)))
        else:
            results.append(CreatePartitionsTopicResult(asked.name))
    return CreatePartitionsResponse(0, results)


async def _grow(
    broker: Broker, asked: CreatePartitionsTopic, validate_only: bool, mutations: RequestMutations | None
) -> None:
    """Add partitions to one topic, or only check that this is possible.

    :raises RequestError: the request is invalid, or its client has exceeded its quota.
    """
    topic = broker.metadata.state.topics.get(asked.name)
    if topic is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {asked.name}")
    if asked.name in INTERNAL_TOPICS:
        raise RequestError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"{asked.name} keeps the partitions that it was created with"
        )
    mirror = mirror_of(topic)
    if mirror is not None and not mirror.writable:
        raise RequestError(ErrorCode.POLICY_VIOLATION, mirror_refusal(mirror.link))
    before = len(topic.partitions)
    if asked.count == before:
        raise RequestError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {before} partition(s).")
    if asked.count < before:
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {asked.name} currently has {before} partition(s); {asked.count} would not be an"
            " increase.",
        )
    assignment = _assignment(broker, asked, topic)
    if not validate_only:
        count(mutations, len(assignment))
        await broker.topic_commands.add_partitions(asked.name, before, assignment)


def _assignment(broker: Broker, asked: CreatePartitionsTopic, topic: Topic) -> list[tuple[int, ...]]:
    """Return the replicas of each new partition, as requested or as planned by the broker.

    :raises RequestError: INVALID_REPLICA_ASSIGNMENT, or as :func:`plan_partitions`.
    """
    state = broker.metadata.state
    added = asked.count - len(topic.partitions)
    if asked.assignments is None:
        return plan_partitions(state, topic, added)
    check_count(added)
    if len(asked.assignments) != added:
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partition(s) are to be added, but {len(asked.assignments)} assignment(s) given",
        )
    for given in asked.assignments:
        check_replicas(state, given.broker_ids)
        check_factor(given.broker_ids, len(topic.partitions[0].replicas))
    return [tuple(given.broker_ids) for given in asked.assignments]


def refuse(
    request: CreatePartitionsRequest, context: RequestContext, code: ErrorCode, why: str
) -> CreatePartitionsResponse:
    """Refuse every topic with the same error."""
    return CreatePartitionsResponse(
        0, [CreatePartitionsTopicResult(asked.name, code, why) for asked in request.topics]
    )


API = Api(CreatePartitionsRequest, CreatePartitionsResponse, answer, refuse)
