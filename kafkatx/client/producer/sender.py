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

from kafkatx.client.producer.audit import Auditor
from kafkatx.client.producer.producer_id import IdentitySource
from kafkatx.client.producer.receipts import Losses, deliver, fail_batch
from kafkatx.client.producer.stalls import Stalls
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.producer.accumulator import Accumulator, Outcome
from kafkatx.clientcore.producer.batch import Batch
from kafkatx.clientcore.producer.partition_queue import Outbox
from kafkatx.clientcore.producer.requests import given_up, moved, produce_request, results_of, too_late
from kafkatx.clientcore.producer.values import NO_OFFSET
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import NO_TIMESTAMP
from kafkatx.wire.messages.produce import ProduceRequest

_NEVER = float("inf")
_AFTER_A_BUG_S = 0.1


@attrs.frozen
class Manner:
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


def _first(outbox: Outbox) -> Batch:
    """The batch that is sent next."""
    following = outbox.waiting[0] if outbox.waiting else outbox.open
    assert following is not None
    return following


class Sender:
    """Sends what is due, and looks again when something else may be.

    :ivar hurry: above 0 nothing lingers.
    :ivar identities: gets the producer's identity.
    :ivar settled: called after records were settled: their memory is free.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator,
        manner: Manner,
        losses: Losses,
        *,
        callbacks: Any = None,
        handler: Any = None,
        auditor: Auditor | None = None,
    ) -> None:
        """:param callbacks: an ``IProducerCallbacks``; *handler*: an ``IEventHandler``."""
        self.hurry = 0
        self.settled: Callable[[], None] = lambda: None
        self._cluster = cluster
        self._reactor = cluster.reactor
        self._accumulator = accumulator
        self._manner = manner
        self._losses = losses
        self._callbacks = callbacks
        self._handler = handler
        self._auditor = auditor
        self._stalls = Stalls(accumulator.limits.delivery_s)
        self._nodes: dict[int, _Node] = {}
        self._requests: set[Deferred[Any]] = set()
        self._soon: Any = None
        self._timer: Any = None
        self._timer_at = _NEVER
        self._refreshing = False
        self.identities = IdentitySource(cluster, accumulator, self.wake, self._keep)
        self._turning = False
        self._stopped = False

    # -- when

    def wake(self) -> None:
        """Look what is due as soon as what runs now has ended: records that come until then go together."""
        if self._soon is None and not self._stopped:
            self._soon = self._reactor.callLater(0, self.turn)

    def press(self, waits: bool) -> None:
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
        self._timer = self._reactor.callLater(max(0.0, at_s - self._reactor.seconds()), self._ring)

    def _ring(self) -> None:
        self._timer, self._timer_at = None, _NEVER
        self.turn()

    def turn(self) -> None:
        """Give up what is too late, and send what is due. Within itself: once more, soon.

        Raises nothing, and never ends without a timer while anything is gathered.
        """
        if self._turning:
            self.wake()
            return
        self._turning = True
        try:
            self._turn()
        except Exception:
            self._log.failure("a producer could not send, it tries again in {s} s", s=_AFTER_A_BUG_S)
            self.wake_at(self._reactor.seconds() + _AFTER_A_BUG_S)
        finally:
            self._turning = False

    def _turn(self) -> None:
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
                fail_batch(batch, too_late(batch, accumulator.limits.delivery_s), self._losses)
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

    def _send_ready(self, ready: list[Outbox], now: float) -> float:
        """Send from these outboxes; return when to look at those again that cannot send yet."""
        by_node: dict[int, list[Outbox]] = {}
        for outbox in ready:
            leader = self._cluster.leader(outbox.topic, outbox.partition)
            # What is under way to a former leader is answered first, so that nothing overtakes it.
            if not outbox.in_flight or outbox.node_id == leader:
                by_node.setdefault(leader, []).append(outbox)
        again_s = _NEVER
        for node_id, outboxes in by_node.items():
            if node_id < 0:
                self._stalls.tell(_first(outboxes[0]), "the partition has no leader", now)
                self._find_leaders()
                continue
            node = self._nodes.get(node_id) or self._nodes.setdefault(node_id, _Node(node_id))
            if node.not_before_s > now:
                again_s = min(again_s, node.not_before_s)
            elif node.version is None:
                self._ask_version(node)
            else:
                self._fill(node, node.version, outboxes)
        return again_s

    def _fill(self, node: _Node, version: int, outboxes: list[Outbox]) -> None:
        """Send requests to one broker, as many as it may have: in each at most one batch per partition."""
        limit = self._accumulator.limits.in_flight
        while outboxes and node.in_flight < self._manner.in_flight:
            batches: list[Batch] = []
            again: list[Outbox] = []
            size = 0
            for at, outbox in enumerate(outboxes):
                following = _first(outbox)
                size += len(following.data) or following.size_bytes
                if batches and size > self._manner.request_bytes:
                    again = outboxes[at:] + again
                    break
                outbox.node_id = node.node_id
                batch = self._take(outbox)
                if batch is not None:
                    batches.append(batch)
                if outbox.waiting and outbox.sendable(limit):
                    again.append(outbox)
            outboxes = again
            if batches:
                self._send(node, version, batches)

    def _take(self, outbox: Outbox) -> Batch | None:
        """Take a batch; None: it could not be sealed, and was given up."""
        try:
            return self._accumulator.take(outbox)
        except Exception as error:
            self._log.failure("a batch could not be encoded")
            batch = self._accumulator.drop(outbox)
            fail_batch(batch, given_up(batch, error), self._losses)
            self.settled()
            return None

    def _send(self, node: _Node, version: int, batches: list[Batch]) -> None:
        node.in_flight += 1
        manner = self._manner
        if self._callbacks is not None:
            for batch in batches:
                if batch.attempts == 1:
                    self._tell(self._callbacks.after_dequeue, batch)
            self._tell(self._callbacks.before_sending, node.node_id, tuple(batches))
        message = produce_request(batches, version, manner.acks, manner.timeout_ms)

        def send() -> Deferred[Any]:
            return self._cluster.request(
                node.node_id, message, version=version, expect_reply=manner.acks != 0
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
        ).addErrback(self._bug)

    # -- answers

    def _answered(self, response: Any, request: Deferred[Any], node: _Node, batches: list[Batch]) -> None:
        self._requests.discard(request)
        node.in_flight -= 1
        if self._stopped:
            return
        if response is None:
            self._settle([(batch, None, NO_OFFSET, NO_TIMESTAMP) for batch in batches])
            return
        results: Sequence[tuple[Batch, Any, int, int]]
        try:
            if response.throttle_time_ms:
                node.not_before_s = self._reactor.seconds() + response.throttle_time_ms / 1000
            results = results_of(batches, response)
        except Exception as error:  # an event handler may fire with anything
            self._log.failure("the answer to a produce request cannot be read")
            results = [(batch, error, NO_OFFSET, NO_TIMESTAMP) for batch in batches]
        self._settle(results)

    def _lost(self, failure: Failure, request: Deferred[Any], node: _Node, batches: list[Batch]) -> None:
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

    def _settle(self, results: Sequence[tuple[Batch, Any, int, int]]) -> None:
        """Act upon all answers of a request, then tell those who wait, then send more.

        :param results: of each batch: why it is not in the log, or its base offset and the broker's time.
        """
        now = self._reactor.seconds()
        outcomes = []
        for batch, error, _, _ in results:
            outcomes.append(self._accumulator.answered(batch, error, now))
            if error is not None and moved(error):
                self._cluster.stale()
        for outcome, (batch, error, base_offset, time_ms) in zip(outcomes, results, strict=True):
            if outcome is Outcome.DELIVERED and self._auditor is not None:
                self._auditor.count(batch, time_ms)
            if batch.abandoned:
                continue  # it was given up before its answer came: who waited was told then
            if outcome is Outcome.DELIVERED:
                deliver(batch, base_offset, time_ms)
            elif outcome is Outcome.REFUSED:
                fail_batch(batch, given_up(batch, error), self._losses)
            else:
                self._stalls.tell(batch, error, now)
        if Outcome.REFUSED in outcomes or Outcome.AGAIN in outcomes:
            self.identities.check()
        self.settled()
        self.wake()  # several answers come in one read: what they let go leaves together

    def _bug(self, failure: Failure) -> None:
        self._log.failure("an answer to a produce request was not handled", failure)
        self.turn()

    def _tell(self, callback: Callable[..., Any], *arguments: Any) -> None:
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
                self.turn()

        self._keep(self._cluster.refreshed()).addBoth(refreshed)

    def _ask_version(self, node: _Node) -> None:
        """Ask which Produce a broker speaks: one before Kafka 0.11 gets message sets."""
        if node.asking:
            return
        node.asking = True

        def told(version: int) -> None:
            node.asking = False
            node.version = version
            self.turn()

        def failed(failure: Failure) -> None:
            node.asking = False
            if self._stopped:
                return
            self._cluster.stale()
            node.not_before_s = self._reactor.seconds() + self._accumulator.backoff.pause_s(0)
            self._log.debug("broker {node} does not answer: {error}", node=node.node_id, error=failure.value)
            self.turn()

        self._keep(self._cluster.version_for(node.node_id, ProduceRequest)).addCallbacks(
            told, failed
        ).addErrback(self._bug)

    def _keep(self, request: Deferred[Any]) -> Deferred[Any]:
        """Remember to cancel it if it has not fired when the producer stops."""

        def forget(result: Any) -> Any:
            self._requests.discard(request)
            return result

        self._requests.add(request)
        return request.addBoth(forget)
