"""The requests of transactions, and the meaning of their replies. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kafkatx.clientcore.errors import CommitFailed, check, describe
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.producer.batch import ProducerIdAndEpoch
from kafkatx.clientcore.producer.transactions.machine import TransactionMachine
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import NO_PRODUCER_ID, TopicPartition
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafkatx.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

PRODUCE_AT_MOST = 11
ADD_PARTITIONS_AT_MOST = 3
END_AT_MOST = 4
OFFSET_COMMIT_AT_MOST = 4
"""The last versions of protocol 1; those of AddPartitionsToTxn above 3 are for brokers."""

EPOCH_SINCE = 3
"""The version of InitProducerId from which a producer asks for its next epoch (KIP-360)."""

COORDINATOR_MOVED = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT}
)
_MEMBER_ERRORS = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)


def init_request(machine: TransactionMachine, timeout_ms: int, version: int) -> InitProducerIdRequest:
    """Return the request for the first identity, or for one with another epoch."""
    again = version >= EPOCH_SINCE and machine.identity.producer_id != NO_PRODUCER_ID
    identity = machine.identity if again else ProducerIdAndEpoch()
    return InitProducerIdRequest(machine.transactional_id, timeout_ms, *identity)


def add_partitions_request(
    machine: TransactionMachine, places: Iterable[TopicPartition]
) -> AddPartitionsToTxnRequest:
    """Return the request that adds partitions to the transaction."""
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in places:
        topics[topic].append(number)
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=machine.transactional_id,
        v3_and_below_producer_id=machine.identity.producer_id,
        v3_and_below_producer_epoch=machine.identity.epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(topic, numbers) for topic, numbers in topics.items()],
    )


def check_added(response: AddPartitionsToTxnResponse) -> None:
    """Raise the error of the first partition that was refused.

    :raises RequestError: the others were not added either: OPERATION_NOT_ATTEMPTED is told of them.
    """
    attempted: list[tuple[str, int]] = [
        (f"{topic.name} [{part.partition_index}] in a transaction", part.partition_error_code)
        for topic in response.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    ]
    attempted.sort(key=lambda row: row[1] == ErrorCode.OPERATION_NOT_ATTEMPTED)
    for subject, code in attempted:
        check(code, subject)


def add_offsets_request(machine: TransactionMachine, group_id: str) -> AddOffsetsToTxnRequest:
    """Return the request that adds a group's offsets to the transaction."""
    return AddOffsetsToTxnRequest(machine.transactional_id, *machine.identity, group_id)


def check_offsets_added(response: AddOffsetsToTxnResponse) -> None:
    """Raise the error of the reply.

    :raises RequestError: the offsets cannot be a part of the transaction.
    """
    check(response.error_code, "offsets in a transaction")


def offset_commit_request(
    machine: TransactionMachine,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
) -> TxnOffsetCommitRequest:
    """Return the request that commits offsets with the transaction."""
    topics: defaultdict[str, list[TxnOffsetCommitRequestPartition]] = defaultdict(list)
    for (topic, number), (offset, metadata, leader_epoch) in offsets.items():
        topics[topic].append(TxnOffsetCommitRequestPartition(number, offset, leader_epoch, metadata))
    return TxnOffsetCommitRequest(
        transactional_id=machine.transactional_id,
        group_id=group.group_id,
        producer_id=machine.identity.producer_id,
        producer_epoch=machine.identity.epoch,
        generation_id=group.generation,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=[TxnOffsetCommitRequestTopic(topic, parts) for topic, parts in topics.items()],
    )


def check_offsets_committed(response: TxnOffsetCommitResponse) -> None:
    """Raise the error of the first offset that was refused.

    :raises CommitFailed: the consumer is no member of this generation any more.
    :raises RequestError: any other error.
    """
    for topic in response.topics:
        for part in topic.partitions:
            if part.error_code:
                code = ErrorCode.of(part.error_code)
                made = CommitFailed if code in _MEMBER_ERRORS else RequestError
                raise made(
                    code,
                    f"the offset of {topic.name} [{part.partition_index}] is not in the transaction:"
                    f" {describe(code)}",
                )


def end_request(machine: TransactionMachine, committed: bool) -> EndTxnRequest:
    """Return the request that commits or aborts the transaction."""
    return EndTxnRequest(machine.transactional_id, *machine.identity, committed)


def read_ended(response: EndTxnResponse) -> ProducerIdAndEpoch | None:
    """Return the identity of the next transaction; None: as before (protocol 1).

    :raises RequestError: the reply's error.
    """
    check(response.error_code, "the end of a transaction")
    if response.producer_id == NO_PRODUCER_ID:
        return None
    return ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
