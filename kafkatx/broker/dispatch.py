"""From a frame to its answer, by one explicit table of the APIs that this broker serves.

ApiVersions lists what is in :data:`kafkatx.broker.handlers.SERVED`, but for requests of kafkatx alone. The
dispatch decodes requests, calls their handlers and encodes the replies; it does no I/O itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from kafkatx.broker.broker import Broker
from kafkatx.broker.quotas.byte_rates import ByteRates
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.broker.requests.pending_answers import (
    ExclusiveResponse,
    Outcome,
    ResponseEncoder,
    ResponseT,
    Staging,
)
from kafkatx.broker.requests.quotation import quoted
from kafkatx.broker.requests.unique_names import uniting
from kafkatx.counts import RequestCounts
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.requests import Answer, ExclusiveReply, Peer, Reply
from kafkatx.types import ClusterState
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.api import Api as WireApi
from kafkatx.wire.headers import split_request
from kafkatx.wire.schema import Message

if TYPE_CHECKING:
    from kafkatx.broker.quotas.request_times import RequestTimes

PRODUCE, OFFSET_COMMIT, API_VERSIONS = 0, 8, 18

MAX_PLAIN_REQUEST_BYTES = 8 << 20
"""The largest request without records."""

RequestT = TypeVar("RequestT", bound=Message)


@attrs.frozen(eq=False)
class Api(Generic[RequestT, ResponseT]):
    """An API as it is served: its messages and the functions that answer them.

    A handler module gives one, as ``API``, so that the type checker compares the functions with the messages.

    :ivar answer: answers one request; raises RequestError to refuse all of it.
    :ivar refuse: gives the response that refuses a whole request with one error.
    :ivar complete: adds to a response what clients of a listener need of the cluster's state.
    :ivar complete_since: the first version of such responses.
    """

    request: type[RequestT]
    response: type[ResponseT]
    answer: Callable[[Broker, RequestT, RequestContext], Outcome[ResponseT]]
    refuse: Callable[[RequestT, RequestContext, ErrorCode, str], ResponseT | Staging[ResponseT]]
    complete: Callable[[ResponseT, ClusterState, str], None] | None = None
    complete_since: int = 0


@attrs.frozen(eq=False)
class Served:
    """A line of the table: an API on the wire, and a function that loads its handler when first needed."""

    api: WireApi
    load: Callable[[], Api[Message, Message]]


class Route(ResponseEncoder[ResponseT], Generic[RequestT, ResponseT]):
    """All that is needed to serve one version of one API, looked up once.

    :ivar context: that of the last request, which mostly fits the next one, too.
    :ivar counts: counts the requests.
    """

    __slots__ = (
        "_complete",
        "_listener",
        "_metadata",
        "answer",
        "context",
        "counts",
        "decode",
        "decode_counting",
        "name",
        "refuse",
    )

    def __init__(
        self,
        wire: WireApi,
        api: Api[RequestT, ResponseT],
        version: int,
        metadata: IMetadataStore,
        listener: str,
    ) -> None:
        super().__init__(wire.key, version, api.response)
        self.name = f"{wire.name} v{version}"
        self.answer = api.answer
        self.refuse = api.refuse
        self.decode = uniting(wire.key, codec.decoder(api.request, version))
        self.decode_counting = uniting(wire.key, codec.counting_decoder(api.request, version))
        self.context: RequestContext | None = None
        self.counts = RequestCounts(wire.name, version, listener)
        self._metadata = metadata
        self._listener = listener
        self._complete = api.complete if version >= api.complete_since else None

    def reply(self, response: ResponseT | None, correlation_id: int) -> Reply:
        """Return the frame of a response, completed; None for None."""
        if self._complete is not None and response is not None:
            self._complete(response, self._metadata.state, self._listener)
        return super().reply(response, correlation_id)


class Dispatch:
    """Decodes requests, has them answered, and encodes the replies (``kafkatx.net.requests.Requests``).

    :param listener: the listener whose addresses replies have; each listener has a dispatch of its own.
    :ivar write_staged: writes what requests have staged; returns the partitions where that failed.
    :ivar wake_waiting: wakes the fetches that waited for what was written.
    """

    ordered = tuple(key.to_bytes(2, "big") for key in (PRODUCE, OFFSET_COMMIT))

    def __init__(self, broker: Broker, served: tuple[Served, ...], listener: str = "") -> None:
        self._broker = broker
        self._listener = listener
        self._quotas = broker.quotas
        self.write_staged = broker.write_staged
        self.wake_waiting = broker.replicas.wake_waiting
        self._served = {line.api.key: line for line in served}
        self._routes: dict[tuple[int, int], Route[Message, Message]] = {}
        self._max_items: int = broker.config.get("kafkatx.request.max.items")
        self._large_bytes = min(self._max_items, MAX_PLAIN_REQUEST_BYTES)
        if len(self._served) != len(served):
            raise ValueError("an API is twice in the table of handlers")

    def load_rest(self) -> Iterator[None]:
        """Import the handlers that no request has needed yet, one with each step."""
        for served in self._served.values():
            served.load()
            yield

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer one request.

        :raises ProtocolViolation: the frame is not a request of an API and version that are served.
        """
        times = self._quotas.request_times
        since_s = 0.0 if times is None else times.timer()
        api_key, version, correlation_id, client_id, at = split_request(frame)
        route = self._routes.get((api_key, version))
        if route is None:
            found = self._route(api_key, version, client_id)
            if found is None:
                return self._unknown_api_versions(correlation_id, peer)
            route = found
        route.counts.requests += 1
        try:
            if len(frame) > self._large_bytes:  # else it has no more elements than bytes
                request, _end = self._decode_large(route, frame, at)
            else:
                request, _end = route.decode(frame, at)
        except ProtocolViolation as violation:
            raise ProtocolViolation(f"{route.name} request cannot be read: {violation}") from None
        context = route.context
        if context is None or context.peer is not peer or context.client_id != client_id:
            context = route.context = RequestContext(api_key, version, client_id, peer)
        try:
            response = route.answer(self._broker, request, context)
        except Exception as error:
            response = self._refused(route, request, context, Failure(error))
        if times is not None:
            response = _charge_time(times, request, response, context, since_s)
        if isinstance(response, Staging):
            response.encoder, response.correlation_id = route, correlation_id
            if self._quotas.producer is not None and api_key == PRODUCE:
                self._charge(self._quotas.producer, response, len(frame), context)
            return response
        if isinstance(response, Deferred):
            response.addErrback(lambda failure: self._refused_response(route, request, context, failure))
            return response.addCallback(route.reply, correlation_id)
        if isinstance(response, ExclusiveResponse):
            self._charge_exclusive(response, len(frame), context)
            answered = response.response.addErrback(
                lambda failure: self._refused_response(route, request, context, failure)
            )
            return ExclusiveReply(answered.addCallback(route.reply, correlation_id))
        if times is not None:
            return _timed_reply(times, route, response, correlation_id, context)
        return route.reply(response, correlation_id)

    def _decode_large(
        self, route: Route[Message, Message], frame: memoryview, at: int
    ) -> tuple[Message, int]:
        """Decode a request that may have too many elements: as objects they take many times their bytes."""
        if len(frame) > MAX_PLAIN_REQUEST_BYTES and route.api_key != PRODUCE:
            raise ProtocolViolation(f"its {len(frame)} bytes are above {MAX_PLAIN_REQUEST_BYTES}")
        return route.decode_counting(frame, at, self._max_items)

    def _charge(
        self, rates: ByteRates, staging: Staging[Message], size: int, context: RequestContext
    ) -> None:
        """Count a produce request of *size* bytes, with acks=0 as well; throttle its client if need be."""
        peer = context.peer
        throttle_time_ms = rates.charge(peer.session.principal, context.client_id, size)
        if throttle_time_ms > peer.throttle_time_ms:  # which its request time may have set
            staging.throttle(throttle_time_ms)
            peer.throttle_time_ms = throttle_time_ms

    def _charge_exclusive(
        self, exclusive: ExclusiveResponse[Message], size: int, context: RequestContext
    ) -> None:
        """Count a produce request that is served in parts, as :meth:`_charge` does others."""
        rates = self._quotas.producer
        if rates is None or context.api_key != PRODUCE:
            return
        peer = context.peer
        throttle_time_ms = rates.charge(peer.session.principal, context.client_id, size)
        if throttle_time_ms:
            exclusive.throttle_time_ms = max(throttle_time_ms, exclusive.throttle_time_ms)
            exclusive.response.addCallback(_throttle, throttle_time_ms, peer)

    def _route(self, api_key: int, version: int, client_id: str | None) -> Route[Message, Message] | None:
        """Return what serves a version; None for an ApiVersions request of a version to come.

        :raises ProtocolViolation: it is not served. The connection is closed, as by Apache Kafka: there is no
            response that the client can read. It may connect again for ever, so the log names it.
        """
        served = self._served.get(api_key)
        if served is None or version not in served.api.versions:
            if api_key == API_VERSIONS and version > 0:
                return None
            name = APIS[api_key].name if api_key in APIS else f"API key {api_key}"
            raise ProtocolViolation(
                f"{name} version {version} is not offered, but {_offer(served)}; client"
                f" {quoted(client_id or '')} does not ask for our versions, or ignores them"
            )
        api, authorization = served.load(), self._broker.authorization
        if authorization is not None:  # without one nothing is checked
            from kafkatx.broker.guards.guard import guarded

            api = attrs.evolve(api, answer=guarded(authorization, api_key, api.answer, api.refuse))
        made = Route(served.api, api, version, self._broker.metadata, self._listener)
        self._broker.request_counts.append(made.counts)
        return self._routes.setdefault((api_key, version), made)

    def _unknown_api_versions(self, correlation_id: int, peer: Peer) -> Reply:
        """Answer a newer ApiVersions than ours with a body of version 0 and error 35 (KIP-511)."""
        api = self._served[API_VERSIONS].load()
        context = RequestContext(API_VERSIONS, 0, None, peer)
        refused = api.refuse(api.request(), context, ErrorCode.UNSUPPORTED_VERSION, "")
        assert not isinstance(refused, Staging)
        return ResponseEncoder(API_VERSIONS, 0, api.response).reply(refused, correlation_id)

    def _refused(
        self, route: Route[Message, Message], request: Message, context: RequestContext, failure: Failure
    ) -> Message | Staging[Message]:
        """Return the response to a request that could not be served."""
        if failure.check(CancelledError, ProtocolViolation):
            failure.raiseException()
        error = failure.value
        if isinstance(error, RequestError):
            route.counts.refuse(error.code)
            return route.refuse(request, context, error.code, error_message(error))
        route.counts.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._broker.limited_log.failure(
            "{route} from {peer} failed", failure, route=route.name, peer=context.peer
        )
        return route.refuse(request, context, ErrorCode.UNKNOWN_SERVER_ERROR, "see the broker's log")

    def _refused_response(
        self, route: Route[Message, Message], request: Message, context: RequestContext, failure: Failure
    ) -> Message | None:
        """Return the response, as :meth:`_refused`, to a request that failed after its handler returned."""
        refused = self._refused(route, request, context, failure)
        if not isinstance(refused, Staging):
            return refused
        response = refused.respond({})
        assert not isinstance(response, Deferred)  # nothing was staged
        return response


