"""Moves an accumulator's batches to the brokers: requests, answers and timers.

What is sent when, and what an answer means, is :mod:`kafkatx.clientcore.producer.accumulator`'s. There is
one Deferred per request here, and none per record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.client.producer.audit import AuditAnnouncer
from kafkatx.client.producer.producer_id import ProducerIdSource
from kafkatx.client.producer.receipts import LostRecords, deliver_batch, fail_batch
from kafkatx.client.producer.stalls import StallWarning
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.producer.accumulator import Outcome, RecordAccumulator
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.clientcore.producer.requests import (
    batch_results,
    delivery_timed_out,
    is_metadata_stale,
    produce_failure,
    produce_request,
)
from kafkatx.clientcore.producer.values import NO_OFFSET
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import NO_TIMESTAMP
from kafkatx.wire.messages.produce import ProduceRequest

_NEVER = float("inf")
_AFTER_A_BUG_S = 0.1


@attrs.frozen
class SenderConfig:
    """How requests are sent.

    :ivar acks: 0 nobody answers, 1 the leader has it, -1 all in-sync replicas have it.
    :ivar timeout_ms: how long the leader may wait for the others.
    :ivar request_bytes: how large a request is, unless one batch is larger.
    :ivar in_flight: how many requests a broker may have to answer.
    """

    acks: int = -1
    timeout_ms: int = 30_000
    request_bytes: int = 1 << 20
    in_flight: int = 5


@attrs.define(eq=False)
class _Node:
    """One broker. ``version`` of Produce is None until it is known."""

    node_id: int
    version: int | None = None
    asking: bool = False
    in_flight: int = 0
    not_before_s: float = 0.0


def _next_batch(queue: PartitionQueue) -> ProducerBatch:
    """The batch that is sent next."""
    following = queue.waiting[0] if queue.waiting else queue.open
    assert following is not None
    return following


class Sender:
    """Sends what is due, and looks again when something else may be.

    :ivar hurry: above 0 nothing lingers.
    :ivar producer_ids: gets the producer's id and epoch.
    :ivar settled: called after records were settled: their memory is free.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        accumulator: RecordAccumulator,
        config: SenderConfig,
        lost_records: LostRecords,
        *,
        callbacks: Any = None,
        handler: Any = None,
        announcer: AuditAnnouncer | None = None,
    ) -> None:
        """:param callbacks: an ``IProducerCallbacks``; *handler*: an ``IEventHandler``."""
        self.hurry = 0
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
        self._nodes: dict[int, _Node] = {}
        self._requests: set[Deferred[Any]] = set()
        self._soon: Any = None
        self._timer: Any = None
        self._timer_at = _NEVER
        self._refreshing = False
        self.producer_ids = ProducerIdSource(cluster, accumulator, self.wake, self._track)
        self._running = False
        self._stopped = False

    # -- when

    def wake(self) -> None:
        """Look what is due as soon as what runs now has ended: records that come until then go together."""
        if self._soon is None and not self._stopped:
            self._soon = self._reactor.callLater(0, self.run_once)

    def set_waiting(self, waits: bool) -> None:
        """Somebody waits for room, or does no more: as long as one does nothing lingers."""
        self.hurry += 1 if waits else -1
        if waits:
            self.wake()

    def wake_at(self, at_s: float) -> None:
        """Look at this time, if not before. A look too many does no harm, so the timer is seldom moved."""
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
        """Give up what is too late, and send what is due. Within itself: once more, soon.

        Raises nothing, and never ends without a timer while anything is gathered.
        """
        if self._running:
            self.wake()
            return
        self._running = True
        try:
            self._run_once()
        except Exception:
            self._log.failure("a producer could not send, it tries again in {s} s", s=_AFTER_A_BUG_S)
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
        now = self._reactor.seconds()
        accumulator = self._accumulator
        ready, again_s = accumulator.due(now, self.hurry > 0)
        if again_s <= now:
            late = accumulator.expire(now)
            for batch in late:
                fail_batch(
                    batch, delivery_timed_out(batch, accumulator.limits.delivery_s), self._lost_records
                )
            if late:
                self.settled()
                if self._stopped:
                    return
            ready, again_s = accumulator.due(now, self.hurry > 0)
        if ready:
            again_s = min(again_s, self._send_ready(ready, now))
        if again_s < _NEVER:
            self.wake_at(again_s)

    def stop(self) -> None:
        """Send nothing more, and drop all answers."""
        self._stopped = True
        for timer in (self._soon, self._timer):
            if timer is not None and timer.active():
                timer.cancel()
        self._soon = self._timer = None
        for request in list(self._requests):
            request.cancel()

    # -- what

    def _send_ready(self, ready: list[PartitionQueue], now: float) -> float:
        """Send from these queues; return when to look at those again that cannot send yet."""
        by_node: dict[int, list[PartitionQueue]] = {}
        for queue in ready:
            leader = self._cluster.leader(queue.topic, queue.partition)
            # What is under way to a former leader is answered first, so that nothing overtakes it.
            if not queue.in_flight or queue.node_id == leader:
                by_node.setdefault(leader, []).append(queue)
        again_s = _NEVER
        for node_id, queues in by_node.items():
            if node_id < 0:
                self._stall_warning.tell(_next_batch(queues[0]), "the partition has no leader", now)
                self._find_leaders()
                continue
            node = self._nodes.get(node_id) or self._nodes.setdefault(node_id, _Node(node_id))
            if node.not_before_s > now:
                again_s = min(again_s, node.not_before_s)
            elif node.version is None:
                self._request_version(node)
            else:
                self._send_to_node(node, node.version, queues)
        return again_s

    def _send_to_node(self, node: _Node, version: int, queues: list[PartitionQueue]) -> None:
        """Send requests to one broker, as many as it may have: in each at most one batch per partition."""
        limit = self._accumulator.limits.in_flight
        while queues and node.in_flight < self._config.in_flight:
            batches: list[ProducerBatch] = []
            again: list[PartitionQueue] = []
            size = 0
            for at, queue in enumerate(queues):
                following = _next_batch(queue)
                size += len(following.data) or following.size_bytes
                if batches and size > self._config.request_bytes:
                    again = queues[at:] + again
                    break
                queue.node_id = node.node_id
                batch = self._take(queue)
                if batch is not None:
                    batches.append(batch)
                if queue.waiting and queue.sendable(limit):
                    again.append(queue)
            queues = again
            if batches:
                self._send(node, version, batches)

    def _take(self, queue: PartitionQueue) -> ProducerBatch | None:
        """Take a batch; None: it could not be sealed, and was given up."""
        try:
            return self._accumulator.take(queue)
        except Exception as error:
            self._log.failure("a batch could not be encoded")
            batch = self._accumulator.drop(queue)
            fail_batch(batch, produce_failure(batch, error), self._lost_records)
            self.settled()
            return None

    def _send(self, node: _Node, version: int, batches: list[ProducerBatch]) -> None:
        node.in_flight += 1
        config = self._config
        if self._callbacks is not None:
            for batch in batches:
                if batch.attempts == 1:
                    self._call_told(self._callbacks.after_dequeue, batch)
            self._call_told(self._callbacks.before_sending, node.node_id, tuple(batches))
        message = produce_request(batches, version, config.acks, config.timeout_ms)

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
            self._answered,
            self._lost,
            callbackArgs=(request, node, batches),
            errbackArgs=(request, node, batches),
        ).addErrback(self._log_bug)

    # -- answers

    def _answered(
        self, response: Any, request: Deferred[Any], node: _Node, batches: list[ProducerBatch]
    ) -> None:
        self._requests.discard(request)
        node.in_flight -= 1
        if self._stopped:
            return
        if response is None:
            self._settle([(batch, None, NO_OFFSET, NO_TIMESTAMP) for batch in batches])
            return
        results: Sequence[tuple[ProducerBatch, Any, int, int]]
        try:
            if response.throttle_time_ms:
                node.not_before_s = self._reactor.seconds() + response.throttle_time_ms / 1000
            results = batch_results(batches, response)
        except Exception as error:  # an event handler may fire with anything
            self._log.failure("the answer to a produce request cannot be read")
            results = [(batch, error, NO_OFFSET, NO_TIMESTAMP) for batch in batches]
        self._settle(results)

    def _lost(
        self, failure: Failure, request: Deferred[Any], node: _Node, batches: list[ProducerBatch]
    ) -> None:
        self._requests.discard(request)
        node.in_flight -= 1
        if self._stopped:
            return
        error: Any = failure.value
        if isinstance(error, ConnectionFailed):
            node.version = None  # who answers there next may be another
        elif not isinstance(error, KafkaTXError):
            self._log.failure("a produce request could not be sent", failure)
        self._settle([(batch, error, NO_OFFSET, NO_TIMESTAMP) for batch in batches])

    def _settle(self, results: Sequence[tuple[ProducerBatch, Any, int, int]]) -> None:
        """Act upon all answers of a request, then tell those who wait, then send more.

        :param results: of each batch: why it is not in the log, or its base offset and the broker's time.
        """
        now = self._reactor.seconds()
        outcomes = []
        for batch, error, _, _ in results:
            outcomes.append(self._accumulator.complete_batch(batch, error, now))
            if error is not None and is_metadata_stale(error):
                self._cluster.stale()
        for outcome, (batch, error, base_offset, time_ms) in zip(outcomes, results, strict=True):
            if outcome is Outcome.DELIVERED and self._announcer is not None:
                self._announcer.count(batch, time_ms)
            if batch.expired:
                continue  # it was given up before its answer came: who waited was told then
            if outcome is Outcome.DELIVERED:
                deliver_batch(batch, base_offset, time_ms)
            elif outcome is Outcome.FAILED:
                fail_batch(batch, produce_failure(batch, error), self._lost_records)
            else:
                self._stall_warning.tell(batch, error, now)
        if Outcome.FAILED in outcomes or Outcome.RETRY in outcomes:
            self.producer_ids.check()
        self.settled()
        self.wake()  # several answers come in one read: what they let go leaves together

    def _log_bug(self, failure: Failure) -> None:
        self._log.failure("an answer to a produce request was not handled", failure)
        self.run_once()

    def _call_told(self, callback: Callable[..., Any], *arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception:
            self._log.failure("a producer's callback failed")

    # -- what must be known before

    def _find_leaders(self) -> None:
        """Some partition has no leader: ask for metadata until it has."""
        if self._refreshing:
            return
        self._refreshing = True

        def refreshed(result: object) -> None:
            self._refreshing = False
            if isinstance(result, Failure):  # the cluster is closed: asking again at once would not help
                pause_s = self._accumulator.backoff.longest_ms / 1000 or 1.0
                self.wake_at(self._reactor.seconds() + pause_s)
            else:
                self.run_once()

        self._track(self._cluster.refreshed()).addBoth(refreshed)

    def _request_version(self, node: _Node) -> None:
        """Ask which Produce a broker speaks: one before Kafka 0.11 gets message sets."""
        if node.asking:
            return
        node.asking = True

        def told(version: int) -> None:
            node.asking = False
            node.version = version
            self.run_once()

        def failed(failure: Failure) -> None:
            node.asking = False
            if self._stopped:
                return
            self._cluster.stale()
            node.not_before_s = self._reactor.seconds() + self._accumulator.backoff.pause_s(0)
            self._log.debug("broker {node} does not answer: {error}", node=node.node_id, error=failure.value)
            self.run_once()

        self._track(self._cluster.version_for(node.node_id, ProduceRequest)).addCallbacks(
            told, failed
        ).addErrback(self._log_bug)

    def _track(self, request: Deferred[Any]) -> Deferred[Any]:
        """Remember to cancel it if it has not fired when the producer stops."""

        def forget(result: Any) -> Any:
            self._requests.discard(request)
            return result

        self._requests.add(request)
        return request.addBoth(forget)
