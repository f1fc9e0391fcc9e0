"""From a frame to its answer: one explicit table of the APIs that this broker serves.

Whatever stands in :data:`kafkatx.broker.handlers.SERVED` is offered by ApiVersions, and nothing else is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias, cast

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from kafkatx.broker.quotas import ByteRates
from kafkatx.broker.requests.quotation import quoted as quoted  # handlers take it from here
from kafkatx.broker.requests.unique_names import uniting
from kafkatx.broker.state import Broker
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.net.requests import Alone, Answer, Peer, Reply, Staged
from kafkatx.wire import codec
from kafkatx.wire.api import APIS, Api
from kafkatx.wire.frames import frame as framed
from kafkatx.wire.headers import encode_response_header, split_request

PRODUCE, OFFSET_COMMIT, API_VERSIONS = 0, 8, 18

PLAIN_REQUEST_BYTES = 8 << 20
"""The largest request without records."""

MESSAGE_CHARACTERS = 1000


def message(error: RequestError) -> str:
    """What a client is told: what it quotes of a request must not make it too long to be sent."""
    text = str(error)
    return text if len(text) <= MESSAGE_CHARACTERS else f"{text[:MESSAGE_CHARACTERS]}..."


@attrs.frozen(eq=False)
class RequestContext:
    """What a handler may know of the request beside its body; one client's requests may share it."""

    api_key: int
    version: int
    client_id: str | None
    peer: Peer


Handler: TypeAlias = Callable[[Broker, Any, RequestContext], Any]
"""Answers one request: gives the response, None for no reply, a Deferred of either, or a :class:`Staging`."""


class Staging(Staged):
    """A request's answer before its records are written: gives the response when asked to finish."""

    __slots__ = ("correlation_id", "route")
    route: Route  #: set by the dispatch
    correlation_id: int  #: set by the dispatch

    def throttle(self, throttle_time_ms: int) -> None:
        """Let the response say for how long the client is left alone; only produce requests are asked."""
        raise NotImplementedError

    def respond(self, failed: dict[object, OSError]) -> Any:
        """The response, a Deferred of it, or None; *failed* as in :meth:`finish`."""
        raise NotImplementedError

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """As :class:`kafkatx.net.requests.Staged` says."""
        response = self.respond(failed)
        if isinstance(response, Deferred):
            return response.addCallback(self.route.reply, self.correlation_id)
        return self.route.reply(response, self.correlation_id)


class Answerer(Protocol):
    """What serves an API: answers a request, or says no to a whole one."""

    answer: Handler
    refuse: Callable[[Any, RequestContext, ErrorCode, str], Any]


@attrs.frozen(eq=False)
class Served:
    """A line of the table: an API, and what gives who serves it, when that is first needed."""

    api: Api
    load: Callable[[], Answerer]


class Route:
    """All that serving one version of one API needs, looked up once."""

    __slots__ = (
        "answer",
        "api_key",
        "context",
        "decode",
        "decode_counting",
        "encode",
        "name",
        "refuse",
        "version",
    )

    def __init__(self, served: Served, version: int) -> None:
        self.name = f"{served.api.name} v{version}"
        self.api_key = served.api.key
        self.version = version
        answerer = served.load()
        self.answer = answerer.answer
        self.refuse = answerer.refuse
        self.decode = uniting(served.api.key, codec.decoder(served.api.request, version))
        self.decode_counting = uniting(served.api.key, codec.counting_decoder(served.api.request, version))
        self.encode = codec.encoder(served.api.response, version)
        self.context: RequestContext | None = None  # the last request's: mostly the next one's too

    def reply(self, response: Any, correlation_id: int) -> Reply:
        """The frame of a response."""
        if response is None:
            return None
        chunks = self.encode(response)
        header = encode_response_header(self.api_key, self.version, correlation_id)
        if len(chunks) == 1:  # all but fetch replies with records: one piece is cheaper to pass on than three
            body = cast(bytes, chunks[0])
            return [(len(header) + len(body)).to_bytes(4, "big") + header + body]
        return framed([header, *chunks])