def _offer(served: Served | None) -> str:
    """Return the versions of an API for a log line."""
    versions = () if served is None else served.api.versions
    return f"{versions[0]} to {versions[-1]}" if versions else "no version"


def _charge_time(
    times: RequestTimes,
    request: Message,
    response: Outcome[Message],
    context: RequestContext,
    since_s: float,
) -> Outcome[Message]:
    """Count the time of a request; throttle its client if need be, with the response."""
    peer = context.peer
    if times.is_exempt(context.api_key, request):
        return response
    throttle_time_ms = times.charge(peer.session.principal, context.client_id, since_s)
    if not throttle_time_ms:
        return response
    if isinstance(response, Staging):
        if context.api_key == PRODUCE:
            response.throttle(throttle_time_ms)
        peer.throttle_time_ms = throttle_time_ms
        return response
    if isinstance(response, ExclusiveResponse):
        response.throttle_time_ms = throttle_time_ms
        response.response.addBoth(_throttle, throttle_time_ms, peer)
        return response
    if isinstance(response, Deferred):
        return response.addBoth(_throttle, throttle_time_ms, peer)
    throttled: Message | None = _throttle(response, throttle_time_ms, peer)
    return throttled


def _timed_reply(
    times: RequestTimes,
    route: Route[Message, Message],
    response: Message | None,
    correlation_id: int,
    context: RequestContext,
) -> Reply:
    """Encode a response; its client pays for that with its next request."""
    since_s = times.timer()
    reply = route.reply(response, correlation_id)
    times.charge(context.peer.session.principal, context.client_id, since_s)
    return reply


def _throttle(response: Any, throttle_time_ms: int, peer: Peer) -> Any:
    """Pass a response on with its throttle time, or a failure; have the client throttled from then on."""
    peer.throttle_time_ms = max(throttle_time_ms, peer.throttle_time_ms)
    if hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = max(throttle_time_ms, response.throttle_time_ms)
    return response
