"""Sends an accumulator's batches to the brokers, and handles replies and timers.

:mod:`kafkatx.clientcore.producer.accumulator` decides which batches are due and which are retried. There is
one Deferred per request here, and none per record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.client.producer.audit import AuditAnnouncer
from kafkatx.client.producer.producer_id import ProducerIdSource
from kafkatx.client.producer.receipts import LostRecords, deliver_batch, fail_batch
from kafkatx.client.producer.stalls import StallWarning
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.leader_hints import of_produce
from kafkatx.clientcore.producer.accumulator import Outcome, RecordAccumulator
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.producer.config import SenderConfig
from kafkatx.clientcore.producer.node import Node
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.clientcore.producer.requests import (
    BatchResult,
    batch_results,
    delivery_timed_out,
    is_metadata_stale,
    produce_failure,
    produce_request,
)
from kafkatx.clientcore.producer.transactions.gate import TransactionGate
from kafkatx.clientcore.producer.values import NO_OFFSET
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IEventHandler, IProducerCallbacks
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import NO_TIMESTAMP
from kafkatx.wire.messages.produce import ProduceRequest, ProduceResponse

T = TypeVar("T")

_NEVER = float("inf")
_AFTER_A_BUG_S = 0.1


class Sender:
    """Sends the batches that are due, and wakes itself when the next one is.

    :ivar hurry: the number of reasons not to linger (flushes, callers that wait for memory).
    :ivar producer_ids: requests the producer's id and epoch.
    :ivar gate: of a producer with transactions.
    :ivar settled: called after batches were settled, which frees their memory.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        accumulator: RecordAccumulator,
        config: SenderConfig,
        lost_records: LostRecords,
        *,
        callbacks: IProducerCallbacks | None = None,
        handler: IEventHandler | None = None,
        announcer: AuditAnnouncer | None = None,
    ) -> None:
        self.hurry = 0
        self.gate: TransactionGate | None = None
        self.settled: Callable[[], None] = lambda: None
        self._cluster = cluster
        self._reactor = cluster.reactor
        self._accumulator = accumulator
        self._config = config
        self._lost_records = lost_records
        self._callbacks = callbacks
        self._handler = handler
        self._announcer = announcer
        self._stall_warning = StallWarning(accumulator.limits.delivery_s)
        self._nodes: dict[int, Node] = {}
        self._requests: set[Deferred[Any]] = set()
        self._soon: IDelayedCall | None = None
        self._timer: IDelayedCall | None = None
        self._timer_at = _NEVER
        self._refreshing = False
        self.producer_ids = ProducerIdSource(cluster, accumulator, self.wake, self._track)
        self._running = False
        self._stopped = False

    # -- timers

    def wake(self) -> None:
        """Run once in the next turn of the reactor, so that records of this turn share requests."""
        if self._soon is None and not self._stopped:
            self._soon = self._reactor.callLater(0, self.run_once)

    def set_waiting(self, waiting: bool) -> None:
        """Stop lingering while callers wait for memory; linger again when none does."""
        self.hurry += 1 if waiting else -1
        if waiting:
            self.wake()

    def wake_at(self, at_s: float) -> None:
        """Run once at this time or earlier.

        A superfluous run does no harm, so an earlier timer stays, and a later one is replaced.
        """
        if at_s >= self._timer_at or self._stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at_s
        self._timer = self._reactor.callLater(max(0.0, at_s - self._reactor.seconds()), self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer, self._timer_at = None, _NEVER
        self.run_once()

    def run_once(self) -> None:
        """Expire batches that are too late, and send those that are due.

        A nested call is deferred to the next turn of the reactor. Raises nothing, and leaves a timer running
        while the accumulator holds anything.
        """
        if self._running:
            self.wake()
            return
        self._running = True
        try:
            self._run_once()
        except Exception:
            self._log.failure("a producer could not send; it tries again in {s} s", s=_AFTER_A_BUG_S)
            self.wake_at(self._reactor.seconds() + _AFTER_A_BUG_S)
        finally:
            self._running = False

    def _run_once(self) -> None:
        if self._soon is not None:
            if self._soon.active():
                self._soon.cancel()
            self._soon = None
        if self._stopped:
            return
        if self.gate is not None:
            self.gate.check()
        now = self._reactor.seconds()
        accumulator = self._accumulator
        ready, next_s = accumulator.ready(now, self.hurry > 0)
        if next_s <= now:
            expired = accumulator.expire(now)
            for batch in expired:
                error = delivery_timed_out(batch, accumulator.limits.delivery_s)
                fail_batch(batch, error, self._lost_records)
            if expired:
                self.settled()
                if self._stopped:
                    return
            ready, next_s = accumulator.ready(now, self.hurry > 0)
        if ready:
            next_s = min(next_s, self._send_ready(ready, now))
        if next_s < _NEVER:
            self.wake_at(next_s)

    def stop(self) -> None:
        """Stop the timers and cancel all requests; their replies are dropped."""
        self._stopped = True
        for timer in (self._soon, self._timer):
            if timer is not None and timer.active():
                timer.cancel()
        self._soon = self._timer = None
        for request in list(self._requests):
            request.cancel()

    # -- requests

    def _send_ready(self, ready: list[PartitionQueue], now: float) -> float:
        """Send from these queues; return the time at which throttled brokers can be sent to."""
        by_node: dict[int, list[PartitionQueue]] = {}
        for queue in ready if self.gate is None else self.gate.admit(ready):
            leader = self._cluster.leader(queue.topic, queue.partition)
            # A batch in flight to a former leader is answered first, so that no other overtakes it.
            if not queue.in_flight or queue.node_id == leader:
                by_node.setdefault(leader, []).append(queue)
        next_s = _NEVER
        for node_id, queues in by_node.items():
            if node_id < 0:
                self._stall_warning.retried(queues[0].next_batch(), "the partition has no leader", now)
                self._find_leaders()
                continue
            node = self._nodes.get(node_id) or self._nodes.setdefault(node_id, Node(node_id))
            if node.not_before_s > now:
                next_s = min(next_s, node.not_before_s)
            elif node.version is None:
                self._request_version(node)
            else:
                self._send_to_node(node, node.version, queues)
        return next_s

    def _send_to_node(self, node: Node, version: int, queues: list[PartitionQueue]) -> None:
        """Fill requests for one broker, up to its limit; each has at most one batch per partition."""
        limit = self._accumulator.limits.in_flight
        while queues and node.in_flight < self._config.in_flight:
            batches: list[ProducerBatch] = []
            left: list[PartitionQueue] = []
            size = 0
            for at, queue in enumerate(queues):
                next_batch = queue.next_batch()
                size += len(next_batch.data) or next_batch.size_bytes
                if batches and size > self._config.request_bytes:
                    left = queues[at:] + left
                    break
                queue.node_id = node.node_id
                batch = self._take(queue)
                if batch is not None:
                    batches.append(batch)
                if queue.waiting and queue.sendable(limit):
                    left.append(queue)
            queues = left
            if batches:
                self._send(node, version, batches)

    def _take(self, queue: PartitionQueue) -> ProducerBatch | None:
        """Take the next batch; None: it could not be encoded, and has failed."""
        try:
            return self._accumulator.take(queue)
        except Exception as error:
            self._log.failure("a batch could not be encoded")
            batch = self._accumulator.drop(queue)
            fail_batch(batch, produce_failure(batch, error), self._lost_records)
            self.settled()
            return None

    def _send(self, node: Node, version: int, batches: list[ProducerBatch]) -> None:
        node.in_flight += 1
        config = self._config
        if self._callbacks is not None:
            for batch in batches:
                if batch.attempts == 1:
                    self._call_back(self._callbacks.after_dequeue, batch)
            self._call_back(self._callbacks.before_sending, node.node_id, tuple(batches))
        transactional_id = None if self.gate is None else self.gate.transactional_id
        message = produce_request(batches, version, config.acks, config.timeout_ms, transactional_id)

        def send() -> Deferred[Any]:
            return self._cluster.request(
                node.node_id, message, version=version, expect_reply=config.acks != 0
            )

        if self._handler is None:
            request = send()
        else:
            request = maybeDeferred(self._handler.handle, node.node_id, tuple(batches), send)
        self._requests.add(request)
        request.addCallbacks(
            self._replied,
            self._failed,
            callbackArgs=(request, node, batches),
            errbackArgs=(request, node, batches),
        ).addErrback(self._log_bug)

    # -- replies

    def _replied(
        self,
        response: ProduceResponse | None,
        request: Deferred[Any],
        node: Node,
        batches: list[ProducerBatch],
    ) -> None:
        self._requests.discard(request)
        node.in_flight -= 1
        if self._stopped:
            return
        if response is None:
            self._settle([(batch, None, NO_OFFSET, NO_TIMESTAMP) for batch in batches])
            return
        results: Sequence[BatchResult]
        try:
            if response.throttle_time_ms:
                node.not_before_s = self._reactor.seconds() + response.throttle_time_ms / 1000
            if (hints := of_produce(response)) is not None:
                self._cluster.take_leaders(hints)
            results = batch_results(batches, response)
        except Exception as error:  # an event handler's Deferred may fire with any object
            self._log.failure("the reply to a produce request cannot be read")
            results = [(batch, error, NO_OFFSET, NO_TIMESTAMP) for batch in batches]
        self._settle(results)

    def _failed(
        self, failure: Failure, request: Deferred[Any], node: Node, batches: list[ProducerBatch]
    ) -> None:
        self._requests.discard(request)
        node.in_flight -= 1
        if self._stopped:
            return
        error = failure.value
        assert isinstance(error, Exception)
        if isinstance(error, ConnectionFailed):
            node.version = None  # the broker may be another version when it is back
        elif not isinstance(error, KafkaTXError):
            self._log.failure("a produce request could not be sent", failure)
        self._settle([(batch, error, NO_OFFSET, NO_TIMESTAMP) for batch in batches])

    def _settle(self, results: Sequence[BatchResult]) -> None:
        """Update the queues with all results of a request, then fire receipts, then send more."""
        now = self._reactor.seconds()
        outcomes = []
        for batch, error, _, _ in results:
            at_once = error is not None and is_metadata_stale(error) and self._has_new_leader(batch)
            outcomes.append(self._accumulator.complete_batch(batch, error, now, at_once))
        for outcome, (batch, error, base_offset, time_ms) in zip(outcomes, results, strict=True):
            if outcome is Outcome.DELIVERED and self._announcer is not None:
                self._announcer.count(batch, time_ms)
            if batch.expired:
                continue  # its receipts have failed before the reply came
            if outcome is Outcome.DELIVERED:
                deliver_batch(batch, base_offset, time_ms)
            elif outcome is Outcome.FAILED and error is not None:
                fail_batch(batch, produce_failure(batch, error), self._lost_records)
            else:
                self._stall_warning.retried(batch, error, now)
        if self.gate is None and (Outcome.FAILED in outcomes or Outcome.RETRY in outcomes):
            self.producer_ids.check()
        self.settled()
        self.wake()  # in the next turn: several replies may come in one read, and share requests then

    def _log_bug(self, failure: Failure) -> None:
        self._log.failure("the reply to a produce request was not handled", failure)
        self.run_once()

    def _call_back(self, callback: Callable[..., object], *arguments: object) -> None:
        try:
            callback(*arguments)
        except Exception:
            self._log.failure("a producer's callback failed")

    # -- metadata and versions

    def _has_new_leader(self, batch: ProducerBatch) -> bool:
        """Return True if another broker than the one that was sent to leads now; else refresh metadata."""
        sent_to = self._accumulator.queue(batch.topic, batch.partition).node_id
        if self._cluster.leader(batch.topic, batch.partition) not in (-1, sent_to):
            return True
        self._cluster.stale()
        return False

    def _find_leaders(self) -> None:
        """Refresh metadata, because a partition has no leader, and run again after that."""
        if self._refreshing:
            return
        self._refreshing = True

        def refreshed(result: object) -> None:
            self._refreshing = False
            if isinstance(result, Failure):  # the cluster is closed; do not try again at once
                pause_s = self._accumulator.backoff.longest_ms / 1000 or 1.0
                self.wake_at(self._reactor.seconds() + pause_s)
            else:
                self.run_once()

        self._track(self._cluster.refreshed()).addBoth(refreshed)

    def _request_version(self, node: Node) -> None:
        """Look up the version of Produce; a broker before Kafka 0.11 gets message sets."""
        if node.version_requested:
            return
        node.version_requested = True

        def known(version: int) -> None:
            node.version_requested, node.version = False, version
            self.run_once()

        def failed(failure: Failure) -> None:
            node.version_requested = False
            if self._stopped:
                return
            self._cluster.stale()
            node.not_before_s = self._reactor.seconds() + self._accumulator.backoff.pause_s(0)
            self._log.debug("broker {node} does not answer: {error}", node=node.node_id, error=failure.value)
            self.run_once()

        at_most = None if self.gate is None else self.gate.produce_at_most
        self._track(self._cluster.version_for(node.node_id, ProduceRequest, at_most)).addCallbacks(
            known, failed
        ).addErrback(self._log_bug)

    def _track(self, request: Deferred[T]) -> Deferred[T]:
        """Cancel *request* when the producer stops, if it has not fired by then."""

        def forget(result: T) -> T:
            self._requests.discard(request)
            return result

        self._requests.add(request)
        return request.addBoth(forget)
