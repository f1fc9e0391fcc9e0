"""ElectLeaders (key 43), versions 0-2: make the preferred replica, or any replica, the leader (KIP-460).

*   0 knows preferred elections only; 1 adds unclean ones; 2 is flexible.

Only the controller answers; clients ask it. ``timeout_ms`` is ignored: the metadata store waits for 30 s.
"""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ElectionKind, TopicPartition
from kafkatx.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


def answer(
    broker: Broker, request: ElectLeadersRequest, context: RequestContext
) -> Deferred[ElectLeadersResponse]:
    """Elect leaders, and answer when the cluster's state shows them."""
    try:
        kind = ElectionKind(request.election_type)
    except ValueError:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"unknown election type {request.election_type}"
        ) from None
    asked = None
    if request.topic_partitions is not None:
        asked = [TopicPartition(one.topic, n) for one in request.topic_partitions for n in one.partitions]
    return broker.metadata.elect_leaders(kind, asked).addCallback(_response)


def _response(outcomes: Mapping[TopicPartition, RequestError | None]) -> ElectLeadersResponse:
    topics: dict[str, list[PartitionResult]] = {}
    for (topic, partition), error in outcomes.items():
        result = PartitionResult(partition, 0)
        if error is not None:
            result = PartitionResult(partition, error.code, error_message(error))
        topics.setdefault(topic, []).append(result)
    return ElectLeadersResponse(0, 0, [ReplicaElectionResult(name, each) for name, each in topics.items()])


def refuse(
    request: ElectLeadersRequest, context: RequestContext, code: ErrorCode, why: str
) -> ElectLeadersResponse:
    """Refuse the whole request; version 0 has an error for each partition only."""
    return ElectLeadersResponse(
        0,
        code,
        [
            ReplicaElectionResult(asked.topic, [PartitionResult(n, code, why) for n in asked.partitions])
            for asked in request.topic_partitions or ()
        ],
    )


API = Api(ElectLeadersRequest, ElectLeadersResponse, answer, refuse)
