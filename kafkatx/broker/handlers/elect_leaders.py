"""ElectLeaders (key 43), versions 0-2: make the preferred replica, or any replica, the leader (KIP-460).

*   0 knows preferred elections only; 1 adds unclean ones; 2 is flexible.

There are no copies yet: a partition is led by the one broker that has it, or by none while that broker or
its log dir is away. No election changes that, so any broker answers. A request for all partitions (null)
lists those that their preferred replica does not lead.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.assignments import find_state
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

PREFERRED, UNCLEAN = 0, 1


def answer(broker: Broker, request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    """Return for each partition why its leader does not change."""
    kind = request.election_type
    if kind not in (PREFERRED, UNCLEAN):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"unknown election type {kind}")
    if request.topic_partitions is None:
        return _response(_all(broker, kind))
    return _response(
        ReplicaElectionResult(asked.topic, [_result(broker, asked.topic, n, kind) for n in asked.partitions])
        for asked in request.topic_partitions
    )


def _all(broker: Broker, kind: int) -> Iterable[ReplicaElectionResult]:
    """Return every partition whose leader is not the one that it should have."""
    for name, topic in broker.metadata.state.topics.items():
        results = [_result(broker, name, number, kind) for number in range(len(topic.partitions))]
        needed = [result for result in results if result.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        if needed:
            yield ReplicaElectionResult(name, needed)


def _result(broker: Broker, topic: str, number: int, kind: int) -> PartitionResult:
    try:
        state = find_state(broker.metadata.state, topic, number)
    except RequestError as error:
        return PartitionResult(number, error.code, error_message(error))
    partition = broker.topics.find(topic, number)
    led = state.leader in broker.metadata.state.brokers and not (partition and partition.offline)
    if led and (kind == UNCLEAN or state.leader == state.replicas[0]):
        return PartitionResult(
            number, ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        )
    if kind == UNCLEAN:
        return PartitionResult(number, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "no replica is live")
    return PartitionResult(
        number,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        f"the preferred replica {state.replicas[0]} is not live, or has no copy",
    )


def _response(results: Iterable[ReplicaElectionResult]) -> ElectLeadersResponse:
    return ElectLeadersResponse(0, 0, list(results))


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
