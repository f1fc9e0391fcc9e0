"""The answers to Produce requests: results that are true once the staged records are written.

With acks=all and several replicas they are true once the records are committed
(:mod:`kafkatx.broker.replica.commit_waiters`). Nothing here does I/O, but for flushes that ``flush.messages``
asks for. The handler of Produce makes these.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from twisted.internet.defer import Deferred

from kafkatx.broker.produce.record_validation import RecordsRefused, RecordValidator
from kafkatx.broker.produce.verdicts import verdict_on
from kafkatx.broker.replica.commit_waiters import CommitTimeouts, outcome_now
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import refusal_code
from kafkatx.broker.requests.pending_answers import Staging
from kafkatx.broker.requests.quotation import quoted
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.interfaces import IAppended
from kafkatx.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
)

if TYPE_CHECKING:  # with the first transaction
    from kafkatx.broker.coordinator.transactions.verification import PendingVerifications

ONE_BATCH_SINCE = 3
ALL = -1
NO_OFFSET = -1
OFFLINE = "the log dir of the partition is offline"
NOT_COMMITTED = {
    ErrorCode.REQUEST_TIMED_OUT: "the records are written, but not on all in-sync replicas in time",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "the records are written, but too few replicas are in sync",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "the leader changed before the records were on all in-sync replicas",
    ErrorCode.KAFKA_STORAGE_ERROR: OFFLINE,
}
"""The message with each error after which the records may be committed nevertheless."""


ProduceOutcome: TypeAlias = ProduceResponse | Deferred[ProduceResponse | None] | None
"""A response; None for acks=0."""


class StoredPart(NamedTuple):
    """The records of a request that one partition has staged.

    :ivar result: the part of the response.
    :ivar end_offset: the offset after the last record.
    :ivar leader_epoch: the leader epoch in which they are written.
    """

    partition: Partition
    result: PartitionProduceResponse
    end_offset: int
    leader_epoch: int


class StagedProduce(Staging[ProduceResponse]):
    """The results of a produce request, true once its records are written and, for acks=all, committed.

    :param staged: the parts that are staged.
    :param timeouts: gives up the wait for replicas; None if the request does not wait for them.
    :param timeout_ms: the longest time of that wait.
    """

    __slots__ = ("_acks", "_response", "_staged", "_timeout_ms", "_timeouts")

    def __init__(
        self,
        acks: int,
        response: ProduceResponse,
        staged: list[StoredPart],
        timeouts: CommitTimeouts | None = None,
        timeout_ms: int = 0,
    ) -> None:
        self._acks = acks
        self._response = response
        self._staged = staged
        self._timeouts = timeouts
        self._timeout_ms = timeout_ms

    def throttle(self, throttle_time_ms: int) -> None:
        """Put the throttle time into the response."""
        self._response.throttle_time_ms = throttle_time_ms

    def respond(self, failed: dict[object, OSError]) -> ProduceOutcome:
        """Return the response; a Deferred where it waits for the disk (``flush.messages``) or for replicas.

        :raises ProtocolViolation: acks=0 and an error: closing is the only way to tell the producer.
        """
        return self._respond_written(self._written(failed))

    def _written(self, failed: dict[object, OSError]) -> list[StoredPart]:
        """Refuse the parts whose write has failed; return the others."""
        written = []
        for part in self._staged:
            if part.partition in failed:
                _not_stored(part.result, failed[part.partition])
            else:
                written.append(part)
        return written

    def _respond_written(self, parts: list[StoredPart]) -> ProduceOutcome:
        flushing = []
        for part in parts:
            if part.partition.offline:  # its log dir failed when another of its logs was written
                _not_stored(part.result, OSError(errno.EIO, OFFLINE))
            elif part.partition.must_flush:
                flushing.append((part.partition.log.flush(), part.result))
        if flushing:
            return Deferred.fromCoroutine(self._respond_flushed(parts, flushing))
        return self._respond_committed(parts)

    async def _respond_flushed(
        self, parts: list[StoredPart], flushing: list[tuple[Deferred[int], PartitionProduceResponse]]
    ) -> ProduceResponse | None:
        for flushed, result in flushing:
            try:
                await flushed
            except OSError as error:
                _not_stored(result, error)
        response = self._respond_committed(parts)
        return await response if isinstance(response, Deferred) else response

    def _respond_committed(self, parts: list[StoredPart]) -> ProduceOutcome:
        """Respond when all parts are committed; at once unless acks=all and there are several replicas."""
        if self._acks != ALL:
            return self._response_if_wanted()
        waiting = []
        for part in parts:
            if part.partition.replicated and not part.result.error_code:
                code = outcome_now(part.partition, part.end_offset, part.leader_epoch)
                if code is None:
                    waiting.append(part)
                elif code:
                    not_committed(part.result, code)
        return self._respond_later(waiting) if waiting else self._response_if_wanted()

    def _respond_later(self, parts: list[StoredPart]) -> Deferred[ProduceResponse | None]:
        """Respond when the last of *parts* is committed, or given up."""
        responding: Deferred[ProduceResponse | None] = Deferred()
        left = len(parts)

        def settle(result: PartitionProduceResponse, code: ErrorCode) -> None:
            nonlocal left
            left -= 1
            if code:
                not_committed(result, code)
            if not left:
                responding.callback(self._response)

        timeouts = self._timeouts
        assert timeouts is not None  # as the request has acks=all
        deadline_s = timeouts.deadline_s(self._timeout_ms / 1000)
        for partition, result, end_offset, leader_epoch in parts:
            waiters = partition.commit_waiters
            timeouts.add(waiters, end_offset, leader_epoch, deadline_s, partial(settle, result))
        return responding

    def _response_if_wanted(self) -> ProduceResponse | None:
        if self._acks:
            return self._response
        for topic in self._response.responses:
            for result in topic.partition_responses:
                if result.error_code:
                    raise ProtocolViolation(
                        f"produce with acks=0 to partition {result.index} of {quoted(topic.name)} failed:"
                        f" {ErrorCode.of(result.error_code).name} {result.error_message or ''}"
                    )
        return None


UnvalidatedPart: TypeAlias = tuple[Partition, memoryview | bytes, IAppended, PartitionProduceResponse]
"""A partition, its records, the result of a first append, and the result to fill in."""


class UnvalidatedProduce(StagedProduce):
    """A produce request with records that must be validated before they are staged.

    :param verifications: what tells if verified transactions have ended meanwhile; None if the request has no
        transactional id.
    """

    __slots__ = ("_unvalidated", "_validator", "_verifications", "_version")
    alone = True

    def __init__(
        self,
        validator: RecordValidator,
        version: int,
        acks: int,
        response: ProduceResponse,
        staged: list[StoredPart],
        unvalidated: list[UnvalidatedPart],
        timeouts: CommitTimeouts,
        timeout_ms: int,
        verifications: PendingVerifications | None = None,
    ) -> None:
        super().__init__(acks, response, staged, timeouts, timeout_ms)
        self._validator = validator
        self._verifications = verifications
        self._version = version
        self._unvalidated = unvalidated

    def respond(self, failed: dict[object, OSError]) -> Deferred[ProduceResponse | None]:
        """Respond as :meth:`StagedProduce.respond`, when all records are validated and written."""
        return Deferred.fromCoroutine(self._respond_validated(self._written(failed)))

    async def _respond_validated(self, parts: list[StoredPart]) -> ProduceResponse | None:
        validator = self._validator
        size = sum(len(records) for _, records, _, _ in self._unvalidated)
        admitted = validator.admit(size)
        verdicts = [
            verdict_on(self._verifications, partition, records)
            for partition, records, _, _ in self._unvalidated
        ]
        try:
            for (partition, records, first, result), verdict in zip(self._unvalidated, verdicts, strict=True):
                try:
                    if not admitted:
                        raise RequestError(ErrorCode.REQUEST_TIMED_OUT, validator.refusal)
                    one_batch = self._version >= ONE_BATCH_SINCE
                    done, leader_epoch = await validator.append(partition, records, one_batch, first, verdict)
                except RequestError as error:
                    result.error_code, result.error_message = error.code, str(error)
                    if isinstance(error, RecordsRefused):
                        result.record_errors = _listed(error.record_errors)
                except OSError as error:
                    _not_stored(result, error)
                else:
                    _fill(result, done, partition.log.log_start_offset)
                    if not done.error:
                        parts.append(StoredPart(partition, result, done.last_offset + 1, leader_epoch))
        finally:
            for verdict in verdicts:
                if verdict is not None:
                    verdict.end()
            if admitted:
                validator.release(size)
        response = self._respond_written(parts)
        return await response if isinstance(response, Deferred) else response


def _not_stored(result: PartitionProduceResponse, error: OSError) -> None:
    result.error_code = refusal_code(error)
    result.base_offset = -1
    result.error_message = error.strerror


def not_committed(result: PartitionProduceResponse, code: ErrorCode) -> None:
    """Put the error into a result; the offset stays in it, as in Apache Kafka: the records are written."""
    result.error_code = code
    result.error_message = NOT_COMMITTED.get(code)


def _fill(result: PartitionProduceResponse, done: IAppended, log_start_offset: int) -> None:
    """Put the outcome of validated records into a result."""
    result.error_code, result.error_message = done.error, done.message
    result.base_offset, result.log_append_time_ms = done.base_offset, done.log_append_time_ms
    result.log_start_offset = log_start_offset
    result.record_errors = _listed(done.record_errors)


def _listed(record_errors: Sequence[tuple[int, str]]) -> list[BatchIndexAndErrorMessage]:
    return [BatchIndexAndErrorMessage(index, message) for index, message in record_errors]
