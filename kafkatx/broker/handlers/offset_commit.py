"""OffsetCommit (key 8), versions 0-9.

*   0, which Apache Kafka wrote to ZooKeeper, is stored like the others.
*   1 has a commit timestamp, 2-4 a retention time: the offset then has an expire timestamp.
*   Without a generation (a simple consumer, or an admin) a missing group is created.

Deviation from Apache Kafka: the length of metadata is counted in code points, not in UTF-16 units.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.groups.offset_commits import Change, Commit, OffsetCommitter
from kafkatx.broker.coordinator.runtime.record_writer import outcome
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.pending_answers import Outcome, Staging
from kafkatx.config.table import groups as g
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed
from kafkatx.types import NO_TIMESTAMP
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

MEMBER_EPOCHS_SINCE = 9
LONGEST_STRING_BYTES = 2**15 - 1
"""The longest string that a record of ``__consumer_offsets`` can hold."""
MOST_UTF8_BYTES = 4
NO_RETENTION_TIME = -1
LATEST_MS = 2**63 - 1

Valid = list[tuple[str, OffsetCommitRequestPartition, OffsetCommitResponsePartition]]
"""The existing partitions: topic, requested commit, and the part of the response."""


class StagedCommit(Staging[OffsetCommitResponse]):
    """The response to a commit, true once its records are committed."""

    __slots__ = ("_commit", "_commits", "_response")

    def __init__(self, commits: OffsetCommitter, commit: Commit, response: OffsetCommitResponse) -> None:
        self._commits = commits
        self._commit = commit
        self._response = response

    def respond(self, failed: dict[object, OSError]) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
        """Return the response; a Deferred where the records are not committed as soon as written."""
        committed = self._commits.committed(self._commit)
        if committed is not None:
            return Deferred.fromCoroutine(_respond_committed(self._commit, self._response, committed))
        return self._response


async def _respond_committed(
    commit: Commit, response: OffsetCommitResponse, committed: Deferred[None]
) -> OffsetCommitResponse:
    error = await outcome(committed)
    if error:
        commit.refuse(error)
    return response


def answer(
    broker: Broker, request: OffsetCommitRequest, context: RequestContext
) -> Outcome[OffsetCommitResponse]:
    """Stage the offsets; the first commit of all waits until ``__consumer_offsets`` is created."""
    if not broker.groups.topic.exists:
        return Deferred.fromCoroutine(_commit_when_ready(broker, request, context.version))
    commit, response = _prepare(broker, request, context.version)
    if commit is None:
        return response
    broker.groups.commits.add(commit)
    return StagedCommit(broker.groups.commits, commit, response)


async def _commit_when_ready(
    broker: Broker, request: OffsetCommitRequest, version: int
) -> OffsetCommitResponse:
    await broker.groups.topic.ensure()
    commit, response = _prepare(broker, request, version)
    if commit is not None:
        broker.groups.commits.write(commit)
        committed = broker.groups.commits.committed(commit)
        if committed is not None:
            return await _respond_committed(commit, response, committed)
    return response


def _prepare(
    broker: Broker, request: OffsetCommitRequest, version: int
) -> tuple[Commit | None, OffsetCommitResponse]:
    """Return the commit to write, None if there is nothing to write, and the response.

    As in Apache Kafka, unknown partitions are refused first, and the group sees the rest of the request.
    """
    valid, response = existing(broker, request)
    if not valid:
        return None, response
    error = _check(broker, request, version)
    if error:
        for _, _, result in valid:
            result.error_code = error
        return None, response
    changes = changes_of(broker, request, valid)
    if not changes:
        return None, response
    group_id = request.group_id
    return Commit(group_id, broker.groups.served_shard(group_id), changes), response


def existing(broker: Broker, request: OffsetCommitRequest) -> tuple[Valid, OffsetCommitResponse]:
    """Return the existing partitions, and a response that refuses the unknown ones."""
    known = broker.metadata.state.topics
    valid: Valid = []
    topics = []
    for topic in request.topics:
        name, results = topic.name, []
        count = len(known[name].partitions) if name in known else 0
        for asked in topic.partitions:
            number = asked.partition_index
            result = OffsetCommitResponsePartition(number, 0)
            if not 0 <= number < count:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                valid.append((name, asked, result))
            results.append(result)
        topics.append(OffsetCommitResponseTopic(name, results))
    return valid, OffsetCommitResponse(0, topics)


def _check(broker: Broker, request: OffsetCommitRequest, version: int) -> int:
    """Check that the group takes offsets from this client; return NONE or the error.

    As in ``OffsetMetadataManager.validateOffsetCommit``.
    """
    groups, group_id = broker.groups, request.group_id
    error = groups.check(group_id, True)
    if error:
        return error
    generation = request.generation_id_or_member_epoch
    group = groups.find(group_id)
    if group is None:
        if generation >= 0:
            old = version < MEMBER_EPOCHS_SINCE
            return ErrorCode.ILLEGAL_GENERATION if old else ErrorCode.GROUP_ID_NOT_FOUND
        if is_too_long(group_id):
            return ErrorCode.INVALID_GROUP_ID
        group = groups.make(group_id)
    error = group.check_commit(
        request.member_id, request.group_instance_id, generation, version, groups.now_ms()
    )
    if error == ErrorCode.STALE_MEMBER_EPOCH and version < MEMBER_EPOCHS_SINCE:
        return ErrorCode.UNSUPPORTED_VERSION  # such a client does not know that error
    return error


def changes_of(broker: Broker, request: OffsetCommitRequest, valid: Valid) -> list[Change]:
    """Return the offsets to commit; refuse metadata that are too long."""
    now_ms = broker.now_ms()
    most = broker.config[g.OFFSET_METADATA_MAX_BYTES]
    expire_ms = NO_TIMESTAMP
    if request.retention_time_ms != NO_RETENTION_TIME:
        expire_ms = min(max(now_ms + request.retention_time_ms, 0), LATEST_MS)
    changes = []
    for topic, asked, result in valid:
        metadata = asked.committed_metadata or ""
        if len(metadata) > most or is_too_long(metadata):
            result.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            continue
        commit_ms = now_ms if asked.commit_timestamp == NO_TIMESTAMP else asked.commit_timestamp
        committed = Committed(
            asked.committed_offset, asked.committed_leader_epoch, metadata, commit_ms, expire_ms
        )
        changes.append((topic, asked.partition_index, committed, result))
    return changes


def is_too_long(text: str) -> bool:
    """Return True if a string is too long for a record."""
    return len(text) > LONGEST_STRING_BYTES // MOST_UTF8_BYTES and len(text.encode()) > LONGEST_STRING_BYTES


def refuse(
    request: OffsetCommitRequest, context: RequestContext, code: ErrorCode, message: str
) -> OffsetCommitResponse:
    """Refuse every partition with the same error."""
    return OffsetCommitResponse(
        0,
        [
            OffsetCommitResponseTopic(
                topic.name,
                [OffsetCommitResponsePartition(asked.partition_index, code) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


API = Api(OffsetCommitRequest, OffsetCommitResponse, answer, refuse)
