"""The answers to Produce requests for one partition: no response object is made on success.

These are most requests of many producers, and the straight path. Whatever is not plain success goes the way
of all requests, :mod:`kafkatx.broker.produce.staged_produce`. Nothing here does I/O.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.produce.staged_produce import (
    ALL,
    NO_OFFSET,
    ProduceOutcome,
    StagedProduce,
    StoredPart,
    not_committed,
)
from kafkatx.broker.replica.commit_waiters import CommitTimeouts, outcome_now
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.requests.pending_answers import Staging
from kafkatx.broker.requests.produce_reply import ProduceReply
from kafkatx.errors import ErrorCode
from kafkatx.net.requests import Reply
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse


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

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """Return the reply, as :class:`kafkatx.net.requests.Staged` says."""
        partition = self._partition
        if failed or self._throttle_time_ms or partition.offline or partition.must_flush:
            return super().finish(failed)
        if not self._acks:
            return None
        reply = partition.produce_replies.get(self.encoder.version)
        if reply is None or reply.log_start_offset != partition.log.log_start_offset:
            reply = self._encode()
        return [reply.frame(self.correlation_id, self.base_offset)]

    def _encode(self) -> ProduceReply:
        """Encode the reply of which others are copies."""
        partition, encoder = self._partition, self.encoder
        log_start_offset = partition.log.log_start_offset
        reply = ProduceReply(encoder.api_key, encoder.version, self._topic, self._index, log_start_offset)
        partition.produce_replies[encoder.version] = reply
        return reply

    def respond(self, failed: dict[object, OSError]) -> ProduceOutcome:
        """Respond as :meth:`StagedProduce.respond`."""
        return self._as_many().respond(failed)

    def _as_many(self) -> StagedProduce:
        """Return the same as the result of any request. The only replica commits what it writes."""
        acks = 1 if self._acks else 0
        response, result = self._make_response()
        return StagedProduce(acks, response, [StoredPart(self._partition, result, NO_OFFSET, -1)])

    def _make_response(self) -> tuple[ProduceResponse, PartitionProduceResponse]:
        log_start_offset = self._partition.log.log_start_offset
        result = PartitionProduceResponse(self._index, 0, self.base_offset, -1, log_start_offset)
        topics = [TopicProduceResponse(self._topic, [result])]
        return ProduceResponse(topics, self._throttle_time_ms), result


class StagedForCommit(StagedForOne):
    """The result for the only partition of a request with acks=all, where there are several replicas."""

    __slots__ = ("_end_offset", "_leader_epoch", "_timeout_ms", "_timeouts")

    def __init__(
        self,
        topic: str,
        index: int,
        partition: Partition,
        base_offset: int,
        end_offset: int,
        timeouts: CommitTimeouts,
        timeout_ms: int,
    ) -> None:
        super().__init__(ALL, topic, index, partition, base_offset)
        self._end_offset = end_offset
        self._leader_epoch = partition.leader_epoch
        self._timeouts = timeouts
        self._timeout_ms = timeout_ms

    def _as_many(self) -> StagedProduce:
        response, result = self._make_response()
        part = StoredPart(self._partition, result, self._end_offset, self._leader_epoch)
        return StagedProduce(ALL, response, [part], self._timeouts, self._timeout_ms)

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """Return the reply, as :class:`kafkatx.net.requests.Staged` says, once the records are committed."""
        partition, end_offset, leader_epoch = self._partition, self._end_offset, self._leader_epoch
        if failed or self._throttle_time_ms or partition.offline or partition.must_flush:
            return Staging.finish(self, failed)
        code = outcome_now(partition, end_offset, leader_epoch)
        if code is not None:
            return self._reply(code)
        committed: Deferred[ErrorCode] = Deferred()
        deadline_s = self._timeouts.deadline_s(self._timeout_ms / 1000)
        waiters = partition.commit_waiters
        self._timeouts.add(waiters, end_offset, leader_epoch, deadline_s, committed.callback)
        return committed.addCallback(self._reply)

    def _reply(self, code: ErrorCode) -> Reply:
        if code:
            response, result = self._make_response()
            not_committed(result, code)
            return self.encoder.reply(response, self.correlation_id)
        reply = self._partition.produce_replies.get(self.encoder.version)
        if reply is None or reply.log_start_offset != self._partition.log.log_start_offset:
            reply = self._encode()
        return [reply.frame(self.correlation_id, self.base_offset)]
