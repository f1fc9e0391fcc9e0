"""The appender: writes encoded batches to partitions of the target, and retries until the outcome is known.

A batch carries producer id, epoch and sequence numbers, so a repeated request writes nothing twice. The
caller has at most one batch of a partition and producer in flight; batches of one turn of the reactor for one
broker share a request.
"""

from __future__ import annotations

from collections import defaultdict

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed, describe, retriable
from kafkatx.clientcore.leader_hints import of_produce
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

FIRST_VERSION = 3
"""The first version of Produce with batches of magic 2."""

REQUEST_BYTES = 4 << 20
TIMEOUT_MS = 30_000
LANE = "mirror-write"
WARN_AFTER_S = 10.0

_CONFLICTS = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    }
)
_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
_OTHERS_RETRIED = (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class Conflict(RequestError):
    """The log does not continue at the batch's sequence number: something else was appended, or lost."""


class TooLarge(RequestError):
    """The batch is above the topic's ``max.message.bytes``."""


@attrs.define(eq=False)
class _Waiting:
    place: TopicPartition
    batch: bytes
    done: Deferred[int]
    since_s: float
    failures: int = 0
    warn_after_s: float = WARN_AFTER_S


class Appender:
    """Writes batches to one cluster with ``acks=all``."""

    _log = Logger()

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._reactor = cluster.reactor
        self._backoff = Backoff(jitter=JITTER)
        self._pending: list[_Waiting] = []
        self._soon: IDelayedCall | None = None
        self._versions: dict[int, int] = {}
        self._later: dict[_Waiting, IDelayedCall] = {}
        self._closed = False

    def append(self, place: TopicPartition, batch: bytes) -> Deferred[int]:
        """Append a batch.

        :return: fires with the offset of its first record. Fails with Conflict; TooLarge; RequestError: the
            broker refuses it; ClientClosed. Other errors are retried without an end. Cancelling it drops the
            result: the batch may be written nevertheless.
        """
        done: Deferred[int] = Deferred()
        self._add(_Waiting(place, batch, done, self._reactor.seconds()))
        return done

    def close(self) -> None:
        """Fail what waits to be sent; what was sent fails when the cluster is closed."""
        self._closed = True
        if self._soon is not None and self._soon.active():
            self._soon.cancel()
        pending, self._pending = self._pending, []
        later, self._later = self._later, {}
        for timer in later.values():
            timer.cancel()
        for one in [*pending, *later]:
            self._fail(one, ClientClosed("the mirror has stopped"))

    def _add(self, one: _Waiting) -> None:
        if self._closed:
            self._fail(one, ClientClosed("the mirror has stopped"))
            return
        self._pending.append(one)
        if self._soon is None or not self._soon.active():
            self._soon = self._reactor.callLater(0, self._send_pending)

    # -- requests

    def _send_pending(self) -> None:
        pending, self._pending = self._pending, []
        by_leader: defaultdict[int, list[_Waiting]] = defaultdict(list)
        for one in pending:
            if not one.done.called:
                by_leader[self._cluster.leader(*one.place)].append(one)
        for leader, batches in by_leader.items():
            if leader < 0:
                error = RequestError(ErrorCode.LEADER_NOT_AVAILABLE, "the partition has no leader")
                for one in batches:
                    self._retry(one, error)
                continue
            for request in _split(batches):
                sending = Deferred.fromCoroutine(self._send(leader, request))
                sending.addErrback(lambda failure: self._log.failure("a batch was not handled", failure))

    async def _send(self, leader: int, batches: list[_Waiting]) -> None:
        try:
            version = await self._version(leader)
            topics: defaultdict[str, list[PartitionProduceData]] = defaultdict(list)
            for one in batches:
                topics[one.place.topic].append(PartitionProduceData(one.place.partition, one.batch))
            data = [TopicProduceData(name, parts) for name, parts in topics.items()]
            request = ProduceRequest(None, -1, TIMEOUT_MS, data)
            response: ProduceResponse = await self._cluster.request(
                leader, request, version=version, lane=LANE
            )
        except CancelledError:
            raise
        except KafkaTXError as error:
            self._versions.pop(leader, None)
            for one in batches:
                self._settle(one, error)
            return
        except Exception:  # our bug: the callers must hear of it
            failure = Failure()
            for one in batches:
                if not one.done.called:
                    one.done.errback(failure)
            return
        if (hints := of_produce(response)) is not None:
            self._cluster.take_leaders(hints)
        found = {
            TopicPartition(topic.name, part.index): part
            for topic in response.responses
            for part in topic.partition_responses
        }
        for one in batches:
            part = found.get(one.place)
            if part is None:
                self._settle(one, ConnectionFailed(f"the reply leaves {one.place} out"))
            elif part.error_code:
                self._settle(one, _error(one.place, part))
            elif not one.done.called:
                one.done.callback(part.base_offset)

    async def _version(self, leader: int) -> int:
        version = self._versions.get(leader)
        if version is None:
            version = await self._cluster.version_for(leader, ProduceRequest, lane=LANE)
            if version < FIRST_VERSION:
                raise RequestError(
                    ErrorCode.UNSUPPORTED_VERSION,
                    "the target's brokers are older than Kafka 0.11: they have no headers for the provenance",
                )
            self._versions[leader] = version
        return version

    # -- results

    def _settle(self, one: _Waiting, error: KafkaTXError) -> None:
        if isinstance(error, (Conflict, TooLarge)) or not _retried(error):
            self._fail(one, error)
        else:
            self._retry(one, error)

    def _retry(self, one: _Waiting, error: KafkaTXError) -> None:
        waited_s = self._reactor.seconds() - one.since_s
        if waited_s >= one.warn_after_s:
            one.warn_after_s = 2 * waited_s
            self._log.warn(
                "{place}: not written after {seconds:.0f} s, trying on: {error}",
                place=one.place,
                seconds=waited_s,
                error=error,
            )
        pause_s = self._backoff.pause_s(one.failures)
        one.failures += 1
        if self._closed:
            self._fail(one, error)
            return
        self._cluster.stale()
        self._later[one] = self._reactor.callLater(pause_s, self._add_again, one)

    def _add_again(self, one: _Waiting) -> None:
        del self._later[one]
        if not one.done.called:
            self._add(one)

    def _fail(self, one: _Waiting, error: KafkaTXError) -> None:
        if not one.done.called:
            one.done.errback(error)


def _split(batches: list[_Waiting]) -> list[list[_Waiting]]:
    """Return requests of at most :data:`REQUEST_BYTES`, and one batch of each partition at most."""
    requests: list[list[_Waiting]] = []
    size, places = 0, set[TopicPartition]()
    for one in batches:
        if not requests or size + len(one.batch) > REQUEST_BYTES or one.place in places:
            requests.append([])
            size, places = 0, set()
        requests[-1].append(one)
        size += len(one.batch)
        places.add(one.place)
    return requests


def _error(place: TopicPartition, part: PartitionProduceResponse) -> RequestError:
    code = ErrorCode.of(part.error_code)
    text = f"{place}: {part.error_message or describe(code)}"
    if code in _CONFLICTS:
        return Conflict(code, text)
    return TooLarge(code, text) if code in _TOO_LARGE else RequestError(code, text)


def _retried(error: KafkaTXError) -> bool:
    if isinstance(error, ClientClosed):
        return False
    return retriable(error) or (isinstance(error, RequestError) and error.code in _OTHERS_RETRIED)