class Dispatch:
    """Decodes requests, has them answered, and encodes the replies (``kafkatx.net.requests.Requests``)."""

    ordered = tuple(key.to_bytes(2, "big") for key in (PRODUCE, OFFSET_COMMIT))

    def __init__(self, broker: Broker, served: tuple[Served, ...]) -> None:
        self._broker = broker
        self._quotas = broker.quotas
        self._served = {line.api.key: line for line in served}
        self._routes: dict[tuple[int, int], Route] = {}
        self._most_items: int = broker.config.get("kafkatx.request.max.items")
        self._large_bytes = min(self._most_items, PLAIN_REQUEST_BYTES)
        if len(self._served) != len(served):
            raise ValueError("an API stands twice in the table of handlers")

    def load_rest(self) -> Iterator[None]:
        """Import what serves the APIs that nobody has asked for yet: one with each step."""
        for served in self._served.values():
            served.load()
            yield

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer one request.

        :raises ProtocolViolation: the frame is no request of an API and version that are served.
        """
        api_key, version, correlation_id, client_id, at = split_request(frame)
        route = self._routes.get((api_key, version))
        if route is None:
            found = self._route(api_key, version)
            if found is None:
                return self._unknown_api_versions(frame, correlation_id, peer)
            route = found
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
        if isinstance(response, Staging):
            response.route, response.correlation_id = route, correlation_id
            if self._quotas.producer is not None and api_key == PRODUCE:
                self._charge(self._quotas.producer, response, len(frame), context)
            return response
        if isinstance(response, Deferred):
            response.addErrback(lambda failure: self._refused(route, request, context, failure))
            return response.addCallback(route.reply, correlation_id)
        if isinstance(response, Alone):
            self._charge_alone(response, len(frame), context)
            response.reply.addErrback(lambda failure: self._refused_alone(route, request, context, failure))
            response.reply.addCallback(route.reply, correlation_id)
            return response
        return route.reply(response, correlation_id)

    def _decode_large(self, route: Route, frame: memoryview, at: int) -> tuple[Any, int]:
        """Decode a request that may have too many elements: as objects they take many times their bytes."""
        if len(frame) > PLAIN_REQUEST_BYTES and route.api_key != PRODUCE:
            raise ProtocolViolation(f"its {len(frame)} bytes are above {PLAIN_REQUEST_BYTES}")
        return route.decode_counting(frame, at, self._most_items)

    def _charge(self, rates: ByteRates, staging: Staging, size: int, context: RequestContext) -> None:
        """Count a produce request of *size* bytes, with acks=0 as well; let its client pause if it must."""
        throttle_time_ms = rates.charge(context.client_id, size)
        if throttle_time_ms:
            staging.throttle(throttle_time_ms)
            context.peer.throttle_time_ms = throttle_time_ms

    def _charge_alone(self, alone: Alone, size: int, context: RequestContext) -> None:
        """Count a produce request that is done in parts, as :meth:`_charge` does others."""
        rates = self._quotas.producer
        if rates is None or context.api_key != PRODUCE:
            return
        throttle_time_ms = rates.charge(context.client_id, size)
        if throttle_time_ms:
            alone.reply.addCallback(_throttled, throttle_time_ms, context.peer)

    def _refused_alone(self, route: Route, request: Any, context: RequestContext, failure: Failure) -> Any:
        refused = self._refused(route, request, context, failure)
        return refused.respond({}) if isinstance(refused, Staging) else refused

    def _route(self, api_key: int, version: int) -> Route | None:
        """Find what serves a version; None for an ApiVersions request of a version to come."""
        served = self._served.get(api_key)
        if served is None or version not in served.api.versions:
            if api_key == API_VERSIONS and version > 0:
                return None
            name = APIS[api_key].name if api_key in APIS else f"API key {api_key}"
            raise ProtocolViolation(f"{name} version {version} is not offered: see ApiVersions")
        return self._routes.setdefault((api_key, version), Route(served, version))

    def _unknown_api_versions(self, frame: memoryview, correlation_id: int, peer: Peer) -> Reply:
        """Answer a newer ApiVersions than ours with a body of version 0 and error 35 (KIP-511)."""
        route = self._route(API_VERSIONS, 0)
        assert route is not None
        context = RequestContext(API_VERSIONS, 0, None, peer)
        refused = route.refuse(None, context, ErrorCode.UNSUPPORTED_VERSION, "")
        return route.reply(refused, correlation_id)

    def _refused(self, route: Route, request: Any, context: RequestContext, failure: Failure) -> Any:
        """The response for a request that could not be served."""
        if failure.check(CancelledError, ProtocolViolation):
            failure.raiseException()
        error = failure.value
        if isinstance(error, RequestError):
            return route.refuse(request, context, error.code, message(error))
        self._broker.limited_log.failure(
            "{route} from {peer} failed", failure, route=route.name, peer=context.peer
        )
        return route.refuse(request, context, ErrorCode.UNKNOWN_SERVER_ERROR, "see the broker's log")

    def write_staged(self) -> dict[object, OSError]:
        """Write what requests have staged; give the logs where that failed."""
        return self._broker.write_staged()

    def wake_waiting(self) -> None:
        """Let fetches go on that waited for what was written."""
        self._broker.wake_waiting()


def _throttled(response: Any, throttle_time_ms: int, peer: Peer) -> Any:
    """Put into a response, if there is one, for how long its client is left alone."""
    peer.throttle_time_ms = throttle_time_ms
    if response is not None:
        response.throttle_time_ms = throttle_time_ms
    return response
