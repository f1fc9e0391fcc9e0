"""TxnOffsetCommit (key 28), versions 0-5: offsets of a group that count once the transaction is committed.

*   The transaction coordinator is asked first if the group's partition of ``__consumer_offsets`` is in the
    transaction; from version 5 on it is added.
*   From version 3 on member and generation are checked as in OffsetCommit, if the client sends them. A stale
    member epoch is ILLEGAL_GENERATION.
*   The offsets are not fetched before the transaction's marker is written; see ``require_stable`` of
    OffsetFetch.

Deviation from Apache Kafka: an unknown group is created by a request without a generation in every version.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.groups.offset_commits import Commit
from kafkatx.broker.coordinator.runtime.record_writer import outcome
from kafkatx.broker.coordinator.transactions.client_errors import ADDS_SINCE_OFFSETS, commit_error
from kafkatx.broker.dispatch import Api
from kafkatx.broker.handlers.offset_commit import Valid, changes_of, existing, is_too_long
from kafkatx.broker.requests.context import RequestContext
from kafkatx.config.table.groups import TRANSACTION_PARTITION_VERIFICATION_ENABLE
from kafkatx.errors import ErrorCode
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.transactions.metadata import Producer
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkatx.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

NEWEST_OFFSET_COMMIT = 9
"""The version of OffsetCommit by whose rules groups check commits."""

_TO_COMMITTERS = {ErrorCode.STALE_MEMBER_EPOCH: ErrorCode.ILLEGAL_GENERATION}


def answer(
    broker: Broker, request: TxnOffsetCommitRequest, context: RequestContext
) -> Deferred[TxnOffsetCommitResponse]:
    """Commit the offsets with the transaction."""
    return Deferred.fromCoroutine(_commit(broker, request, context.version))


async def _commit(broker: Broker, request: TxnOffsetCommitRequest, version: int) -> TxnOffsetCommitResponse:
    if not broker.groups.topic.exists:
        await broker.groups.topic.ensure()
    plain = _plain(request)
    valid, response = existing(broker, plain)
    if not valid:
        return _respond(response)
    partition = TopicPartition(CONSUMER_OFFSETS, broker.groups.topic.partition_of(request.group_id))
    producer = Producer(request.producer_id, request.producer_epoch)
    token = broker.verifier.pending.begin([partition], *producer)
    error = _group_error(broker, plain) or await _verify(broker, request, producer, partition, version)
    in_time = broker.verifier.pending.end(token, partition, producer.id)
    if not error and not in_time:
        error = commit_error(ErrorCode.TRANSACTION_ABORTABLE, version)
    if not error:
        error = _check(broker, plain)
    if error:
        return _refused(valid, response, error)
    changes = changes_of(broker, plain, valid)
    if changes:
        shard = broker.groups.served_shard(request.group_id)
        commit = Commit(request.group_id, shard, changes, producer)
        broker.groups.commits.write(commit)
        error = await outcome(broker.groups.commits.committed(commit))
        if error:
            commit.refuse(error)
    return _respond(response)


def _plain(request: TxnOffsetCommitRequest) -> OffsetCommitRequest:
    """Return the commit as OffsetCommit has it."""
    topics = [
        OffsetCommitRequestTopic(
            topic.name,
            [
                OffsetCommitRequestPartition(
                    asked.partition_index,
                    asked.committed_offset,
                    asked.committed_leader_epoch,
                    committed_metadata=asked.committed_metadata,
                )
                for asked in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return OffsetCommitRequest(
        request.group_id, request.generation_id, request.member_id, request.group_instance_id, topics=topics
    )


def _group_error(broker: Broker, request: OffsetCommitRequest) -> ErrorCode:
    """Return the error of a group that this broker does not serve, or whose id is invalid."""
    if is_too_long(request.group_id):
        return ErrorCode.INVALID_GROUP_ID
    return broker.groups.check(request.group_id)


async def _verify(
    broker: Broker,
    request: TxnOffsetCommitRequest,
    producer: Producer,
    partition: TopicPartition,
    version: int,
) -> ErrorCode:
    """Return NONE if the group's partition is in the producer's transaction, else the error."""
    adds = version >= ADDS_SINCE_OFFSETS
    if not adds and not broker.config[TRANSACTION_PARTITION_VERIFICATION_ENABLE]:
        return ErrorCode.NONE
    asked = broker.verifier.verify(request.transactional_id, producer, [partition], adds)
    results = await asked if isinstance(asked, Deferred) else asked
    return commit_error(results[partition], version)


def _check(broker: Broker, request: OffsetCommitRequest) -> ErrorCode:
    """Check that the group takes offsets from this client; return NONE or the error.

    A client may commit between two generations: its offsets are of the one before. One that sends neither
    member nor generation is not checked.
    """
    groups, group_id, generation = (
        broker.groups,
        request.group_id,
        request.generation_id_or_member_epoch,
    )
    error = _group_error(broker, request)
    if error:
        return error
    group = groups.find(group_id)
    if group is None:
        if generation >= 0:
            return ErrorCode.ILLEGAL_GENERATION
        groups.make(group_id)
        return ErrorCode.NONE
    if generation < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.NONE
    error = group.check_commit(
        request.member_id, request.group_instance_id, generation, NEWEST_OFFSET_COMMIT, groups.now_ms()
    )
    return ErrorCode.NONE if error == ErrorCode.REBALANCE_IN_PROGRESS else _TO_COMMITTERS.get(error, error)


def _refused(valid: Valid, response: OffsetCommitResponse, error: ErrorCode) -> TxnOffsetCommitResponse:
    for _, _, result in valid:
        result.error_code = error
    return _respond(response)


def _respond(response: OffsetCommitResponse) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        0,
        [
            TxnOffsetCommitResponseTopic(
                topic.name,
                [TxnOffsetCommitResponsePartition(r.partition_index, r.error_code) for r in topic.partitions],
            )
            for topic in response.topics
        ],
    )


def refuse(
    request: TxnOffsetCommitRequest, context: RequestContext, code: ErrorCode, message: str
) -> TxnOffsetCommitResponse:
    """Refuse every partition with the same error."""
    return TxnOffsetCommitResponse(
        0,
        [
            TxnOffsetCommitResponseTopic(
                topic.name,
                [TxnOffsetCommitResponsePartition(asked.partition_index, code) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


API = Api(TxnOffsetCommitRequest, TxnOffsetCommitResponse, answer, refuse)
