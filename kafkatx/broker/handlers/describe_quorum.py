"""DescribeQuorum (key 55), versions 0-2: the quorum of the cluster's metadata.

Apache Kafka's brokers elect a leader of ``__cluster_metadata`` among their controllers. Here that is the
controller, as the one voter; the other brokers are observers. While there is no controller there is no voter.
There is no log of metadata: offsets, epochs and lags are 0.

Deviation from Apache Kafka: a request for more than one partition is INVALID_REQUEST as a whole; there, each
of them is an error.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import NO_LEADER, ClusterState
from kafkatx.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)

METADATA_TOPIC = "__cluster_metadata"
LISTENER = "PLAINTEXT"


def answer(broker: Broker, request: DescribeQuorumRequest, context: RequestContext) -> DescribeQuorumResponse:
    """Describe the only quorum."""
    asked = [(topic.topic_name, p.partition_index) for topic in request.topics for p in topic.partitions]
    if len(asked) > 1:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"only {METADATA_TOPIC}-0 has a quorum")
    if not asked:
        return DescribeQuorumResponse()
    ((name, number),) = asked
    if (name, number) != (METADATA_TOPIC, 0):
        missing = PartitionData(
            number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"only {METADATA_TOPIC}-0 has a quorum"
        )
        return DescribeQuorumResponse(topics=[TopicData(name, [missing])])
    return _describe(broker.metadata.state, broker.now_ms())


def _describe(state: ClusterState, now_ms: int) -> DescribeQuorumResponse:
    def replica(node_id: int) -> ReplicaState:
        return ReplicaState(node_id, last_fetch_timestamp=now_ms, last_caught_up_timestamp=now_ms)

    leader = state.controller_id
    quorum = PartitionData(
        leader_id=leader,
        current_voters=[replica(leader)] if leader != NO_LEADER else [],
        observers=[replica(node_id) for node_id in state.brokers if node_id != leader],
    )
    nodes = [
        Node(node.id, [Listener(LISTENER, node.host, node.port)])
        for node in state.brokers.values()
        if node.id == leader
    ]
    return DescribeQuorumResponse(topics=[TopicData(METADATA_TOPIC, [quorum])], nodes=nodes)


def refuse(
    request: DescribeQuorumRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeQuorumResponse:
    """Refuse the request with an error and a message."""
    return DescribeQuorumResponse(code, message)


API = Api(DescribeQuorumRequest, DescribeQuorumResponse, answer, refuse)
