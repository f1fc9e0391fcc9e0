"""Metadata (key 3), versions 0-13.

Version 0 takes an empty list for all topics, later ones null. A topic with an id in the request is asked for
by its id, whatever name stands beside it. Before version 4 a missing topic is always created, if the
broker may (``auto.create.topics.enable``).

Any broker answers for the whole cluster, by the cluster's state as it knows it. A partition whose leader is
not live is LEADER_NOT_AVAILABLE with leader -1, and so is a new topic whose partitions have no states yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TimedOut

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import check_topic_name
from kafkatx.types import NO_LEADER_EPOCH, ClusterState, Topic
from kafkatx.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from kafkatx.broker.quotas.mutations import RequestMutations

AUTO_CREATE_FLAG_SINCE = 4
NULL_NAME_SINCE = 12
MOST_CREATED = 1000
"""The most topics that one request may create; for the others the client must ask again."""
MOST_CREATING_S = 5.0
"""Seconds for which a request waits for topics that it creates. Other topics of the request wait, too."""

LOOPBACK = ("127.0.0.1", "::1", "localhost", "::ffff:127.0.0.1")


def answer(
    broker: Broker, request: MetadataRequest, context: RequestContext
) -> MetadataResponse | Deferred[MetadataResponse]:
    """Describe the brokers and the requested topics; create missing ones where that is allowed."""
    _warn_of_other_address(broker, context)
    wanted = request.topics
    if wanted is None or (context.version == 0 and not wanted):
        topics = broker.metadata.state.topics.values()
        wanted = [MetadataRequestTopic(name=topic.name) for topic in topics if not is_new(topic)]
    elif _may_create(broker, request, context) and _missing(broker, wanted):
        mutations = broker.quotas.request_mutations(context.peer, context.client_id, is_strict=False)
        creating = Deferred.fromCoroutine(_create_and_describe(broker, wanted, context, mutations))
        if mutations is not None:
            creating.addCallback(mutations.throttle)
        return creating.addCallback(_with_operations, request)
    described = _describe(broker, wanted, {}, context)
    if isinstance(described, Deferred):
        return described.addCallback(_with_operations, request)
    return _with_operations(described, request)


def _with_operations(response: MetadataResponse, request: MetadataRequest) -> MetadataResponse:
    """Add the authorized operations that the client asked for."""
    if request.include_topic_authorized_operations:
        for topic in response.topics:
            topic.topic_authorized_operations = TOPIC_OPERATIONS
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _may_create(broker: Broker, request: MetadataRequest, context: RequestContext) -> bool:
    asked = request.allow_auto_topic_creation or context.version < AUTO_CREATE_FLAG_SINCE
    return bool(asked and broker.config.get("auto.create.topics.enable"))


def _missing(broker: Broker, wanted: list[MetadataRequestTopic]) -> list[str]:
    known = broker.metadata.state.topics
    names = [topic.name or "" for topic in wanted if not topic.is_by_id]
    return [name for name in names if name not in known or broker.topic_commands.is_creating(name)]


async def _create_and_describe(
    broker: Broker,
    wanted: list[MetadataRequestTopic],
    context: RequestContext,
    mutations: RequestMutations | None,
) -> MetadataResponse:
    missing = _missing(broker, wanted)
    errors: dict[str, int] = dict.fromkeys(missing, ErrorCode.LEADER_NOT_AVAILABLE)
    creating = Deferred.fromCoroutine(_create(broker, missing[:MOST_CREATED], errors, mutations))
    creating.addTimeout(MOST_CREATING_S, broker.clock)
    with suppress(TimedOut):  # creations that have begun go on
        await creating
    described = _describe(broker, wanted, errors, context)
    return await described if isinstance(described, Deferred) else described


async def _create(
    broker: Broker, missing: Sequence[str], errors: dict[str, int], mutations: RequestMutations | None
) -> None:
    """Create topics, one after the other; put the codes of those that cannot be created into *errors*."""
    for name in missing:
        if mutations is not None and not broker.topic_commands.is_creating(name):
            mutations.record(broker.config.get("num.partitions"))
        try:
            await broker.topic_commands.ensure(name)
        except RequestError as error:
            # another broker may have created it a moment ago, or the store is slow: the client asks again
            if error.code not in (ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.REQUEST_TIMED_OUT):
                errors[name] = error.code


def _describe(
    broker: Broker, wanted: list[MetadataRequestTopic], errors: dict[str, int], context: RequestContext
) -> MetadataResponse | Deferred[MetadataResponse]:
    listener = context.peer.session.listener
    topics = broker.slices.each(wanted, lambda asked: _topic(broker, asked, errors, context.version))
    if isinstance(topics, Deferred):
        return topics.addCallback(lambda made: _response(broker, made, listener))
    return _response(broker, topics, listener)


def _response(broker: Broker, topics: list[MetadataResponseTopic], listener: str) -> MetadataResponse:
    state: ClusterState = broker.metadata.state
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node.id, *node.address(listener), node.rack)
            for node in state.brokers.values()
        ],
        cluster_id=state.cluster_id,
        controller_id=state.controller_id,
        topics=topics,
    )


def _topic(
    broker: Broker, asked: MetadataRequestTopic, errors: dict[str, int], version: int
) -> MetadataResponseTopic:
    """Describe one topic, requested by name or, from version 10 on, by id."""
    state: ClusterState = broker.metadata.state
    name = asked.name_by(state.topic_names)
    topic = state.topics.get(name) if name is not None else None
    if topic is None and asked.is_by_id:
        nameless = None if version >= NULL_NAME_SINCE else ""
        return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, nameless, asked.topic_id)
    if topic is None:
        name = asked.name or ""
        return MetadataResponseTopic(errors.get(name) or missing_code(name), name)
    if is_new(topic):
        return MetadataResponseTopic(
            ErrorCode.LEADER_NOT_AVAILABLE, topic.name, topic.topic_id, topic.internal
        )
    described = describe_partitions(state, topic, offline_replicas(broker, topic.name))
    return MetadataResponseTopic(0, topic.name, topic.topic_id, topic.internal, described)


def missing_code(name: str) -> ErrorCode:
    """Return the error for a topic that does not exist: its name is invalid, or unknown."""
    try:
        check_topic_name(name)
    except RequestError as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def is_new(topic: Topic) -> bool:
    """Return True if a topic was created and no partition of it has a state yet.

    As in Apache Kafka its partitions are not shown: clients remember for minutes that they have no leaders.
    """
    return all(partition.leader_epoch == NO_LEADER_EPOCH for partition in topic.partitions)


def offline_replicas(broker: Broker, topic: str) -> dict[int, set[int]]:
    """Return the numbers of a topic's partitions whose logs are offline, by the id of their live broker.

    The state tells of the others; of its own ones this broker knows before the state shows them.
    """
    offline = {
        broker_id: {name.partition for name in names if name.topic == topic}
        for broker_id, names in broker.metadata.state.offline.items()
    }
    here = broker.topics.partitions.get(topic, ())
    own = {number for number, one in enumerate(here) if one is not None and one.offline}
    if own:
        offline[broker.node_id] = offline.get(broker.node_id, set()) | own
    return offline


def describe_partitions(
    state: ClusterState, topic: Topic, offline: Mapping[int, set[int]], numbers: range | None = None
) -> list[MetadataResponsePartition]:
    """Describe the partitions of a topic.

    :param offline: as :func:`offline_replicas` returns.
    :param numbers: the wanted partitions; numbers that do not exist are ignored. None: all.
    """
    described = []
    brokers, nothing = state.brokers, frozenset[int]()
    first, end = (0, None) if numbers is None else (numbers.start, numbers.stop)
    for number, partition in enumerate(topic.partitions[first:end], first):
        leader = partition.leader
        leads = leader in brokers
        lost = offline and number in offline.get(leader, nothing)
        error = ErrorCode.KAFKA_STORAGE_ERROR if lost else ErrorCode.NONE
        described.append(
            MetadataResponsePartition(
                error if leads else ErrorCode.LEADER_NOT_AVAILABLE,
                number,
                leader if leads else -1,
                partition.leader_epoch,
                list(partition.replicas),
                list(partition.isr),
                [
                    one
                    for one in partition.replicas
                    if one not in brokers or (offline and number in offline.get(one, nothing))
                ],
            )
        )
    return described


def _warn_of_other_address(broker: Broker, context: RequestContext) -> None:
    """Log once per connection that a client came by another address than the advertised one."""
    node = broker.metadata.state.brokers.get(broker.node_id)
    peer = context.peer
    if node is None or peer.told_address:
        return
    peer.told_address = True
    host, port = node.address(peer.session.listener)
    if host in LOOPBACK and peer.local_host not in LOOPBACK:
        broker.limited_log.warn(
            "{peer} reached the broker at {host} but is told to use {advertised}:{port}: set"
            " advertised.listeners to an address that clients elsewhere can reach",
            peer=peer,
            host=peer.local_host,
            advertised=host,
            port=port,
        )


def refuse(
    request: MetadataRequest, context: RequestContext, code: ErrorCode, message: str
) -> MetadataResponse:
    """Refuse every topic with the same error, and from version 13 on the whole request."""
    nameless = None if context.version >= NULL_NAME_SINCE else ""
    topics = [
        MetadataResponseTopic(code, nameless if topic.is_by_id else topic.name, topic.topic_id)
        for topic in request.topics or ()
    ]
    return MetadataResponse(topics=topics, error_code=code)


API = Api(MetadataRequest, MetadataResponse, answer, refuse)
