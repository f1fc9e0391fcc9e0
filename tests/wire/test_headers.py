"""Tests of request and response headers."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ProtocolViolation
from kafkatx.wire import headers
from kafkatx.wire.api import APIS
from kafkatx.wire.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    split_request,
)
from tests.wire.strategies import quick

KNOWN = [(api.key, version) for api in APIS.values() for version in api.versions]


class RequestHeaderTests(SynchronousTestCase):
    """The header of a request."""

    @quick(100)
    @given(st.sampled_from(KNOWN), st.integers(0, 2**31 - 1), st.none() | st.text(max_size=300))
    def test_round_trip(self, what: tuple[int, int], correlation_id: int, client_id: str | None) -> None:
        """A header is read as it was written, and the body begins behind it."""
        data = encode_request_header(*what, correlation_id, client_id)
        header, at = decode_request_header(memoryview(data + b"body"))
        self.assertEqual(header, RequestHeader(*what, correlation_id, client_id))
        self.assertEqual(at, len(data))

    def test_known_bytes(self) -> None:
        """Flexible versions end in tagged fields; the client id is not compact even there."""
        self.assertEqual(encode_request_header(0, 8, 5, "me"), b"\0\0\0\x08\0\0\0\x05\0\x02me")
        self.assertEqual(encode_request_header(0, 9, 5, "me"), b"\0\0\0\x09\0\0\0\x05\0\x02me\0")
        self.assertEqual(encode_request_header(18, 3, 5, None), b"\0\x12\0\x03\0\0\0\x05\xff\xff\0")

    def test_unknown_tagged_field(self) -> None:
        """A tagged field in the header is passed over."""
        data = encode_request_header(0, 9, 5, "me")[:-1] + b"\x01\x07\x03abc"
        self.assertEqual(split_request(memoryview(data)), (0, 9, 5, "me", len(data)))

    def test_truncation(self) -> None:
        """A known header cut anywhere is a violation."""
        for version in (8, 9):
            data = memoryview(encode_request_header(0, version, 5, "me"))
            for end in range(len(data)):
                self.assertRaises(ProtocolViolation, split_request, data[:end])

    def test_unknown_api(self) -> None:
        """Key, version and correlation id of an unsupported API or version can be read."""
        fixed = struct.pack(">hhi", 999, 3, 5)
        self.assertEqual(split_request(memoryview(fixed))[:4], (999, 3, 5, None))
        self.assertEqual(split_request(memoryview(fixed + b"\0"))[:4], (999, 3, 5, None))
        self.assertEqual(split_request(memoryview(fixed + b"\0\2me"))[:4], (999, 3, 5, "me"))
        self.assertEqual(split_request(memoryview(fixed + b"\0\2m"))[:4], (999, 3, 5, None))
        self.assertEqual(split_request(memoryview(fixed + b"\0\1\xff"))[:4], (999, 3, 5, "\ufffd"))
        newer = struct.pack(">hhih", 18, 4, 5, 2) + b"me\0rest"
        self.assertEqual(split_request(memoryview(newer))[:4], (18, 4, 5, "me"))

    def test_bad_client_id(self) -> None:
        """A client id that is no UTF-8, or longer than the frame, is a violation."""
        fixed = struct.pack(">hhi", 0, 7, 5)
        self.assertRaises(ProtocolViolation, split_request, memoryview(fixed + b"\0\1\xff"))
        self.assertRaises(ProtocolViolation, split_request, memoryview(fixed + b"\x7f\xffme"))

    @quick(300)
    @given(st.binary(max_size=40))
    def test_garbage(self, data: bytes) -> None:
        """Random bytes are a header or a violation, never another exception."""
        for start in (b"", b"\0\0\0\x09", b"\0\x12\0\x03"):
            try:
                split_request(memoryview(start + data))
            except ProtocolViolation:
                continue

    def test_remembered_client_ids_are_bounded(self) -> None:
        """However many names clients give themselves, few are remembered."""
        for number in range(3000):
            split_request(memoryview(encode_request_header(0, 9, 1, f"client {number}")))
        self.assertLessEqual(len(headers._client_ids), 1000)


class ResponseHeaderTests(SynchronousTestCase):
    """The header of a response."""

    def test_round_trip(self) -> None:
        """A header is read as it was written, in every version of every API."""
        for key, version in KNOWN:
            data = encode_response_header(key, version, 77)
            self.assertEqual(decode_response_header(key, version, data + b"body"), (77, len(data)))

    def test_known_bytes(self) -> None:
        """Flexible versions have tagged fields, ApiVersions never."""
        self.assertEqual(encode_response_header(0, 8, 5), b"\0\0\0\x05")
        self.assertEqual(encode_response_header(0, 9, 5), b"\0\0\0\x05\0")
        for version in range(6):
            self.assertEqual(encode_response_header(18, version, 5), b"\0\0\0\x05")

    def test_truncation(self) -> None:
        """A header cut anywhere is a violation."""
        for end in range(5):
            self.assertRaises(ProtocolViolation, decode_response_header, 0, 9, b"\0\0\0\x05\0"[:end])
