"""The checks of APIs about transactions and producer ids. No I/O."""

from __future__ import annotations

from kafkatx.acls import CLUSTER_NAME, AclOperation, ResourceType
from kafkatx.broker.authorization.demands import DEMANDS
from kafkatx.broker.guards.calls import Call, Completion, Final
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafkatx.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

_OF_BROKERS_SINCE = 4
_TRANSACTION, _TOPIC, _BROKER = DEMANDS[AddPartitionsToTxnRequest.API_KEY].demands
_IDEMPOTENT = DEMANDS[InitProducerIdRequest.API_KEY].demands[1]
_DESCRIBE = AclOperation.DESCRIBE


def init_producer_id(call: Call, request: InitProducerIdRequest) -> None:
    """Refuse a producer id, without a transactional id, to a client that may write to no topic at all."""
    if request.transactional_id is None:
        call.require(_IDEMPOTENT, CLUSTER_NAME)


def add_partitions(call: Call, request: AddPartitionsToTxnRequest) -> Final | None:
    """Refuse all partitions if the client may not write to one of them."""
    if call.context.version >= _OF_BROKERS_SINCE:
        call.require(_BROKER, CLUSTER_NAME)
        return None
    call.require(_TRANSACTION, request.v3_and_below_transactional_id)
    topics = request.v3_and_below_topics
    refused = {topic.name for topic in topics if not call.meets(_TOPIC, topic.name)}
    if not refused:
        return None
    results = []
    for topic in topics:
        code = _TOPIC.code if topic.name in refused else ErrorCode.OPERATION_NOT_ATTEMPTED
        numbers = [AddPartitionsToTxnPartitionResult(number, code) for number in topic.partitions]
        results.append(AddPartitionsToTxnTopicResult(topic.name, numbers))
    return Final(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results))


def describe(call: Call, request: DescribeTransactionsRequest) -> Completion:
    """Leave out the topics of transactions that the client may not describe."""

    def complete(response: DescribeTransactionsResponse) -> None:
        for state in response.transaction_states:
            state.topics = [
                one for one in state.topics if call.sees(_DESCRIBE, ResourceType.TOPIC, one.topic)
            ]

    return complete


def list_transactions(call: Call, request: ListTransactionsRequest) -> Completion:
    """Leave out the transactional ids that the client may not describe."""
    kind = ResourceType.TRANSACTIONAL_ID

    def complete(response: ListTransactionsResponse) -> None:
        response.transaction_states = [
            one for one in response.transaction_states if call.sees(_DESCRIBE, kind, one.transactional_id)
        ]

    return complete
