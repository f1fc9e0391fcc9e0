"""Request and response headers, which precede each message. Pure.

Request, versions 1 and 2::

    api_key i16 | api_version i16 | correlation_id i32 | client_id string16 or null [ | tagged fields ]

Response, versions 0 and 1::

    correlation_id i32 [ | tagged fields ]

There are tagged fields if the API's version is flexible, except in the response to ApiVersions (KIP-511).
``client_id`` is never compact, so that a header can be read before its version is known. Version 0 of the
request header (ControlledShutdown v0, without client id) is not supported.
"""

from __future__ import annotations

import struct

import attrs

from kafkatx.errors import ProtocolViolation
from kafkatx.wire.api import API_VERSIONS, APIS
from kafkatx.wire.primitives import MALFORMED, skip_tagged

_FIXED = struct.Struct(">hhi")
_WITH_LENGTH = struct.Struct(">hhih")
_CORRELATION = struct.Struct(">i")
_unpack_fixed = _FIXED.unpack_from
_unpack_with_length = _WITH_LENGTH.unpack_from

_FLEXIBLE = {
    (api.key, version): api.is_flexible(version) for api in APIS.values() for version in api.versions
}
"""True if a request's header has tagged fields, by (key, version); unsupported ones have no entry."""

_KNOWN_CLIENT_IDS = 1000
_client_ids: dict[bytes, str] = {}  # a cache: every request repeats its client id


@attrs.define
class RequestHeader:
    """The header of a request; the response has the same correlation id."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def split_request(frame: memoryview) -> tuple[int, int, int, str | None, int]:
    """Decode a request's header: (api_key, api_version, correlation_id, client_id, position of the body).

    For an unsupported API or version, the client id is None if it cannot be read, and the position is not
    defined.

    :raises ProtocolViolation: the frame is too short, or the header of a known version is malformed.
    """
    try:
        key, version, correlation_id, length = _unpack_with_length(frame, 0)
        flexible = _FLEXIBLE[key, version]
        if length < 0:
            client_id, at = None, 10
        else:
            at = 10 + length
            client_id = _client_id(frame[10:at].tobytes())
        if flexible:
            at = at + 1 if frame[at] == 0 else skip_tagged(frame, at)
    except KeyError:
        return key, version, correlation_id, _client_id_if_any(frame, length), len(frame)
    except MALFORMED as error:
        return _short(frame, error)
    if at > len(frame):
        raise ProtocolViolation(f"the header of a request of {len(frame)} bytes passes its end")
    return key, version, correlation_id, client_id, at


def decode_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """Decode a request's header: (header, position of the body); as :func:`split_request`."""
    key, version, correlation_id, client_id, at = split_request(frame)
    return RequestHeader(key, version, correlation_id, client_id), at


def encode_request_header(key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Return the header of a request.

    :raises KeyError: kafkatx does not support the API.
    """
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    tags = b"\0" if APIS[key].is_flexible(version) else b""
    return _WITH_LENGTH.pack(key, version, correlation_id, length) + name + tags


def encode_response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """Return the header of a response; for ApiVersions the version may be unknown."""
    if _FLEXIBLE.get((api_key, version)) and api_key != API_VERSIONS.key:
        return _CORRELATION.pack(correlation_id) + b"\0"
    return _CORRELATION.pack(correlation_id)


def decode_response_header(api_key: int, version: int, frame: memoryview | bytes) -> tuple[int, int]:
    """Return (correlation id, position of the body) of a response.

    :raises ProtocolViolation: the frame is too short.
    """
    try:
        (correlation_id,) = _CORRELATION.unpack_from(frame, 0)
        if _FLEXIBLE.get((api_key, version)) and api_key != API_VERSIONS.key:
            return correlation_id, skip_tagged(frame, 4)
    except MALFORMED as error:
        raise ProtocolViolation(f"a response of {len(frame)} bytes is shorter than its header") from error
    return correlation_id, 4


def _client_id(raw: bytes) -> str:
    """Return the client id as text, from a bounded cache."""
    known = _client_ids.get(raw)
    if known is None:
        known = raw.decode()
        if len(_client_ids) >= _KNOWN_CLIENT_IDS:
            _client_ids.clear()
        if len(raw) <= 255:
            _client_ids[raw] = known
    return known


def _client_id_if_any(frame: memoryview, length: int) -> str | None:
    if not 0 <= length <= len(frame) - 10:
        return None
    return frame[10 : 10 + length].tobytes().decode(errors="replace")


def _short(frame: memoryview, error: Exception) -> tuple[int, int, int, str | None, int]:
    """Return the three fixed fields of an unsupported API, or raise: the header is malformed."""
    if len(frame) in (8, 9):
        key, version, correlation_id = _unpack_fixed(frame, 0)
        if (key, version) not in _FLEXIBLE:
            return key, version, correlation_id, None, len(frame)
    raise ProtocolViolation(f"a request of {len(frame)} bytes has a malformed header") from error
