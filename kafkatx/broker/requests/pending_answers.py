"""Answers that are not ready when a handler returns: staged records, and requests that run in parts.

Nothing here does I/O. Handlers return these, :mod:`kafkatx.broker.dispatch` hands them to the connection.
"""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar, Union, cast

import attrs
from twisted.internet.defer import Deferred

from kafkatx.net.requests import Reply, Staged
from kafkatx.wire import codec
from kafkatx.wire.frames import frame
from kafkatx.wire.headers import encode_response_header
from kafkatx.wire.schema import Message

ResponseT = TypeVar("ResponseT", bound=Message)


class ResponseEncoder(Generic[ResponseT]):
    """Makes reply frames of the responses of one version of one API.

    :ivar encode: encodes the body of a response.
    """

    __slots__ = ("api_key", "encode", "version")

    def __init__(self, api_key: int, version: int, response: type[ResponseT]) -> None:
        self.api_key = api_key
        self.version = version
        self.encode = codec.encoder(response, version)

    def reply(self, response: ResponseT | None, correlation_id: int) -> Reply:
        """Return the frame of a response; None for None."""
        if response is None:
            return None
        chunks = self.encode(response)
        header = encode_response_header(self.api_key, self.version, correlation_id)
        if len(chunks) == 1:  # all but fetch replies with records: one piece is cheaper to pass on than three
            body = cast(bytes, chunks[0])
            return [(len(header) + len(body)).to_bytes(4, "big") + header + body]
        return frame([header, *chunks])


class Staging(Staged, Generic[ResponseT]):
    """A request whose records are staged: it gives the response once they are written."""

    __slots__ = ("correlation_id", "encoder")
    encoder: ResponseEncoder[ResponseT]  #: set by the dispatch
    correlation_id: int  #: set by the dispatch

    def throttle(self, throttle_time_ms: int) -> None:
        """Put the throttle time into the response; called for produce requests only."""
        raise NotImplementedError

    def respond(
        self, failed: dict[object, OSError]
    ) -> ResponseT | Deferred[ResponseT] | Deferred[ResponseT | None] | None:
        """Return the response, or None for no reply.

        :param failed: the partitions whose write failed in this round, and why.
        :raises ProtocolViolation: the connection must be closed (an error with acks=0).
        """
        raise NotImplementedError

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """Return the reply, as :class:`kafkatx.net.requests.Staged` says."""
        response = self.respond(failed)
        if isinstance(response, Deferred):
            return response.addCallback(self.encoder.reply, self.correlation_id)
        return self.encoder.reply(response, self.correlation_id)


@attrs.define(eq=False)
class ExclusiveResponse(Generic[ResponseT]):
    """The response to a request that is served in parts: no other request of its connection starts meanwhile.

    :ivar response: fires with the response, or None for no reply.
    :ivar throttle_time_ms: set by the dispatch, for the response to tell.
    """

    response: Deferred[ResponseT | None]
    throttle_time_ms: int = 0


Outcome: TypeAlias = Union[  # noqa: UP007  # mypy takes no other form where a type variable stands first
    ResponseT,
    Deferred[ResponseT],
    Deferred[ResponseT | None],
    Staging[ResponseT],
    ExclusiveResponse[ResponseT],
    None,
]
"""The result of a handler: the response, or its source; None: the request gets no reply."""
