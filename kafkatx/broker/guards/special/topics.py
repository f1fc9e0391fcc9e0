"""The checks of APIs about topics, and of DescribeCluster. No I/O."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.authorization.demands import DEMANDS
from kafkatx.broker.guards.calls import Call, Completion, Final
from kafkatx.broker.guards.entries import take_out
from kafkatx.broker.guards.operations import show_of_cluster
from kafkatx.broker.requests.authorized_operations import NOT_ASKED
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafkatx.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)

_OR_IDS_SINCE = 6
(_DELETE,) = DEMANDS[DeleteTopicsRequest.API_KEY].demands
_NAMED, _ALL = DEMANDS[DescribeTopicPartitionsRequest.API_KEY].demands
_DESCRIBE, _TOPIC = AclOperation.DESCRIBE, ResourceType.TOPIC


def describe_cluster(call: Call, request: DescribeClusterRequest) -> Completion:
    """Show the client's rights on the cluster."""

    def complete(response: DescribeClusterResponse) -> None:
        show_of_cluster(call, response)

    return complete


def create_topics(call: Call, request: CreateTopicsRequest) -> Completion:
    """Leave the configs of new topics out of the reply if the client may not see them."""

    def complete(response: CreateTopicsResponse) -> None:
        for topic in response.topics:
            if not topic.error_code and not call.sees(AclOperation.DESCRIBE_CONFIGS, _TOPIC, topic.name):
                topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                topic.num_partitions = topic.replication_factor = -1
                topic.configs = []

    return complete


def delete_topics(call: Call, request: DeleteTopicsRequest) -> Completion | None:
    """Take the topics out that the client may not delete; the name of one named by its id stays a secret."""
    if call.context.version < _OR_IDS_SINCE:
        denied = [name for name in request.topic_names if not call.meets(_DELETE, name)]
        return take_out(call, request, _DELETE, "topic_names", denied, "responses") if denied else None
    refused = [asked for asked in request.topics if not _may_delete(call, asked)]
    return take_out(call, request, _DELETE, "topics", refused, "responses") if refused else None


def _may_delete(call: Call, asked: DeleteTopicState) -> bool:
    name = asked.name
    if name is None:
        name = call.broker.metadata.state.topic_names.get(asked.topic_id)
    return name is None or call.meets(_DELETE, name)


def describe_partitions(call: Call, request: DescribeTopicPartitionsRequest) -> Completion | Final:
    """Take the topics out that the client may not see, before a page is made of the others."""
    if not request.topics:
        return _describe_all(call, request)
    names = dict.fromkeys(topic.name for topic in request.topics)
    refused = [name for name in names if not call.meets(_NAMED, name)]
    refusals = [
        DescribeTopicPartitionsResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name) for name in refused
    ]
    request.topics = [TopicRequest(name) for name in names if name not in set(refused)]
    if not request.topics:
        return Final(DescribeTopicPartitionsResponse(topics=refusals))
    return lambda response: _complete(call, response, refusals)


def _describe_all(call: Call, request: DescribeTopicPartitionsRequest) -> Completion | Final:
    """Ask for the topics that the client may see; a cursor may name one that is not there any more."""
    names = sorted(name for name in call.broker.metadata.state.topics if call.sees(_DESCRIBE, _TOPIC, name))
    cursor = request.cursor
    if cursor is not None and cursor.partition_index >= 0 and cursor.topic_name not in names:
        names = [name for name in names if name > cursor.topic_name]
        request.cursor = None
    if not names:
        return Final(DescribeTopicPartitionsResponse())
    request.topics = [TopicRequest(name) for name in names]
    return lambda response: _complete(call, response, [])


def _complete(
    call: Call,
    response: DescribeTopicPartitionsResponse,
    refusals: list[DescribeTopicPartitionsResponseTopic],
) -> None:
    for topic in response.topics:
        if topic.topic_authorized_operations != NOT_ASKED:
            topic.topic_authorized_operations = call.authorization.operations(
                call.context.peer, _TOPIC, topic.name or ""
            )
    response.topics += refusals
