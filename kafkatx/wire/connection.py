"""The client's side of a connection: it matches responses to requests and chooses versions. Pure.

It returns the bytes to send and takes the bytes received; its owner has the socket and the clock. A broker
answers in the order of the requests, so the expected responses are a queue.
"""

from __future__ import annotations

from collections import deque

from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.types import Records
from kafkatx.wire.api import API_VERSIONS, Api
from kafkatx.wire.codec import decode, encoder
from kafkatx.wire.frames import FrameDecoder, frame
from kafkatx.wire.headers import decode_response_header, encode_request_header
from kafkatx.wire.messages.api_versions import ApiVersionsResponse
from kafkatx.wire.schema import Message

OPENING_VERSION = 3
"""Version of a client's first ApiVersions: brokers of Kafka 2.4 to 3.8 reject a newer one."""

_BEFORE_API_VERSIONS = (0, 1, 2, 3, 8, 9, 10)
"""APIs of a 0.8 broker, in version 0: Produce, Fetch, ListOffsets, Metadata, offsets, coordinator."""


class ClientConnection:
    """Encodes requests and decodes responses.

    :ivar correlation_id: the id of the last request.
    :ivar features: the finalized level of each feature of the broker's cluster (KIP-584).
    """

    def __init__(self, client_id: str | None, max_bytes: int) -> None:
        """:param max_bytes: the largest accepted response."""
        self.client_id = client_id
        self.correlation_id = -1
        self.features: dict[str, int] = {}
        self._frames = FrameDecoder(max_bytes)
        self._expected: deque[tuple[int, Api, int]] = deque()
        self._ranges: dict[int, tuple[int, int]] | None = None

    @property
    def in_flight(self) -> int:
        """The number of requests without a response."""
        return len(self._expected)

    def send(self, api: Api, version: int, request: Message, expect_reply: bool = True) -> list[Records]:
        """Encode a request; return the chunks to send, the size first.

        :param expect_reply: False for a Produce request with acks=0.
        :raises ValueError: there is no such version, or a value does not fit its field; nothing was sent.
        """
        correlation_id = (self.correlation_id + 1) & 0x7FFFFFFF
        header = encode_request_header(api.key, version, correlation_id, self.client_id)
        chunks = frame([header, *encoder(type(request), version)(request)])
        self.correlation_id = correlation_id
        if expect_reply:
            self._expected.append((correlation_id, api, version))
        return chunks

    def receive(self, data: bytes) -> list[tuple[int, Message]]:
        """Add bytes from the broker; return (correlation id, response) of each complete response.

        Records in the responses are slices of the received bytes.

        :raises ProtocolViolation: a response is malformed, or is not the next expected one. The connection
            cannot be used any more, and the other responses in *data* are lost.
        """
        return [self._response(body) for body in self._frames.feed(data)]

    def _response(self, body: memoryview) -> tuple[int, Message]:
        if not self._expected:
            raise ProtocolViolation(f"a response of {len(body)} bytes came, and none is expected")
        expected, api, version = self._expected.popleft()
        correlation_id, at = decode_response_header(api.key, version, body)
        if correlation_id != expected:
            raise ProtocolViolation(
                f"response {correlation_id} came where {expected} ({api.name} v{version}) is next"
            )
        if api is API_VERSIONS and body[at : at + 2] == _UNSUPPORTED:
            version = 0  # a broker answers an unknown version in version 0 (KIP-511)
        return correlation_id, decode(api.response, version, body[at:])

    def negotiate(self, response: ApiVersionsResponse) -> None:
        """Set the versions and features that the broker supports."""
        self._ranges = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
        self.features = {each.name: each.max_version_level for each in response.finalized_features}

    def fallback_versions(self) -> None:
        """Set the versions of a 0.8 broker, which closes the connection after an ApiVersions request."""
        self._ranges = dict.fromkeys(_BEFORE_API_VERSIONS, (0, 0))

    def version_for(self, api: Api, at_most: int | None = None) -> int:
        """Return the highest version of an API that both sides support.

        Before :meth:`negotiate` only ApiVersions has one: :data:`OPENING_VERSION`.

        :param at_most: the caller's maximum.
        :raises RequestError: UNSUPPORTED_VERSION if there is none.
        """
        ours = api.versions[-1] if at_most is None else min(at_most, api.versions[-1])
        if self._ranges is None and api is API_VERSIONS:
            return min(ours, OPENING_VERSION)
        if self._ranges is None:
            raise RequestError(
                ErrorCode.UNSUPPORTED_VERSION, f"{api.name}: the broker was not asked for its versions"
            )
        low, high = self._ranges.get(api.key, (0, -1))
        version = min(ours, high)
        if version < max(low, api.versions[0]):
            theirs = f"{low}-{high}" if low <= high else "none"
            raise RequestError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{api.name}: this client speaks versions {api.versions[0]}-{ours}, the broker {theirs}",
            )
        return version


_UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
