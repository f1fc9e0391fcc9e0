"""The answers to Produce requests: results that are true once the staged records are written.

Nothing here does I/O, but for flushes that ``flush.messages`` asks for. The handler of Produce makes these.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeAlias

from twisted.internet.defer import Deferred

from kafkatx.broker.produce.record_validation import RecordValidator
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import refusal_code
from kafkatx.broker.requests.pending_answers import Staging
from kafkatx.broker.requests.produce_reply import ProduceReply
from kafkatx.broker.requests.quotation import quoted
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.interfaces import IAppended
from kafkatx.net.requests import Reply
from kafkatx.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

ONE_BATCH_SINCE = 3
OFFLINE = "the log dir of the partition is offline"


ProduceOutcome: TypeAlias = ProduceResponse | Deferred[ProduceResponse | None] | None
"""A response; None for acks=0."""


class StagedProduce(Staging[ProduceResponse]):
    """The results of a produce request, true once the staged records are written."""

    __slots__ = ("_acks", "_response", "_staged")

    def __init__(
        self,
        acks: int,
        response: ProduceResponse,
        staged: list[tuple[Partition, PartitionProduceResponse]],
    ) -> None:
        self._acks = acks
        self._response = response
        self._staged = staged

    def throttle(self, throttle_time_ms: int) -> None:
        """Put the throttle time into the response."""
        self._response.throttle_time_ms = throttle_time_ms

    def respond(self, failed: dict[object, OSError]) -> ProduceOutcome:
        """Return the response; a Deferred where ``flush.messages`` makes it wait for the disk.

        :raises ProtocolViolation: acks=0 and an error: closing is the only way to tell the producer.
        """
        flushing = []
        for partition, result in self._staged:
            if partition in failed:
                _not_stored(result, failed[partition])
            elif partition.offline:  # its log dir failed when another of its logs was written
                _not_stored(result, OSError(errno.EIO, OFFLINE))
            elif partition.must_flush:
                flushing.append((partition.log.flush(), result))
        if flushing:
            return Deferred.fromCoroutine(self._respond_flushed(flushing))
        return self._response_if_wanted()

    async def _respond_flushed(
        self, flushing: list[tuple[Deferred[int], PartitionProduceResponse]]
    ) -> ProduceResponse | None:
        for flushed, result in flushing:
            try:
                await flushed
            except OSError as error:
                _not_stored(result, error)
        return self._response_if_wanted()

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
    """A produce request with records that must be validated before they are staged."""

    __slots__ = ("_unvalidated", "_validator", "_version")
    alone = True

    def __init__(
        self,
        validator: RecordValidator,
        version: int,
        acks: int,
        response: ProduceResponse,
        staged: list[tuple[Partition, PartitionProduceResponse]],
        unvalidated: list[UnvalidatedPart],
    ) -> None:
        super().__init__(acks, response, staged)
        self._validator = validator
        self._version = version
        self._unvalidated = unvalidated

    def respond(self, failed: dict[object, OSError]) -> Deferred[ProduceResponse | None]:
        """Respond as :meth:`StagedProduce.respond`, when all records are validated and written."""
        return Deferred.fromCoroutine(self._respond_validated(super().respond, failed))

    async def _respond_validated(
        self,
        respond: Callable[[dict[object, OSError]], ProduceOutcome],
        failed: dict[object, OSError],
    ) -> ProduceResponse | None:
        validator = self._validator
        size = sum(len(records) for _, records, _, _ in self._unvalidated)
        admitted = validator.admit(size)
        try:
            for partition, records, first, result in self._unvalidated:
                try:
                    if not admitted:
                        raise RequestError(ErrorCode.REQUEST_TIMED_OUT, validator.refusal)
                    one_batch = self._version >= ONE_BATCH_SINCE
                    done = await validator.append(partition, records, one_batch, first)
                except RequestError as error:
                    result.error_code, result.error_message = error.code, str(error)
                except OSError as error:
                    _not_stored(result, error)
                else:
                    _fill(result, done, partition.log.log_start_offset)
        finally:
            if admitted:
                validator.release(size)
        response = respond(failed)
        return await response if isinstance(response, Deferred) else response


class StagedForOne(Staging[ProduceResponse]):
    """The result for the only partition of a request; no response object is made on success.

    :ivar base_offset: the offset of the first record.
    """

    __slots__ = ("_acks", "_index", "_partition", "_throttle_time_ms", "_topic", "base_offset")

    def __init__(self, acks: int, topic: str, index: int, partition: Partition, base_offset: int) -> None:
        self._acks = acks
        self._topic = topic
        self._index = index
        self._partition = partition
        self.base_offset = base_offset
        self._throttle_time_ms = 0

    def throttle(self, throttle_time_ms: int) -> None:
        """Put the throttle time into the response."""
        self._throttle_time_ms = throttle_time_ms

    def respond(self, failed: dict[object, OSError]) -> ProduceOutcome:
        """Respond as :meth:`StagedProduce.respond`."""
        log_start_offset = self._partition.log.log_start_offset
        result = PartitionProduceResponse(self._index, 0, self.base_offset, -1, log_start_offset)
        response = ProduceResponse([TopicProduceResponse(self._topic, [result])], self._throttle_time_ms)
        return StagedProduce(self._acks, response, [(self._partition, result)]).respond(failed)

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """Return the reply, as :class:`kafkatx.net.requests.Staged` says."""
        partition = self._partition
        if failed or self._throttle_time_ms or partition.offline or partition.must_flush:
            return super().finish(failed)
        if not self._acks:
            return None
        encoder = self.encoder
        reply = partition.produce_replies.get(encoder.version)
        if reply is None or reply.log_start_offset != partition.log.log_start_offset:
            reply = partition.produce_replies[encoder.version] = ProduceReply(
                encoder.api_key,
                encoder.version,
                self._topic,
                self._index,
                partition.log.log_start_offset,
            )
        return [reply.frame(self.correlation_id, self.base_offset)]


def _not_stored(result: PartitionProduceResponse, error: OSError) -> None:
    result.error_code = refusal_code(error)
    result.base_offset = -1
    result.error_message = error.strerror


def _fill(result: PartitionProduceResponse, done: IAppended, log_start_offset: int) -> None:
    """Put the outcome of validated records into a result."""
    result.error_code, result.error_message = done.error, done.message
    result.base_offset, result.log_append_time_ms = done.base_offset, done.log_append_time_ms
    result.log_start_offset = log_start_offset
    result.record_errors = [
        BatchIndexAndErrorMessage(index, message) for index, message in done.record_errors
    ]
