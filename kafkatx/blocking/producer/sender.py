"""The sender: pipelined produce requests, in order per partition, retried after retriable errors."""

from __future__ import annotations

from collections import deque
from typing import NoReturn, Protocol

import attrs

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.connection import Channel
from kafkatx.blocking.producer.transaction import Transaction
from kafkatx.blocking.retry import RetryDeadline
from kafkatx.blocking.stalls import StallReporter
from kafkatx.clientcore.leader_hints import of_produce
from kafkatx.clientcore.producer.accumulator import Outcome, RecordAccumulator
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.clientcore.producer.requests import (
    can_be_split,
    code_of,
    error_of,
    is_metadata_stale,
    partition_responses,
    produce_failure,
    produce_request,
)
from kafkatx.errors import KafkaTXError, RequestError
from kafkatx.types import NO_TIMESTAMP
from kafkatx.wire.messages.produce import ProduceRequest, ProduceResponse


@attrs.define
class WriteTotals:
    """Totals of acknowledged records; with acks=0 of sent ones. ``bytes`` counts keys and values."""

    records: int = 0
    bytes: int = 0


@attrs.define(eq=False)
class _InFlightRequest:
    """A produce request whose response is pending."""

    batch: ProducerBatch
    channel: Channel
    ticket: int
    append_time_ms: int = NO_TIMESTAMP


class Auditor(Protocol):
    """Counts written records: :class:`kafkatx.blocking.producer.audit.Announcer`."""

    def count(self, batch: ProducerBatch, append_time_ms: int) -> None:
        """Count an acknowledged batch; *append_time_ms* is the broker's time with LogAppendTime, else -1."""

    def announce(self) -> None:
        """Send the remaining counts. Raises nothing."""


