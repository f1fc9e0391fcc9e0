"""Tests of the client's side of a connection."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.types import Records
from kafkatx.wire.api import API_VERSIONS, CREATE_TOPICS, FETCH, METADATA, PRODUCE, Api
from kafkatx.wire.codec import encode
from kafkatx.wire.connection import ClientConnection
from kafkatx.wire.frames import FrameDecoder, frame
from kafkatx.wire.headers import encode_response_header, split_request
from kafkatx.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataResponse
from kafkatx.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkatx.wire.schema import Message


def joined(chunks: list[Records]) -> bytes:
    return b"".join(bytes(chunk) for chunk in chunks if not hasattr(chunk, "file"))


def reply(api: Api, version: int, correlation_id: int, response: Message, body_version: int = -1) -> bytes:
    header = encode_response_header(api.key, version, correlation_id)
    return joined(frame([header, encode(response, version if body_version < 0 else body_version)]))


class CorrelationTests(SynchronousTestCase):
    """Responses are paired with requests."""

    def setUp(self) -> None:
        """Make a connection that nothing was sent on."""
        self.connection = ClientConnection("me", 1000)

    def test_send(self) -> None:
        """A request is one frame with the next correlation id; its records are passed on uncopied."""
        records = b"records"
        request = ProduceRequest(topic_data=[TopicProduceData("t", [PartitionProduceData(0, records)])])
        self.connection.send(METADATA, 9, MetadataRequest())
        chunks = self.connection.send(PRODUCE, 9, request)
        self.assertTrue(any(chunk is records for chunk in chunks))
        (body,) = FrameDecoder(1000).feed(joined(chunks))
        key, version, correlation_id, client_id, at = split_request(body)
        self.assertEqual((key, version, correlation_id, client_id), (0, 9, 1, "me"))
        self.assertEqual(bytes(body[at:]), encode(request, 9))
        self.assertEqual(self.connection.correlation_id, 1)

    def test_receive_in_order(self) -> None:
        """Responses come back decoded, in the versions of their requests, whatever pieces they come in."""
        self.connection.send(METADATA, 9, MetadataRequest())
        self.connection.send(METADATA, 1, MetadataRequest())
        one, two = MetadataResponse(cluster_id="c", throttle_time_ms=3), MetadataResponse(controller_id=4)
        stream = reply(METADATA, 9, 0, one) + reply(METADATA, 1, 1, two)
        self.assertEqual(self.connection.in_flight, 2)
        found = [pair for at in range(len(stream)) for pair in self.connection.receive(stream[at : at + 1])]
        self.assertEqual(found, [(0, one), (1, two)])
        self.assertEqual(self.connection.in_flight, 0)

    def test_no_reply_expected(self) -> None:
        """A Produce request with acks=0 has an id of its own, and no response is waited for."""
        self.connection.send(PRODUCE, 9, ProduceRequest(acks=0), expect_reply=False)
        self.connection.send(METADATA, 9, MetadataRequest())
        self.assertEqual(self.connection.in_flight, 1)
        found = self.connection.receive(reply(METADATA, 9, 1, MetadataResponse()))
        self.assertEqual(found, [(1, MetadataResponse())])

    def test_wrong_correlation_id(self) -> None:
        """A response to another request than the next is a violation."""
        self.connection.send(METADATA, 9, MetadataRequest())
        error = self.assertRaises(
            ProtocolViolation, self.connection.receive, reply(METADATA, 9, 7, MetadataResponse())
        )
        self.assertIn("response 7 came where 0 (Metadata v9) is next", str(error))

    def test_response_to_nothing(self) -> None:
        """A response when none is expected is a violation."""
        self.assertRaises(
            ProtocolViolation, self.connection.receive, reply(METADATA, 9, 0, MetadataResponse())
        )

    def test_malformed_response(self) -> None:
        """A response with bytes left over, and one above the limit, are violations."""
        self.connection.send(METADATA, 1, MetadataRequest())
        body = encode_response_header(3, 1, 0) + encode(MetadataResponse(), 1) + b"?"
        self.assertRaises(ProtocolViolation, self.connection.receive, joined(frame([body])))
        self.assertRaises(ProtocolViolation, ClientConnection("me", 10).receive, b"\0\0\0\x0b")

    def test_bad_request_leaves_no_trace(self) -> None:
        """A request that cannot be encoded is not waited for, and uses no correlation id."""
        self.assertRaises(ValueError, self.connection.send, METADATA, 99, MetadataRequest())
        self.assertRaises(ValueError, self.connection.send, PRODUCE, 9, ProduceRequest(acks=2**20))
        self.assertEqual((self.connection.in_flight, self.connection.correlation_id), (0, -1))

    def test_correlation_ids_wrap(self) -> None:
        """After the largest correlation id comes 0."""
        self.connection.correlation_id = 2**31 - 1
        self.connection.send(METADATA, 9, MetadataRequest())
        self.assertEqual(self.connection.correlation_id, 0)
        self.connection.receive(reply(METADATA, 9, 0, MetadataResponse()))


class VersionTests(SynchronousTestCase):
    """The choice of versions."""

    def setUp(self) -> None:
        """Make a connection that nothing was sent on."""
        self.connection = ClientConnection("me", 1000)

    def refused(self, api: Api, at_most: int | None = None) -> str:
        """Return the message of the error without a common version."""
        error = self.assertRaises(RequestError, self.connection.version_for, api, at_most)
        self.assertEqual(error.code, ErrorCode.UNSUPPORTED_VERSION)
        return str(error)

    def test_highest_of_both(self) -> None:
        """It is the highest that the broker, this code and the caller know."""
        keys = [ApiVersion(0, 3, 7), ApiVersion(1, 4, 17), ApiVersion(3, 0, 0)]
        self.connection.negotiate(ApiVersionsResponse(api_keys=keys))
        self.assertEqual([self.connection.version_for(api) for api in (PRODUCE, FETCH, METADATA)], [7, 17, 0])
        self.assertEqual(self.connection.version_for(FETCH, at_most=11), 11)

    def test_nothing_in_common(self) -> None:
        """No version in common is an error that names the API and both ranges."""
        keys = [ApiVersion(0, 13, 14), ApiVersion(1, 4, 17)]
        self.connection.negotiate(ApiVersionsResponse(api_keys=keys))
        self.assertEqual(self.refused(PRODUCE), "Produce: this client speaks versions 0-12, the broker 13-14")
        self.assertEqual(self.refused(FETCH, 3), "Fetch: this client speaks versions 0-3, the broker 4-17")
        self.assertEqual(
            self.refused(METADATA), "Metadata: this client speaks versions 0-13, the broker none"
        )

    def test_before_negotiation(self) -> None:
        """Before the broker was asked, only ApiVersions has a version."""
        self.assertEqual(self.connection.version_for(API_VERSIONS), 3)
        self.assertIn("Produce", self.refused(PRODUCE))

    def test_unsupported_api_versions(self) -> None:
        """The reply to an ApiVersions request that is too new for the broker has the body of version 0."""
        self.connection.send(API_VERSIONS, 3, ApiVersionsRequest("me", "1"))
        response = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(18, 0, 2)])
        found = self.connection.receive(reply(API_VERSIONS, 3, 0, response, body_version=0))
        self.assertEqual(found, [(0, response)])

    def test_api_versions(self) -> None:
        """Another ApiVersions reply is read in the version asked for."""
        self.connection.send(API_VERSIONS, 3, ApiVersionsRequest("me", "1"))
        response = ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 3)], finalized_features_epoch=5)
        self.assertEqual(self.connection.receive(reply(API_VERSIONS, 3, 0, response)), [(0, response)])

    def test_fallback(self) -> None:
        """A broker of 0.8 speaks version 0 of what there was then, and nothing else."""
        self.connection.fallback_versions()
        self.assertEqual([self.connection.version_for(api) for api in (PRODUCE, FETCH, METADATA)], [0, 0, 0])
        self.assertIn("CreateTopics", self.refused(CREATE_TOPICS))

    def test_old_produce(self) -> None:
        """A conversation in version 0 works."""
        self.connection.send(PRODUCE, 0, ProduceRequest(acks=1))
        self.assertEqual(
            self.connection.receive(reply(PRODUCE, 0, 0, ProduceResponse())), [(0, ProduceResponse())]
        )
