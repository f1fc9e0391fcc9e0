"""Fetch (key 1), versions 0-17; from 13 on topics are asked for by their ids (KIP-516).

Deviation from Apache Kafka: a batch larger than a quota allows at once is sent, where Kafka would never send
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.fetch.answers import refused
from kafkatx.broker.fetch.by_ids import FetchByIds
from kafkatx.broker.fetch.fetch_round import FetchRound
from kafkatx.broker.fetch.old_clients import OldFetch
from kafkatx.broker.fetch.replica_fetch import ReplicaFetch, check_replica, is_of_replica
from kafkatx.broker.quotas.byte_rates import ByteRates
from kafkatx.broker.replica.purgatory import DelayedFetch, delay_fetch
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.fetch_sessions import FINAL_EPOCH, NO_SESSION
from kafkatx.broker.requests.leader_hints import FETCH_SINCE, hint_consumers
from kafkatx.broker.requests.unique_names import Names
from kafkatx.errors import ErrorCode
from kafkatx.net.requests import Peer, no_hurry
from kafkatx.wire.codec import encoder
from kafkatx.wire.frames import SIZE_BYTES
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)

ZSTD_SINCE, TOPIC_IDS_SINCE = 10, 13
Replica = tuple[int, int]
"""A follower's broker id and epoch."""
NAMES = Names("topics", ("topic_id", "topic"), Names("partitions", ("partition",)))


def answer(
    broker: Broker, request: FetchRequest, context: RequestContext
) -> FetchResponse | Deferred[FetchResponse]:
    """Answer at once if there is enough data or an error, otherwise when there is, or after max_wait_ms."""
    topics = request.topics
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        NAMES.unite(request)
    in_session = request.session_epoch != FINAL_EPOCH or request.session_id
    if in_session or request.replica_id >= 0 or request.replica_state is not None:
        return _answer_otherwise(broker, request, context)
    # the straight path: a client without a session
    version = context.version
    kind = FetchByIds if version >= TOPIC_IDS_SINCE else FetchRound if version >= ZSTD_SINCE else OldFetch
    fetch = kind(broker, request, context)
    if broker.authorization is not None:
        fetch.restrict(broker.authorization.reader(context.peer))
    loading = fetch.load()
    if loading:
        return _all_of(loading).addCallback(lambda _: _when_enough(broker, fetch, request, context))
    return _when_enough(broker, fetch, request, context)


def _answer_otherwise(
    broker: Broker, request: FetchRequest, context: RequestContext
) -> FetchResponse | Deferred[FetchResponse]:
    """Answer a follower, or a request of a session."""
    replica = check_replica(broker, request, context) if is_of_replica(request) else None
    by_ids, replica_id = context.version >= TOPIC_IDS_SINCE, -1 if replica is None else replica[0]
    session = broker.fetch_sessions.begin(request, by_ids, replica_id, broker.clock.seconds())
    request.topics = session.topics
    # it names all its partitions now, and has no session any more
    request.session_id, request.session_epoch = NO_SESSION, FINAL_EPOCH
    if replica is not None:
        response = _answer_replica(broker, request, context, replica)
    else:
        request.replica_state = None
        response = answer(broker, request, context)
    if isinstance(response, Deferred):
        return response.addCallback(session.finish)
    return session.finish(response)


def _when_enough(
    broker: Broker, fetch: FetchRound, request: FetchRequest, context: RequestContext
) -> FetchResponse | Deferred[FetchResponse]:
    if request.max_wait_ms <= 0 or not request.topics or fetch.is_enough():
        return _within_quota(broker, fetch.respond(), context)
    waiting = delay_fetch(broker.clock, fetch.wanted(), request.max_wait_ms, fetch.is_enough)
    return waiting.addCallback(lambda _: _respond_late(broker, fetch, context))


def _respond_late(
    broker: Broker, fetch: FetchRound, context: RequestContext
) -> FetchResponse | Deferred[FetchResponse]:
    """Answer a request that has waited; its time counts as that of others (``request_percentage``)."""
    times = broker.quotas.request_times
    if times is None:
        return _within_quota(broker, fetch.respond(), context)
    since_s = times.timer()
    response = _within_quota(broker, fetch.respond(), context)
    times.charge(context.peer.session.principal, context.client_id, since_s)
    return response


def _answer_replica(
    broker: Broker, request: FetchRequest, context: RequestContext, replica: Replica
) -> FetchResponse | Deferred[FetchResponse]:
    """Answer a follower, without the quotas of clients."""
    fetch = ReplicaFetch(broker, request, context, replica)
    loading = fetch.load()
    if loading:
        return _all_of(loading).addCallback(lambda _: _when_new(broker, fetch, request, context.peer))
    return _when_new(broker, fetch, request, context.peer)


def _when_new(
    broker: Broker, fetch: ReplicaFetch, request: FetchRequest, peer: Peer
) -> FetchResponse | Deferred[FetchResponse]:
    """Wait as for a client; a follower that sends another request wants the answer to this one now."""
    if request.max_wait_ms <= 0 or not request.topics or fetch.is_enough():
        return fetch.respond()
    waiting = DelayedFetch(broker.clock, fetch.wanted(), request.max_wait_ms, fetch.is_enough, True)
    peer.hurry = waiting.end

    def respond(_: None) -> FetchResponse:
        peer.hurry = no_hurry
        return fetch.respond()

    return waiting.done.addCallback(respond)


def _within_quota(
    broker: Broker, response: FetchResponse | Deferred[FetchResponse], context: RequestContext
) -> FetchResponse | Deferred[FetchResponse]:
    rates = broker.quotas.consumer
    if rates is None:
        return response
    if isinstance(response, Deferred):
        return response.addCallback(lambda made: _charge(rates, made, context))
    return _charge(rates, response, context)


def _charge(rates: ByteRates, response: FetchResponse, context: RequestContext) -> FetchResponse:
    """Count a reply; replace one that exceeds the quota by one without partitions (KIP-219)."""
    size = SIZE_BYTES + sum(map(len, encoder(FetchResponse, context.version)(response)))
    throttle_time_ms, may_go = rates.charge_reply(context.peer.session.principal, context.client_id, size)
    if throttle_time_ms:
        context.peer.throttle_time_ms = throttle_time_ms
        response = response if may_go else FetchResponse()
        response.throttle_time_ms = throttle_time_ms
    return response


def _all_of(loading: list[Deferred[None]]) -> Deferred[None]:
    """Wait until all have fired; cancelling the Deferred cancels all."""

    def fired(results: Sequence[tuple[bool, object]]) -> None:
        for _, failure in results:
            if isinstance(failure, Failure):
                failure.raiseException()

    return DeferredList(loading, consumeErrors=True).addCallback(fired)


def refuse(request: FetchRequest, context: RequestContext, code: ErrorCode, message: str) -> FetchResponse:
    """Refuse the whole request (from version 7 on; before that, every partition)."""
    responses = []
    if context.version < 7:
        responses = [
            FetchableTopicResponse(
                topic.topic, partitions=[refused(asked, code) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    return FetchResponse(error_code=code, responses=responses)


API = Api(FetchRequest, FetchResponse, answer, refuse, hint_consumers, FETCH_SINCE)