class Sender:
    """Sends the closed batches of a record accumulator.

    Up to *max_in_flight* requests are in flight. When the oldest fails with a retriable error, the responses
    of all others are awaited first; then each partition's queue decides what is sent again (see
    :mod:`kafkatx.clientcore.producer.partition_queue`).

    :param transaction: that all batches are a part of.
    """

    def __init__(
        self,
        cluster: Cluster,
        accumulator: RecordAccumulator,
        *,
        acks: int,
        request_timeout_s: float,
        delivery_timeout_s: float,
        auditor: Auditor | None = None,
        transaction: Transaction | None = None,
    ) -> None:
        self.totals = WriteTotals()
        self._auditor = auditor
        self._transaction = transaction
        self._transactional_id = None if transaction is None else transaction.transactional_id
        self._produce_at_most = None if transaction is None else transaction.produce_at_most
        self._cluster = cluster
        self._accumulator = accumulator
        self._acks = acks
        self._max_in_flight = accumulator.limits.in_flight
        self._request_timeout_ms = int(request_timeout_s * 1000)
        self._retry_deadline = RetryDeadline(
            delivery_timeout_s, cluster.backoff, cluster.clock, cluster.sleep
        )
        self._stall_reporter = StallReporter(cluster.on_wait, cluster.clock)
        self._leaders: dict[tuple[str, int], Channel] = {}
        self._in_flight: deque[_InFlightRequest] = deque()

    def send(self) -> None:
        """Send all closed batches; wait while *max_in_flight* requests are in flight.

        :raises ProduceFailed: one of these or an earlier batch was rejected, or not delivered in time.
        """
        while any(queue.waiting for queue in self._accumulator.busy):
            if not self._send_next():
                self._complete_oldest()

    def drain(self) -> None:
        """Send all closed batches and wait until they are acknowledged; raises as :meth:`send`."""
        self.send()
        while self._in_flight:
            self._complete_oldest()
            self.send()

    def close(self) -> None:
        """Close the connections; unacknowledged batches may be lost."""
        for channel in self._leaders.values():
            channel.close()
        self._leaders.clear()
        self._in_flight.clear()
        self._accumulator.abandon()
        if self._auditor is not None:
            self._auditor.announce()

    def _send_next(self) -> bool:
        """Send one batch if possible; return True if one was tried."""
        if len(self._in_flight) >= self._max_in_flight:
            return False
        for queue in self._accumulator.busy:
            if queue.waiting and queue.sendable(self._max_in_flight):
                self._send_from(queue)
                return True
        return False

    def _send_from(self, queue: PartitionQueue) -> None:
        batch = self._accumulator.take(queue)
        try:
            self._send(batch)
        except KafkaTXError as error:
            self._failed(batch, error, None)

    def _send(self, batch: ProducerBatch) -> None:
        channel = self._leader(batch)
        if self._transaction is not None:
            self._transaction.admit(batch.topic, batch.partition)
        version = channel.version_for(ProduceRequest, self._produce_at_most)
        request = produce_request(
            [batch], version, self._acks, self._request_timeout_ms, self._transactional_id
        )
        ticket = channel.send(request, version, expect_reply=self._acks != 0)
        if self._acks:
            self._in_flight.append(_InFlightRequest(batch, channel, ticket))
        else:
            self._complete(batch, None)

    def _leader(self, batch: ProducerBatch) -> Channel:
        node = self._cluster.leader_node(batch.topic, batch.partition)
        channel = self._leaders.get((node.host, node.port))
        if channel is None or channel.closed:
            channel = self._leaders[node.host, node.port] = self._cluster.new_connection(node)
        return channel

    def _complete_oldest(self) -> None:
        """Wait for the oldest request's response and handle it."""
        request = self._in_flight.popleft()
        error = self._error_of(request)
        if error is None:
            self._complete(request.batch, None, request.append_time_ms)
        else:
            self._failed(request.batch, error, request)

    def _error_of(self, request: _InFlightRequest) -> KafkaTXError | None:
        """Wait for a request's response; return its error, None if the batch is in the log."""
        try:
            response: ProduceResponse = request.channel.receive(request.ticket)
            answer = partition_responses([request.batch], response)[0]
        except KafkaTXError as error:
            return error
        self._cluster.take_leaders(of_produce(response))
        if not isinstance(answer, KafkaTXError):
            request.append_time_ms = answer.log_append_time_ms
        return error_of(answer)

    def _complete(
        self, batch: ProducerBatch, error: KafkaTXError | None, append_time_ms: int = NO_TIMESTAMP
    ) -> Outcome:
        outcome = self._accumulator.complete_batch(batch, error, 0.0)
        if outcome is Outcome.DELIVERED:
            self._retry_deadline.reset()
            self._stall_reporter.recovered()
            self.totals.records += batch.records
            self.totals.bytes += batch.payload_bytes
            if self._auditor is not None:
                self._auditor.count(batch, append_time_ms)
        return outcome

    def _failed(self, batch: ProducerBatch, error: KafkaTXError, refused: _InFlightRequest | None) -> None:
        """Await all pending responses, so that the queues can decide what to send again, and pause.

        Where the responses have named new leaders there is no pause.

        :param refused: None: it could not be sent.
        :raises ProduceFailed: *error* is not retriable, or the time limit is over.
        """
        cut = can_be_split(batch, code_of(error))
        if self._complete(batch, error) is Outcome.FAILED:
            self._raise_failure(batch, error)
        moved = refused is not None and self._has_moved(refused, error)
        requests, self._in_flight = self._in_flight, deque()
        for request in requests:
            later = self._error_of(request)
            moved = moved and (later is None or self._has_moved(request, later))
            if (
                self._complete(request.batch, later, request.append_time_ms) is Outcome.FAILED
                and later is not None
            ):
                self._raise_failure(request.batch, later)
        if cut or moved:
            return
        for channel in self._leaders.values():
            channel.close()
        self._leaders.clear()
        self._cluster.forget_metadata()
        if isinstance(error, RequestError):  # lost connections are reported by the cluster
            self._stall_reporter.failed(f"{batch.topic} [{batch.partition}] takes no records ({error})")
        try:
            self._retry_deadline.wait_or_raise(error)
        except KafkaTXError:
            self._raise_failure(batch, error)

    def _has_moved(self, request: _InFlightRequest, error: KafkaTXError) -> bool:
        """Return True if a batch can be sent to another broker at once."""
        batch = request.batch
        return is_metadata_stale(error) and self._cluster.has_moved(
            batch.topic, batch.partition, request.channel
        )

    def _raise_failure(self, batch: ProducerBatch, error: KafkaTXError) -> NoReturn:
        raise produce_failure(batch, error) from error
